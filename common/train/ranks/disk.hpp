#pragma once

#include "training/files.hpp"

namespace course::train {

/// The disk of this machine. What is written is flushed to it, names and folders too: after a power cut a
/// name leads to what was written under it.
training::Files real_disk();

}  // namespace course::train
