#include "course/locate/edited_build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <stdexcept>

#include "course/terminal/terminal.hpp"
#include "course/workspace/judging.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

/// A path of a command, in quotes or not, by another.
void replace_path(std::string& command, const std::string& what, const fs::path& by) {
  replace_all(command, '"' + what + '"', shell_word(by));
  replace_all(command, what, shell_word(by));
}

/// What a command writes: the word behind "-o", or of one of the course's own converters the last. Where it
/// is in quotes, which a blank in a path asks for, without them.
std::string output_of(const std::string& command) {
  const std::size_t option = command.find(" -o ");
  if (option == std::string::npos && command.ends_with('"')) {
    const std::size_t first = command.rfind('"', command.size() - 2) + 1;
    return command.substr(first, command.size() - 1 - first);
  }
  const std::size_t first = option == std::string::npos ? command.find_last_of(' ') + 1 : option + 4;
  return command.substr(first, command.find(' ', first) - first);
}

/// What is compiled never recurs: no compiler's cache has a use for it.
bool succeeds(const std::string& command, const fs::path& folder) {
  return run({.argv = {"sh", "-c", "{ " + command + "; } >/dev/null 2>&1"},
              .folder = folder,
              .environment = {{"CCACHE_DISABLE", "1"}}})
             .code == 0;
}

bool compiles(const std::string& command) {
  return command.find(" -c ") != std::string::npos;
}

/// The source's own #include lines.
std::string includes_of(const std::string& source) {
  std::string includes;
  for (const std::string& line : lines_of(source)) {
    if (line.starts_with("#include")) includes += line + "\n";
  }
  return includes;
}

}  // namespace

std::string without_launcher(const std::string& command) {
  // A custom command's own words are behind others: "cd FOLDER && ... && compile-answer ...".
  static const std::regex launcher(
      R"re(^(.* && )?("[^"]*/compile-answer"|[^" ]*/compile-answer)( ("[^"]*"|[^" ]+))*? -- )re");
  return std::regex_replace(command, launcher, "");
}

EditedBuild::EditedBuild(const Checkout& checkout, const LessonInfo& lesson, const fs::path& file,
                         const fs::path& folder)
    : tree_(checkout.build()), file_(checkout.root / file) {
  const std::string library = fs::relative(library_of(tree_, lesson, "student"), tree_);
  const Captured listed =
      capture({.argv = {"ninja", "-C", tree_, "-t", "commands", library}, .folder = tree_});
  if (listed.exit.code != 0)
    throw std::runtime_error(fmt::format("ninja -t commands {} ended with exit code {}: {}", library,
                                         listed.exit.code, listed.first_line()));
  for (std::string command : lines_of(listed.output)) {
    command = without_launcher(command);
    const bool follows = std::ranges::any_of(
        outputs_, [&](const auto& output) { return command.find(output.first) != std::string::npos; });
    if (!follows && command.find(file_.string()) == std::string::npos) continue;
    const std::string output = output_of(command);
    commands_.push_back(command);
    outputs_.emplace_back(output, "made" + fs::path(output).extension().string());
  }
  if (commands_.empty() || output_of(commands_.back()) != library)
    throw std::runtime_error("the build tool names no command that makes " + library + " of " +
                             file.string());
  const std::string source = read_text(file_), alone = " -O0 -w -c ";
  options_ = alone;
  if (!lesson.needs_gpu()) compile_headers(source, folder);
  if (!make(source, folder).empty()) return;
  options_ = alone;  // its own includes do not stand by themselves
  if (make(source, folder).empty())
    throw std::runtime_error(file.string() + " as it stands could not be built beside the build");
}

/// The file's own includes, which every edit has in common; where they do not compile by themselves, each
/// edit compiles them.
void EditedBuild::compile_headers(const std::string& source, const fs::path& folder) {
  const auto compile = std::ranges::find_if(commands_, compiles);
  const std::string includes = includes_of(source);
  if (compile == commands_.end() || includes.empty()) return;
  const fs::path header = folder / "includes.hpp";
  write_text(header, includes);
  std::string command = *compile;
  replace_path(command, output_of(command), header.string() + ".gch");
  replace_path(command, file_.string(), header);
  replace_all(command, " -c ", " -x c++-header" + options_);
  if (succeeds(command, tree_)) options_ = " -include " + shell_word(header) + options_;
}

fs::path EditedBuild::make(const std::string& source, const fs::path& folder) const {
  const fs::path edited = folder / file_.filename();
  write_text(edited, source);
  for (std::string command : commands_) {
    for (const auto& [output, name] : outputs_) replace_path(command, output, folder / name);
    replace_path(command, file_.string(), edited);
    replace_all(command, " -c ", options_);
    if (!succeeds(command, tree_)) return {};
  }
  return folder / outputs_.back().second;
}

}  // namespace course::program
