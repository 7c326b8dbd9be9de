#pragma once

#include <stdexcept>
#include <string>

namespace course {

/// What a skeleton throws where the student's code belongs; `course check` then says "todo", not "failed".
struct NotImplemented : std::logic_error {
  explicit NotImplemented(const std::string& what) : std::logic_error(what + " is not written yet") {}
};

}  // namespace course
