#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace course {

/// The headers of the course that an answer to a lesson may include: its contract, those that lessons share,
/// for a GPU lesson those under the toolkit's names, and what these include. The one list for all that
/// compiles an answer: a build on the student's machine, and a grade, which copies these and no others.
struct AnswerHeaders {
  /// @param root the course's folder
  /// @param folder the lesson's: "05_ring_attention"
  AnswerHeaders(std::filesystem::path root, const std::string& folder, bool on_gpu);

  std::filesystem::path root;
  std::string lesson;                        ///< "05"
  std::vector<std::filesystem::path> files;  ///< from the root
  std::vector<std::string> named;            ///< those that answers themselves include, as they include them

  std::vector<std::string> systems{"C++", "Eigen"};  ///< whose headers there are besides

  /// "an answer to lesson 05 may include ring_attention.hpp, ... and what the system has: ...".
  std::string in_words() const;
};

/// What the course's header "common/tensor/view.hpp" is called in an #include: "tensor/view.hpp".
std::filesystem::path as_included(const std::filesystem::path& file);

/// The files that a rule of make's depends on, such as a compiler's -MD writes.
std::vector<std::filesystem::path> dependencies_in(const std::string& rule);

/// One compile of an answer that has succeeded.
struct AnswerCompile {
  std::vector<std::string> command;
  std::filesystem::path folder;             ///< in which it ran
  std::filesystem::path source;             ///< as the command names it
  std::filesystem::path dependencies;       ///< what the compiler wrote of the headers it read
  std::filesystem::path scratch;            ///< a file that `run` may write
  std::set<std::filesystem::path> headers;  ///< where those of the course lie for this compile
  /// Runs a command in `folder` and returns what it printed.
  std::function<std::string(const std::vector<std::string>&)> run;
};

/// Why this compile is not to count, as a compiler says it: "FILE:LINE: error: ...". It has read a file that
/// is none of the listed headers and none of the system's, in an #include or by the assembler; or it asks
/// __has_include for one. Empty when there is nothing to say.
std::string refusal(const AnswerCompile& compile, const AnswerHeaders& allowed);

/// What a compiler says that sees the listed headers alone, where it does not find a header of the course: as
/// refusal() says it where the whole course is to be seen.
std::string with_refusals(const std::string& output, const AnswerHeaders& allowed);

/// Whether a compiler complains of a header that it does not find.
bool misses_header(const std::string& output);

}  // namespace course
