#pragma once

#include "ring/block_attention.hpp"

namespace course::lab {

/// A tiled block computation as one that is not, in the same tiles.
BlockAttention whole(const TiledBlockAttention& block);

/// A block computation that does nothing: what is left of a ring are its messages.
TiledBlockAttention no_work();

}  // namespace course::lab
