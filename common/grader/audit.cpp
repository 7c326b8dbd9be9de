#include "grader/audit.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "text/text_file.hpp"

namespace course::program::grader {

namespace {

/// A pattern is a whole name, or its beginning and a star.
bool fits(const std::string& name, const std::string& pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
}

bool fits_any(const std::string& name, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return fits(name, pattern); });
}

/// "operator new(unsigned long)@GLIBCXX_3.4" without what follows the name.
std::string without_version(const std::string& name) {
  return name.substr(0, name.find('@'));
}

}  // namespace

AllowedSymbols::AllowedSymbols(const std::string& text, const std::vector<std::string>& sections) {
  bool applies = false;
  for (const std::string& line : lines_of(text)) {
    if (line.empty() || line.starts_with("# ")) continue;
    if (line.starts_with('[')) {
      applies =
          std::find(sections.begin(), sections.end(), line.substr(1, line.size() - 2)) != sections.end();
    } else if (applies && line.starts_with('-')) {
      refused_.push_back(line.substr(1));
    } else if (applies) {
      allowed_.push_back(line);
    }
  }
}

bool AllowedSymbols::allows(const std::string& demangled) const {
  return fits_any(demangled, allowed_) && !fits_any(demangled, refused_);
}

std::string forbidden_symbol(const std::string& nm_output, const AllowedSymbols& allowed) {
  for (const std::string& line : lines_of(nm_output)) {
    std::istringstream words(line);
    std::string kind, name;
    words >> kind;
    if (kind.size() != 1) continue;  // the name of an object file
    std::getline(words >> std::ws, name);
    name = without_version(name);
    if (!allowed.allows(name)) return name;
  }
  return "";
}

std::string kernel_entry(const std::string& objdump_output) {
  constexpr std::array entries{"syscall", "sysenter", "sysexit", "sysexitl", "sysexitq",
                               "sysret",  "sysretl",  "sysretq", "int",      "svc"};
  for (const std::string& line : lines_of(objdump_output)) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    std::istringstream words(line.substr(tab));
    for (std::string word; words >> word;) {  // prefixes stand before the instruction
      if (std::find(entries.begin(), entries.end(), word) != entries.end()) return word;
    }
  }
  return "";
}

}  // namespace course::program::grader
