#pragma once

#include <map>
#include <string>
#include <vector>

namespace course::program {

/// The hints of hints.md by task: its sections are `## Task 2` (anything may follow the number), its items
/// `### Hint 1`. Text outside an item is left out.
std::map<std::string, std::vector<std::string>> parse_hints(const std::string& text);

}  // namespace course::program
