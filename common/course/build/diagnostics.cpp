#include "course/build/diagnostics.hpp"

#include <set>

#include "text/text_file.hpp"

namespace course::program {

namespace {

bool is_students(const BuildStep& step, const std::string& target) {
  return step.title.find(target + ".dir/") != std::string::npos ||
         step.title.find(target + ".so") != std::string::npos;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// The name in ld's "undefined reference to `NAME'" or lld's "undefined symbol: NAME", or an empty string.
std::string undefined_name(const std::string& line) {
  for (const std::string mark : {"undefined reference to ", "undefined symbol: "}) {
    const std::size_t at = line.find(mark);
    if (at == std::string::npos) continue;
    std::string name = line.substr(at + mark.size());
    if (!name.empty() && (name.front() == '`' || name.front() == '\''))
      name = name.substr(1, name.rfind('\'') - 1);
    return name;
  }
  return "";
}

bool is_linkers_frame(const std::string& line) {
  return line.find("collect2: ") != std::string::npos ||
         line.find("linker command failed") != std::string::npos ||
         line.find(": in function `") != std::string::npos || line.starts_with(">>> ");
}

}  // namespace

std::string student_diagnostics(const std::vector<BuildStep>& steps, const std::string& target,
                                const std::filesystem::path& root) {
  std::string text;
  std::set<std::string> undefined;
  for (const BuildStep& step : steps) {
    if (!is_students(step, target)) continue;
    const bool linking = step.title.starts_with("Linking");
    for (std::string line : step.lines) {
      const std::string name = undefined_name(line);
      if (!name.empty()) {
        undefined.insert(name);
      } else if (!linking || !is_linkers_frame(line)) {
        replace_all(line, root.string() + "/", "");
        text += line + "\n";
      }
    }
  }
  for (const std::string& name : undefined) text += "error: " + name + " is used but defined nowhere\n";
  return text;
}

std::string first_error(const std::string& diagnostics) {
  const std::vector<std::string> lines = lines_of(diagnostics);
  for (const std::string& line : lines) {
    if (line.find("error: ") != std::string::npos) return line;
  }
  return lines.empty() ? "" : lines.front();
}

}  // namespace course::program
