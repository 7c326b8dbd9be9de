#pragma once

#include <map>
#include <optional>
#include <string>

#include "course/selftest/test_rows.hpp"

namespace course::program {

/// Takes the output of `ctest -V` apart, in which every line of a test starts with the test's number.
class CtestOutput {
 public:
  /// One more line; returns a test when the line says that it has ended.
  std::optional<TestRow> add(const std::string& line);

 private:
  std::map<int, std::string> outputs_;  ///< of the tests that run, by number
  int started_ = 0;  ///< the test that ctest prepares: what it says itself is about that one
};

}  // namespace course::program
