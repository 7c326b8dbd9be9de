#pragma once

#include <cstdint>

#include "course/workspace/lesson_status.hpp"

namespace course::program {

/// The judge that this build has for a lesson.
std::filesystem::path judge_of(const std::filesystem::path& tree, const LessonInfo& lesson);

/// The player that this build has for a lesson.
std::filesystem::path built_in_player(const std::filesystem::path& tree, const LessonInfo& lesson,
                                      Backend backend = Backend::Simulator);

/// The name of the target of a lesson's shared object, and of its file without ".so".
std::string subject_target(const LessonInfo& lesson, const std::string& subject);

/// A lesson's shared object in this build: of the subject "student", "solution" or "drill".
std::filesystem::path library_of(const std::filesystem::path& tree, const LessonInfo& lesson,
                                 const std::string& subject);

/// How to start a judge.
struct GradingOrder {
  const LessonInfo* lesson = nullptr;
  std::vector<std::string> tests = {};   ///< by name
  std::filesystem::path tree = {};       ///< the build that the judge comes from
  std::filesystem::path subject = {};    ///< what is judged, from the root
  std::vector<std::string> player = {};  ///< the player's command
  std::optional<std::uint64_t> seed = std::nullopt;
  std::filesystem::path keep = {};  ///< where failing cases are kept, from the root; empty: nowhere
  bool quiet = false;               ///< the judge's own words are not shown
  /// For code that is not trusted: the isolation's name and the user it runs as.
  std::optional<std::pair<std::string, unsigned>> confined_as = std::nullopt;
  std::vector<std::string> limits = {};  ///< on it, as options of the judge: {"--memory-limit", "1000000"}
  bool hidden = false;                   ///< the lesson's hidden tests, too
  std::filesystem::path replayed = {};   ///< a kept case, which is played alone
  bool as_checked = false;  ///< with the answer that it was kept of: what was said then is said again
  std::optional<double> quiet_limit_s = std::nullopt;  ///< after which a case without progress is ended
  double limit_s = 0;                                  ///< after which the judge is ended; 0: never
  /// What has to follow `./course replay CASE`, as typed in a shell, for these cases to be played as here.
  std::string replay_options = {};
};

/// The words of a command of someone's own that plays cases. Throws UsageError where there is no such
/// program.
std::vector<std::string> own_player(const std::string& command);

/// Plays and judges. The judge prints its verdicts on stdout. Throws Unavailable with the cause when nothing
/// could be judged: this machine failed, or the judge did.
TestResults grade(const Checkout& checkout, const GradingOrder& order);

/// The results in a judge's --report file. Throws std::runtime_error.
TestResults judged_results(const std::string& report);

/// Whether each of these tests was played and passed.
bool all_passed(const std::vector<std::string>& tests, const TestResults& results);

}  // namespace course::program
