#pragma once

#include "course/workspace/checkout.hpp"

namespace course::program {

/// Where the student is: every lesson by part, points, a progress bar and the next step; or the same as one
/// JSON object.
int show_status(const Checkout& checkout, bool json);

}  // namespace course::program
