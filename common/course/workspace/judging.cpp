#include "course/workspace/judging.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "course/workspace/lesson_argument.hpp"
#include "course/workspace/lesson_status.hpp"
#include "protocol/errors.hpp"
#include "protocol/judge_report.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

std::string known_ranks(const LessonInfo& lesson) {
  std::set<int> all;
  for (const TaskInfo& task : lesson.tasks) all.insert(task.ranks.begin(), task.ranks.end());
  std::string text;
  for (const int ranks : all) text += (text.empty() ? "" : ", ") + std::to_string(ranks);
  return text;
}

std::string filter_of(const GradingOrder& order) {
  std::string filter;
  for (const std::string& test : order.tests) {
    const std::string name = order.lesson->tag() + "." + test;
    filter += (filter.empty() ? "" : ":") + name;
    if (order.hidden) filter += ":" + name + hidden_suffix;
  }
  return filter;
}

std::vector<std::string> judge_command(const Checkout& checkout, const GradingOrder& order,
                                       const fs::path& report) {
  std::vector<std::string> command{judge_of(order.tree, *order.lesson),
                                   "--registry",
                                   checkout.root / "lessons" / "registry.json",
                                   "--subject",
                                   order.subject,
                                   "--report",
                                   report,
                                   "--gtest_filter=" + filter_of(order)};
  // One option a word, so that a word of the player's that starts with a dash is taken for no option of the
  // judge's.
  for (const std::string& word : order.player) command.push_back("--player=" + word);
  if (order.confined_as) {
    const auto& [isolation, user] = *order.confined_as;
    command.insert(command.end(), {"--isolation", isolation, "--user", std::to_string(user)});
    command.insert(command.end(), order.limits.begin(), order.limits.end());
  }
  if (order.hidden) command.push_back("--hidden");
  if (!order.keep.empty()) command.insert(command.end(), {"--keep", order.keep});
  if (!order.replay_options.empty()) command.push_back("--replay-options=" + order.replay_options);
  if (order.seed) command.insert(command.end(), {"--seed", std::to_string(*order.seed)});
  return command;
}

Status status_in_report(const std::string& name) {
  try {
    return status_named(name);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(std::string("the judge's report is unreadable: ") + error.what());
  }
}

}  // namespace

fs::path judge_of(const fs::path& tree, const LessonInfo& lesson) {
  return tree / "bin" / ("judge_" + lesson.tag());
}

fs::path built_in_player(const fs::path& tree, const LessonInfo& lesson) {
  return tree / "bin" / (lesson.needs_mpi() ? "player_mpi" : "player_solo");
}

std::vector<std::string> selected_tests(const LessonInfo& lesson, const TestSelection& selection) {
  if (!selection.task.empty()) require_task(lesson, selection.task);
  std::vector<std::string> tests;
  for (const TaskInfo& task : lesson.tasks) {
    if (!selection.task.empty() && task.id != selection.task) continue;
    const std::vector<std::string> names = test_names(task);
    if (!selection.ranks) {
      tests.insert(tests.end(), names.begin(), names.end());
      continue;
    }
    const auto at = std::find(task.ranks.begin(), task.ranks.end(), *selection.ranks);
    if (at != task.ranks.end()) tests.push_back(names[static_cast<std::size_t>(at - task.ranks.begin())]);
  }
  if (!tests.empty()) return tests;
  const std::string known = known_ranks(lesson);
  const std::string asked = std::to_string(*selection.ranks);
  if (known.empty())
    throw UsageError("lesson " + lesson.id + " is played on one rank; leave out --ranks " + asked);
  throw UsageError("nothing in lesson " + lesson.id + (selection.task.empty() ? "" : "." + selection.task) +
                   " is tested on " + asked + " ranks; the lesson's world sizes are " + known);
}

std::map<std::string, TestResult> judged_results(const std::string& report) {
  std::map<std::string, TestResult> results;
  for (JudgeReport::Test& test : parse_judge_report(report).tests) {
    TestResult result{status_in_report(test.status), std::move(test.text), std::move(test.mistakes)};
    if (result.text.empty() && result.status == Status::Failed) {
      result.text = "not played: an earlier case ended the player";
    }
    results[test_name(test.task, test.ranks, test.hidden)] = std::move(result);
  }
  return results;
}

std::map<std::string, TestResult> grade(const Checkout& checkout, const GradingOrder& order) {
  const TemporaryFolder temporary;
  // A confined player's folder lies in it, and may belong to another user.
  if (order.confined_as) fs::permissions(temporary.path(), fs::perms(0711));
  const fs::path report = temporary.path() / "report.json";
  const Exit exit = run({.argv = judge_command(checkout, order, report),
                         .folder = checkout.root,
                         // A judge that is interrupted leaves its own temporary folder: inside this one.
                         .environment = {{"TMPDIR", temporary.path()}},
                         .quiet = order.quiet});
  if (!fs::exists(report)) {
    throw std::runtime_error("the judge of lesson " + order.lesson->id + " ended with exit code " +
                             std::to_string(exit.code) + " and no report");
  }
  return judged_results(read_text(report));
}

}  // namespace course::program
