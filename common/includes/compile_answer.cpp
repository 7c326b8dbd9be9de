#include <algorithm>
#include <exception>
#include <iostream>

#include "includes/answer_includes.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace {

using Words = std::vector<std::string>;
namespace fs = std::filesystem;

/// What follows an option of the compiler's.
std::string after(const Words& command, const std::string& option) {
  const auto found = std::ranges::find(command, option);
  return found == command.end() || found + 1 == command.end() ? "" : *(found + 1);
}

/// Compiles, and shows what the compiler says and what else is wrong; returns the exit code.
int compile(const course::AnswerHeaders& allowed, const std::set<fs::path>& own, const Words& command) {
  const course::Captured compiled = course::capture({.argv = command});
  std::cerr << compiled.output;
  if (compiled.exit.code != 0) {
    if (course::misses_header(compiled.output)) std::cerr << "note: " << allowed.in_words() << '\n';
    return compiled.exit.code;
  }
  const fs::path object = after(command, "-o");
  course::AnswerCompile look{
      .command = command,
      .folder = fs::current_path(),
      .source = after(command, "-c"),
      .dependencies = after(command, "-MF"),
      .scratch = object.string() + ".assembled",
      .headers = own,
      .run = [](const Words& words) { return course::capture({.argv = words}).output; }};
  for (const fs::path& header : allowed.files) look.headers.insert(allowed.root / header);
  const std::string refusal = course::refusal(look, allowed);
  if (refusal.empty()) return 0;
  fs::remove(object);
  std::cerr << refusal << '\n';
  return 1;
}

}  // namespace

/// compile-answer ROOT LESSON_FOLDER gpu|cpu FILE... -- COMPILER...: what compiles an answer, which consists
/// of these files, and refuses includes that a grade refuses.
int main(int argc, char** argv) {
  const Words words(argv + 1, argv + argc);
  const auto end = std::ranges::find(words, "--");
  if (end - words.begin() < 3 || end == words.end() || end + 1 == words.end()) {
    std::cerr << "usage: compile-answer ROOT LESSON_FOLDER gpu|cpu FILE... -- COMPILER...\n";
    return 2;
  }
  try {
    return compile(course::AnswerHeaders(words[0], words[1], words[2] == "gpu"),
                   std::set<fs::path>(words.begin() + 3, end), Words(end + 1, words.end()));
  } catch (const std::exception& error) {
    std::cerr << "compile-answer: " << error.what() << '\n';
    return 1;
  }
}
