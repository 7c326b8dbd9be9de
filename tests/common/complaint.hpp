#pragma once

#include <gtest/gtest.h>

#include <string>

namespace course {

/// What the exception says that a call throws.
template <class Error, class Call>
std::string complaint_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

inline testing::AssertionResult mentions(const std::string& message, const std::string& part) {
  if (message.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in: " << message;
}

}  // namespace course
