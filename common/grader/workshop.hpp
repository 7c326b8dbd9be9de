#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "audit/answer_includes.hpp"
#include "course/workspace/checkout.hpp"
#include "grader/submission.hpp"
#include "runner/confinement.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"

namespace course::program::grader {

/// How a confined command ended.
struct ConfinedRun {
  Exit exit;
  std::string exceeded;  ///< the limit that ended it; empty when none did
  std::string output;    ///< what it printed, cut after 256 KiB
  bool succeeded() const { return exceeded.empty() && exit.code == 0; }
};

/// Runs a command to its end or to its limits. What it prints goes through `output`, a path of the caller's
/// that the command cannot change.
ConfinedRun run_confined(const Confinement& confinement, const std::vector<std::string>& command,
                         const Room& room, const std::filesystem::path& output);

/// Whether code that is confined so, shown nothing but the system's folders, can read a file or what lies in
/// a folder.
bool readable_confined(const Confinement& confinement, const std::filesystem::path& path);

/// Whether objects are searched for what they may not use. Left out only to test what else holds them.
enum class Examination { Whole, Skipped };

/// What the build links with a student's files into what is graded, by its paths in the build tree, which are
/// also the names that build it: the adapter, libraries. Throws std::runtime_error where the build has no
/// such command.
std::vector<std::string> link_inputs(const Checkout& checkout, const LessonInfo& lesson);

/// Where one lesson of one submission is made into something that can be played: a folder that the confined
/// user may enter, with copies of the headers, tools and player that it needs, and nothing else of the
/// course.
class Workshop {
 public:
  /// Reads off the configured build tree how it compiles and links what a student edits. Throws Unavailable
  /// where temporary files have no place that will do and where something that answers are linked with is not
  /// built, and std::runtime_error when the course itself cannot be set up, naming what the tree lacks.
  Workshop(const Checkout& checkout, const LessonInfo& lesson, Isolation isolation);

  /// What was handed in, compiled, examined and linked confined. Returns why there is nothing to play, or an
  /// empty string. Throws Unavailable where the compiler or the linker does not work.
  std::string make(const HandedIn& handed_in, Examination examination = Examination::Whole);

  std::filesystem::path subject() const { return at("subject.so"); }
  std::filesystem::path player() const { return at("tools") / "player"; }
  uid_t user() const { return confinement_.user(); }

 private:
  using Words = std::vector<std::string>;

  std::filesystem::path at(const char* name) const { return temporary_.path() / name; }
  std::filesystem::path object_of(const std::string& file) const;
  /// As it is included: "tensor/view.hpp", or for the lesson's contract its bare name.
  std::filesystem::path copy_of(const std::filesystem::path& header) const;
  void copy_headers() const;
  Words link_command() const;
  void open_to_user() const;
  std::string compile(const std::string& file, const std::string& text) const;
  std::string refused_include(const Words& command, const std::filesystem::path& source,
                              const std::filesystem::path& dependencies) const;
  Words compile_words(const std::filesystem::path& source, const std::filesystem::path& object) const;
  ConfinedRun run_compiler(const Words& command) const;
  void require_compiler() const;
  void require_linker() const;
  std::string examine(const std::string& file) const;
  std::string link() const;
  std::string without_places(std::string text) const;

  const Checkout& checkout_;
  const LessonInfo& lesson_;
  AnswerHeaders headers_;
  Confinement confinement_;
  TemporaryFolder temporary_;
  Words compile_;  ///< compiler and options, without the checkout's include folders and without file names
  Words link_;     ///< the whole command
};

}  // namespace course::program::grader
