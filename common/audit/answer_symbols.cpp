#include "audit/answer_symbols.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "text/text_file.hpp"

namespace course {

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

/// The names in the output of nm --demangle: "operator new(unsigned long)" of a line such as
/// "                 U operator new(unsigned long)@GLIBCXX_3.4" or "0000000000000010 T name".
std::vector<std::string> names_in(const std::string& nm_output) {
  std::vector<std::string> names;
  for (const std::string& line : lines_of(nm_output)) {
    std::istringstream words(line);
    std::string kind, name;
    words >> kind;
    if (kind.size() != 1) words >> kind;  // an address stands before it
    if (kind.size() != 1) continue;       // the name of an object file
    std::getline(words >> std::ws, name);
    names.push_back(name.substr(0, name.find('@')));
  }
  return names;
}

/// The names of which `allowed` does not say `expected`.
std::vector<std::string> names_unlike(const std::string& nm_output, const AllowedSymbols& allowed,
                                      bool expected) {
  std::vector<std::string> names = names_in(nm_output);
  std::erase_if(names, [&](const std::string& name) { return allowed.allows(name) == expected; });
  return names;
}

/// What a name of the C++ library is of, in a student's words; any other name as it is.
std::string in_words(const std::string& name) {
  struct Words {
    std::vector<std::string> patterns;
    std::string text;
  };
  static const std::vector<Words> all{
      {{"std::__basic_file*", "std::basic_filebuf*", "std::basic_ifstream*", "std::basic_ofstream*",
        "std::basic_fstream*", "VTT for std::basic_ifstream*", "VTT for std::basic_ofstream*",
        "VTT for std::basic_fstream*"},
       "a file (std::ofstream and the like)"},
      {{"std::random_device*"}, "std::random_device"},
      {{"std::filesystem::*"}, "std::filesystem"},
      {{"syscall"},
       "a system call, as std::jthread, std::latch, semaphores and waits on an atomic do (std::thread, a "
       "mutex "
       "and a condition variable make none)"}};
  const auto words =
      std::ranges::find_if(all, [&](const Words& each) { return fits_any(name, each.patterns); });
  return words == all.end() ? name : words->text;
}

/// Whether it is a name of the compiler's and its library's own, which no student writes.
bool is_internal(const std::string& name) {
  return name.starts_with("__") || name.find("::_") != std::string::npos;
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
  const std::vector<std::string> names = names_unlike(nm_output, allowed, true);
  const auto known = std::ranges::find_if(
      names, [](const std::string& name) { return !is_internal(name) || in_words(name) != name; });
  if (known != names.end()) return *known;
  return names.empty() ? "" : names.front();
}

std::string usurped_symbol(const std::string& nm_output, const AllowedSymbols& of_others) {
  const std::vector<std::string> names = names_unlike(nm_output, of_others, false);
  return names.empty() ? "" : names.front();
}

std::string refused_symbol(const ObjectListing& object, const std::string& lists,
                           const std::vector<std::string>& needs, const std::string& lesson) {
  std::vector<std::string> sections{"all"};
  sections.insert(sections.end(), needs.begin(), needs.end());
  AllowedSymbols allowed(lists, sections);
  allowed.add(lesson + "::*");
  if (const std::string forbidden = forbidden_symbol(object.undefined, allowed); !forbidden.empty())
    return "uses " + in_words(forbidden) + ", which no answer to this lesson needs";
  if (const std::string own = usurped_symbol(object.defined, {lists, {"gpu"}}); !own.empty())
    return "defines " + own + ", which is the simulated GPU's";
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

}  // namespace course
