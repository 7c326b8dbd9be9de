#pragma once

#include <string>

#include "course/workspace/checkout.hpp"

namespace course::program {

struct LocateOptions {
  std::string lesson;  ///< "05", or with its task "05.2"
  std::string task;    ///< empty: the first that fails
  int seconds = 300;   ///< after which nothing more is tried
  bool spoil = false;  ///< the change is printed, too
};

/// Looks for the line that a task fails by: tries small changes of the student's file, each compiled and
/// judged, and prints where the first stands with which every test of the task passes; or else where one
/// stands with which one input is right. The file stays as it is. Returns `failed` where neither is found.
int locate(const Checkout& checkout, const LocateOptions& options);

}  // namespace course::program
