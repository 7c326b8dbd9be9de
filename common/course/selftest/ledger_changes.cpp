#include "course/selftest/ledger_changes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "text/text_file.hpp"

namespace course::program {

namespace {

std::vector<std::string> only_in(std::vector<std::string> these, std::vector<std::string> others) {
  std::vector<std::string> rest;
  std::ranges::sort(these);
  std::ranges::sort(others);
  std::ranges::set_difference(these, others, std::back_inserter(rest));
  return rest;
}

}  // namespace

std::string ledger_changes(const std::string& file, const std::string& committed, const std::string& now) {
  const std::vector<std::string> before = lines_of(committed), after = lines_of(now);
  const std::vector<std::string> added = only_in(after, before), gone = only_in(before, after);
  if (added.empty() && gone.empty()) return file + ": as committed\n";
  std::string text = fmt::format("{}: {} line{} added, {} gone\n", file, added.size(),
                                 added.size() == 1 ? "" : "s", gone.size());
  for (const std::string& line : gone) text += "  - " + line + "\n";
  for (const std::string& line : added) text += "  + " + line + "\n";
  return text;
}

}  // namespace course::program
