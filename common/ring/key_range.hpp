#pragma once

#include "tensor/view.hpp"

namespace course {

/// Keys first .. last - 1; none where they are equal.
struct KeyRange {
  Index first;
  Index last;
  bool operator==(const KeyRange&) const = default;
};

}  // namespace course
