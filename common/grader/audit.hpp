#pragma once

#include <string>
#include <vector>

namespace course::program::grader {

/// The names that a submission's objects may leave to others, from allowed_symbols.txt.
class AllowedSymbols {
 public:
  /// @param text the file's text
  /// @param sections those that apply: "all", "mpi", "gpu"
  AllowedSymbols(const std::string& text, const std::vector<std::string>& sections);

  /// One more name, or with a * at its end the beginning of some.
  void add(const std::string& pattern) { allowed_.push_back(pattern); }

  bool allows(const std::string& demangled) const;

 private:
  std::vector<std::string> allowed_;
  std::vector<std::string> refused_;
};

/// The first undefined symbol in the output of `nm --undefined-only --demangle` that is not allowed; empty
/// when all are.
std::string forbidden_symbol(const std::string& nm_output, const AllowedSymbols& allowed);

/// The first symbol in the output of `nm --defined-only --demangle` that is another's to define; empty when
/// none is.
std::string usurped_symbol(const std::string& nm_output, const AllowedSymbols& of_others);

/// The first instruction in the output of `objdump -d` that enters the kernel; empty when there is none.
std::string kernel_entry(const std::string& objdump_output);

}  // namespace course::program::grader
