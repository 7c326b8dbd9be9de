#pragma once

#include <string>
#include <vector>

namespace course {

/// The names that an answer's objects may leave to others, from allowed_symbols.txt.
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

/// An undefined symbol in the output of `nm --undefined-only --demangle` that is not allowed: the first that
/// a student may know, else the first; empty when all are allowed.
std::string forbidden_symbol(const std::string& nm_output, const AllowedSymbols& allowed);

/// The first symbol in the output of `nm --defined-only --demangle` that is another's to define; empty when
/// none is.
std::string usurped_symbol(const std::string& nm_output, const AllowedSymbols& of_others);

/// What the tools list of an object.
struct ObjectListing {
  std::string undefined;  ///< by `nm --undefined-only --demangle`
  std::string defined;    ///< by `nm --defined-only --demangle`
};

/// Of an answer's object the first name that no answer to its lesson needs, in words: "uses getenv, which no
/// answer to this lesson needs"; empty when it has none.
/// @param lists the text of allowed_symbols.txt
/// @param needs the lesson's in the registry: "mpi", "gpu"
/// @param lesson the lesson's namespace, in which its other files' functions are: "lesson05"
std::string refused_symbol(const ObjectListing& object, const std::string& lists,
                           const std::vector<std::string>& needs, const std::string& lesson);

/// The first instruction in the output of `objdump -d` that enters the kernel; empty when there is none.
std::string kernel_entry(const std::string& objdump_output);

}  // namespace course
