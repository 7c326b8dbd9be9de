#include "grader/toolchain.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "course/terminal/words.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::grader {

namespace fs = std::filesystem;
using program::Checkout;

namespace {

/// The command that compiles a file, as CMake wrote it down.
Words compile_command(const Checkout& checkout, const fs::path& file) {
  const fs::path database = checkout.build() / "compile_commands.json";
  for (const nlohmann::json& entry : nlohmann::json::parse(read_text(database))) {
    if (entry.at("file") == file.string()) return program::words_of(entry.at("command").get<std::string>());
  }
  throw std::runtime_error(database.string() + " does not say how " + file.string() + " is compiled");
}

bool begins(const std::string& word, const std::string& with) {
  return word.starts_with(with);
}

/// Warnings are between student and compiler; where headers lie and what is compiled is the grader's affair.
Words options_of(const Words& command, const fs::path& root) {
  Words kept;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string& word = command[i];
    const bool takes_next = word == "-o" || word == "-c";
    if (takes_next) ++i;
    if (takes_next || begins(word, "-W") || begins(word, "-I" + root.string())) continue;
    kept.push_back(word);
  }
  kept.push_back("-w");
  return kept;
}

/// The last command that makes a lesson's shared object, which links it.
Words link_command(const Checkout& checkout, const std::string& target) {
  const Captured said = capture({.argv = {"ninja", "-C", checkout.build(), "-t", "commands", target}});
  const std::vector<std::string> lines = lines_of(said.output);
  if (said.exit.code != 0 || lines.empty()) {
    throw std::runtime_error("the build does not say how " + target + " is linked: " + said.first_line());
  }
  Words words = program::words_of(lines.back());
  std::erase_if(words, [](const std::string& word) { return word == ":" || word == "&&"; });
  return words;
}

/// Puts marks for what differs, and gives the build's own files their whole paths.
void prepare_link(const Checkout& checkout, const LessonInfo& lesson, Toolchain& tools) {
  const std::string target = "lib/lesson" + lesson.id + "_student.so";
  const std::string own_objects = lesson.tag() + "_student.dir/";
  bool marked = false;
  for (const std::string& word : link_command(checkout, target)) {
    const fs::path in_build = checkout.build() / word;
    if (word == target) {
      tools.link.push_back(subject_mark);
    } else if (word.find(own_objects) != std::string::npos) {
      if (!std::exchange(marked, true)) tools.link.push_back(objects_mark);
    } else if (!begins(word, "-") && fs::path(word).is_relative() && fs::exists(in_build)) {
      tools.link_files.push_back(in_build);
      tools.link.push_back(in_build);
    } else {
      tools.link.push_back(word);
    }
  }
  if (!marked) throw std::runtime_error("the build's command for " + target + " links none of its objects");
}

/// The headers of the checkout that the lesson's contract stands on, and those of the contract.
std::vector<fs::path> contract_headers(const Checkout& checkout, const LessonInfo& lesson, Words compile) {
  const fs::path folder = Checkout::lesson_folder(lesson);
  std::string text = "#include \"lesson/not_implemented.hpp\"\n";
  for (const fs::directory_entry& entry : fs::directory_iterator(checkout.root / folder)) {
    if (entry.path().extension() == ".hpp") text += "#include \"" + entry.path().filename().string() + "\"\n";
  }
  const TemporaryFolder temporary;
  write_text(temporary.path() / "contract.cpp", text);
  compile.insert(compile.end(),
                 {"-I" + (checkout.root / folder).string(), "-I" + (checkout.root / "common").string(), "-M",
                  temporary.path() / "contract.cpp"});
  const Captured said = capture({.argv = compile});
  if (said.exit.code != 0)
    throw std::runtime_error("the contract of lesson " + lesson.id + " does not compile: " + said.output);
  std::string dependencies = said.output;
  std::replace_if(
      dependencies.begin(), dependencies.end(), [](char c) { return c == '\\' || c == '\n'; }, ' ');
  std::set<fs::path> headers;
  for (const std::string& word : program::words_of(dependencies)) {
    const fs::path relative = fs::path(word).lexically_relative(checkout.root);
    if (!relative.empty() && *relative.begin() != "..") headers.insert(relative);
  }
  return {headers.begin(), headers.end()};
}

}  // namespace

Toolchain toolchain_of(const Checkout& checkout, const LessonInfo& lesson) {
  Toolchain tools;
  const fs::path file = checkout.root / Checkout::student_file(lesson, lesson.files.front());
  tools.compile = options_of(compile_command(checkout, file), checkout.root);
  tools.headers = contract_headers(checkout, lesson, tools.compile);
  prepare_link(checkout, lesson, tools);
  return tools;
}

fs::path include_name(const fs::path& header) {
  return *header.begin() == "common" ? header.lexically_relative("common") : header.filename();
}

}  // namespace course::grader
