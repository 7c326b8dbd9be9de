#pragma once

#include <map>
#include <stdexcept>
#include <string>

/// Small CUDA programs, each of which makes a mistake that the simulator has to find, or nearly makes one.
/// Beside a line that a finding has to name stands `// expect KIND`, of protocol/fact_kinds.hpp; a program
/// without such a comment has to be found right. What stands before a program, behind the one before, belongs
/// to it.
namespace course::gpu::programs {

struct Program {
  std::string file;
  void (*run)();
};

std::map<std::string, Program>& all();

struct Registered {
  Registered(const std::string& name, const std::string& file, void (*run)()) {
    if (!all().emplace(name, Program{file, run}).second) throw std::logic_error("two programs " + name);
  }
};

inline void require(bool right, int line = __builtin_LINE()) {
  if (!right) throw std::runtime_error("a wrong value on line " + std::to_string(line));
}

}  // namespace course::gpu::programs

#define PROGRAM(name)                                                                      \
  static void name();                                                                      \
  static const course::gpu::programs::Registered name##_registered(#name, __FILE__, name); \
  static void name()
