#include "course/workspace/judging.hpp"

#include <algorithm>
#include <stdexcept>

#include "course/terminal/terminal.hpp"
#include "protocol/errors.hpp"
#include "protocol/judge_report.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

std::string filter_of(const GradingOrder& order) {
  return joined(
      order.tests,
      [&](const std::string& test) {
        const std::string name = order.lesson->tag() + "." + test;
        return order.hidden ? name + ":" + name + hidden_suffix : name;
      },
      ":");
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
  if (const int width = order.quiet ? 0 : columns(stdout, 0); width > 0)  // of what it prints
    command.insert(command.end(), {"--columns", std::to_string(width)});
  if (order.hidden) command.push_back("--hidden");
  if (!order.keep.empty()) command.insert(command.end(), {"--keep", order.keep});
  if (!order.replayed.empty()) command.insert(command.end(), {"--replay", order.replayed});
  if (order.as_checked) command.push_back("--as-checked");
  if (order.quiet_limit_s)
    command.insert(command.end(), {"--case-limit", std::to_string(*order.quiet_limit_s)});
  if (!order.replay_options.empty()) command.push_back("--replay-options=" + order.replay_options);
  if (order.seed) command.insert(command.end(), {"--seed", std::to_string(*order.seed)});
  return command;
}

}  // namespace

fs::path judge_of(const fs::path& tree, const LessonInfo& lesson) {
  return tree / "bin" / ("judge_" + lesson.tag());
}

fs::path built_in_player(const fs::path& tree, const LessonInfo& lesson, Backend backend) {
  return tree / "bin" / lesson.player(backend);
}

std::string subject_target(const LessonInfo& lesson, const std::string& subject) {
  return lesson.tag() + "_" + subject;
}

fs::path library_of(const fs::path& tree, const LessonInfo& lesson, const std::string& subject) {
  return tree / "lib" / (subject_target(lesson, subject) + ".so");
}

TestResults judged_results(const std::string& report) {
  TestResults results;
  for (JudgeReport::Test& test : parse_judge_report(report).tests) {
    TestResult result{status_named(test.status), std::move(test.text),
                      std::move(test.mistakes),  std::move(test.ending),
                      std::move(test.in_part),   std::move(test.of_outputs),
                      std::move(test.fact),      test.has_line};
    results[test_name(test.task, test.ranks, test.hidden)] = std::move(result);
  }
  return results;
}

std::vector<std::string> own_player(const std::string& command) {
  std::vector<std::string> words = words_of(command);
  const std::string program = words.empty() ? "" : words.front();
  const bool is_path = program.find('/') != std::string::npos;
  if (program.empty() || (!is_path && find_program(program).empty()))
    throw UsageError("there is no program '" + program + "' (--player)");
  return words;
}

TestResults grade(const Checkout& checkout, const GradingOrder& order) {
  const TemporaryFolder temporary;
  // A confined player's folder lies in it, and may belong to another user.
  if (order.confined_as) fs::permissions(temporary.path(), fs::perms(0711));
  const fs::path report = temporary.path() / "report.json";
  const Exit exit = run({.argv = judge_command(checkout, order, report),
                         .folder = checkout.root,
                         // A judge that is interrupted leaves its own temporary folder: inside this one.
                         .environment = {{"TMPDIR", temporary.path()}},
                         .quiet = order.quiet,
                         .limit_s = order.limit_s});
  const std::string judge = "the judge of lesson " + order.lesson->id;
  if (!fs::exists(report))
    throw Unavailable(judge + " ended with exit code " + std::to_string(exit.code) + " and no report");
  const std::string text = read_text(report);
  if (const std::string failure = parse_judge_report(text).failure; !failure.empty())
    throw Unavailable(failure);
  return judged_results(text);
}

bool all_passed(const std::vector<std::string>& tests, const TestResults& results) {
  return std::ranges::all_of(tests, [&](const std::string& test) {
    const auto found = results.find(test);
    return found != results.end() && found->second.status == Status::Passed;
  });
}

}  // namespace course::program
