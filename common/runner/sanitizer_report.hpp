#pragma once

#include <string>

namespace course {

/// What a sanitizer found, from all that a player printed: the kind of mistake, the call of MPI's that was
/// given the memory, and where in the submission it is, two lines at most; empty when no sanitizer spoke.
std::string sanitizer_report(const std::string& printed);

}  // namespace course
