#pragma once

#include <string>

#include "course/workspace/checkout.hpp"

namespace course::program {

/// Puts the lesson's skeleton back in place of the student's files, which are kept under .course/backup.
int reset(const Checkout& checkout, const std::string& lesson);

}  // namespace course::program
