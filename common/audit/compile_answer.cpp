#include <algorithm>
#include <exception>
#include <iostream>
#include <sstream>

#include "audit/answer_includes.hpp"
#include "audit/answer_symbols.hpp"
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

/// An answer's lesson, as the build names it.
struct Lesson {
  fs::path root;
  std::string folder;  ///< "05_ring_attention"
  Words needs;         ///< "mpi", "gpu"

  bool needs_gpu() const { return std::ranges::find(needs, "gpu") != needs.end(); }
};

/// Of "mpi,gpu" each.
Words needs_in(const std::string& list) {
  Words needs;
  std::istringstream words(list);
  for (std::string need; std::getline(words, need, ',');) needs.push_back(need);
  return needs;
}

std::string listed_by_nm(const std::string& which, const fs::path& object) {
  const course::Captured names = course::capture({.argv = {"nm", which, "--demangle", object}});
  if (names.exit.code != 0)
    throw std::runtime_error("nm cannot read " + object.string() + ": " + names.output);
  return names.output;
}

/// Whether a grade compiles the file in this way: not for a CUDA device, whose runtime has names of its own,
/// nor with sanitizers, which call their own, but for the one that the simulated GPU uses
/// (common/cmake/Gpu.cmake).
bool is_compiled_as_graded(const Words& command, bool on_gpu) {
  if (fs::path(command.front()).filename() == "nvcc") return false;
  return on_gpu || std::ranges::none_of(
                       command, [](const std::string& word) { return word.starts_with("-fsanitize="); });
}

/// What a grade refuses of an object, in the compiler's words; empty when it takes it.
std::string refused_of_object(const Lesson& lesson, const fs::path& source, const fs::path& object) {
  const std::string refused = course::refused_symbol(
      {listed_by_nm("--undefined-only", object), listed_by_nm("--defined-only", object)},
      course::read_text(lesson.root / "common/audit/allowed_symbols.txt"), lesson.needs,
      "lesson" + lesson.folder.substr(0, lesson.folder.find('_')));
  if (refused.empty()) return "";
  return source.string() + ": error: it " + refused + ": a grade refuses it";
}

/// Compiles, and shows what the compiler says and what else is wrong; returns the exit code.
int compile(const Lesson& lesson, const std::set<fs::path>& own, const Words& command) {
  const course::AnswerHeaders allowed(lesson.root, lesson.folder, lesson.needs_gpu());
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
  std::string refusal = course::refusal(look, allowed);
  if (refusal.empty() && is_compiled_as_graded(command, lesson.needs_gpu()))
    refusal = refused_of_object(lesson, look.source, object);
  if (refusal.empty()) return 0;
  fs::remove(object);
  std::cerr << refusal << '\n';
  return 1;
}

}  // namespace

/// compile-answer ROOT LESSON_FOLDER NEEDS FILE... -- COMPILER...: what compiles an answer, which consists of
/// these files, and refuses includes and names that a grade refuses. NEEDS: what the lesson needs, such as
/// mpi,gpu; none for a lesson that needs nothing.
int main(int argc, char** argv) {
  const Words words(argv + 1, argv + argc);
  const auto end = std::ranges::find(words, "--");
  if (end - words.begin() < 3 || end == words.end() || end + 1 == words.end()) {
    std::cerr << "usage: compile-answer ROOT LESSON_FOLDER NEEDS FILE... -- COMPILER...\n";
    return 2;
  }
  try {
    return compile({words[0], words[1], needs_in(words[2])}, std::set<fs::path>(words.begin() + 3, end),
                   Words(end + 1, words.end()));
  } catch (const std::exception& error) {
    std::cerr << "compile-answer: " << error.what() << '\n';
    return 1;
  }
}
