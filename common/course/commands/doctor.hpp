#pragma once

#include "course/workspace/checkout.hpp"

namespace course::program {

/// Prints what was found on this machine, what is skipped and why. Returns 3 when something that the course
/// needs is missing.
int doctor(const Checkout& checkout, bool json);

}  // namespace course::program
