#include "course/build/build_output.hpp"

#include <algorithm>
#include <cstdio>
#include <regex>
#include <set>

#include "text/text_file.hpp"

namespace course::program {

namespace {

bool starts_with_any(const std::string& text, const std::vector<const char*>& starts) {
  return std::ranges::any_of(starts, [&](const char* start) { return text.starts_with(start); });
}

bool contains_any(const std::string& text, const std::vector<std::string>& parts) {
  return std::ranges::any_of(parts,
                             [&](const std::string& part) { return text.find(part) != std::string::npos; });
}

/// The name in ld's "undefined reference to `NAME'" or lld's "undefined symbol: NAME", or an empty string.
std::string undefined_name(const std::string& line) {
  for (const std::string mark : {"undefined reference to ", "undefined symbol: "}) {
    const std::size_t at = line.find(mark);
    if (at == std::string::npos) continue;
    const std::string name = line.substr(at + mark.size());
    return starts_with_any(name, {"`", "'"}) ? name.substr(1, name.rfind('\'') - 1) : name;
  }
  return "";
}

bool is_linkers_frame(const std::string& line) {
  return line.starts_with(">>> ") || contains_any(line, {"collect2: ", "linker command failed",
                                                         ": in function `", "more undefined references to "});
}

/// @param contract the namespace that the lesson's header declares its functions in
std::string undefined_in_words(const std::string& name, const std::string& contract) {
  if (!name.starts_with(contract + "::")) return name + " is used but defined nowhere";
  return name +
         ", of the contract, is not defined: it is missing, or has other parameters than in the header";
}

/// Where ": error: ..." begins in a line; npos where it reports none.
std::size_t message_in(const std::string& line) {
  return std::min(line.find(": error: "), line.find(": fatal error: "));
}

bool is_error(const std::string& line) {
  return line.starts_with("error: ") || message_in(line) != std::string::npos;
}

/// "lessons/05_ring_attention/ring_attention.cpp:7:3" at the beginning of a line; empty where it begins
/// otherwise, or with a place in a header.
std::string place_in_source(const std::string& line) {
  static const std::regex place(R"(^[^\s:]+\.(cpp|cu):\d+(:\d+)?)");
  std::smatch found;
  return std::regex_search(line, found, place) ? found.str() : "";
}

/// "ring_attention.cpp:7:3:   required from here"; clang's "... requested here".
bool is_way_to_header(const std::string& line) {
  return !place_in_source(line).empty() && contains_any(line, {"required from", "requested here"});
}

}  // namespace

double seconds_left(const BuildCount& count, double seconds) {
  constexpr int usual_steps = 3;
  return (count.total - count.done) * (seconds + usual_steps) / (count.done + usual_steps);
}

std::optional<BuildCount> NinjaOutput::add(const std::string& line) {
  BuildCount count;
  int length = 0;
  if (std::sscanf(line.c_str(), "[%d/%d] %n", &count.done, &count.total, &length) == 2 && length > 0) {
    steps_.push_back({line.substr(static_cast<std::size_t>(length)), false, {}});
    // After these steps ninja plans the build again.
    if (starts_with_any(steps_.back().title, {"Re-checking ", "Re-running "})) return std::nullopt;
    return count;
  }
  if (line.starts_with("FAILED: ")) {
    steps_.back().failed = true;
    command_next_ = true;
  } else if (command_next_) {
    command_next_ = false;
  } else if (!line.empty() && !starts_with_any(line, {"-- ", "ninja: no work to do",
                                                      "ninja: Entering directory", "ninja: build stopped"})) {
    steps_.back().lines.push_back(line);
  }
  return std::nullopt;
}

std::vector<BuildStep> NinjaOutput::steps() const {
  std::vector<BuildStep> telling = steps_;
  std::erase_if(telling, [](const BuildStep& step) { return !step.failed && step.lines.empty(); });
  return telling;
}

std::string student_diagnostics(const std::vector<BuildStep>& steps, const std::string& target,
                                const std::filesystem::path& root) {
  const std::string whole_path = root.string() + "/";
  std::string text;
  std::set<std::string> undefined;
  for (const BuildStep& step : steps) {
    if (!contains_any(step.title, {target + ".dir/", target + ".so"})) continue;
    const bool linking = step.title.starts_with("Linking");
    for (std::string line : step.lines) {
      if (const std::string name = undefined_name(line); !name.empty()) {
        undefined.insert(name);
      } else if (!linking || !is_linkers_frame(line)) {
        for (std::size_t at = 0; (at = line.find(whole_path, at)) != std::string::npos;)
          line.erase(at, whole_path.size());
        text += line + "\n";
      }
    }
  }
  const std::string contract = target.substr(0, target.find('_'));
  for (const std::string& name : undefined) text += "error: " + undefined_in_words(name, contract) + "\n";
  return text;
}

std::vector<std::string> link_errors(const std::string& output, const std::string& contract) {
  std::set<std::string> undefined;
  std::vector<std::string> others, errors;
  for (const std::string& line : lines_of(output)) {
    if (const std::string name = undefined_name(line); !name.empty())
      undefined.insert(name);
    else if (!is_linkers_frame(line) && line.find(": warning: ") == std::string::npos && !line.ends_with(':'))
      others.push_back(line);
  }
  for (const std::string& name : undefined) errors.push_back(undefined_in_words(name, contract));
  errors.insert(errors.end(), others.begin(), others.end());
  return errors;
}

std::string first_error(const std::string& diagnostics) {
  const std::vector<std::string> lines = lines_of(diagnostics);
  const auto error = std::ranges::find_if(lines, is_error);
  if (error == lines.end()) return lines.empty() ? "" : lines.front();
  const std::size_t message = message_in(*error);
  if (message == std::string::npos || !place_in_source(*error).empty()) return *error;
  // gcc names the way to a header before the error in it, clang after it.
  const auto end = std::find_if(error + 1, lines.end(), is_error);
  const auto way = std::find_if(lines.begin(), end, is_way_to_header);
  if (way == end) return *error;
  return place_in_source(*way) + error->substr(message) + " (in " + error->substr(0, message) + ")";
}

std::string abridged(const std::string& diagnostics, const std::string& target,
                     const std::filesystem::path& root) {
  constexpr std::size_t most_lines = 12;
  const std::vector<std::string> lines = lines_of(diagnostics);
  if (lines.size() <= most_lines) return diagnostics;
  const std::filesystem::path file = std::filesystem::path(".course") / "compiler" / (target + ".txt");
  write_text(root / file, diagnostics);
  std::string text = first_error(diagnostics) + "\n";
  // gcc sets the code and what points at it apart by a bar.
  auto code = std::ranges::find_if(lines, is_error);
  while (code != lines.end() && ++code != lines.end() && code->find(" | ") != std::string::npos)
    text += *code + "\n";
  return text + "all " + std::to_string(lines.size()) + " lines of the compiler: " + file.string() + "\n";
}

}  // namespace course::program
