#include "judge/diagnosis/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "judge/checks/kernel_costs.hpp"
#include "judge/diagnosis/diagnose.hpp"
#include "judge/diagnosis/failure.hpp"
#include "judge/diagnosis/failure_text.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/wrong_entries.hpp"
#include "judge/parallel.hpp"
#include "text/text_file.hpp"

namespace course {

namespace {

using Status = TestVerdict::Status;

/// What speaks for or against all that was played of one task.
struct Evidence {
  std::vector<const Played*> all = {};
  std::vector<std::string> explaining = {};  ///< names of mistakes
};

/// By output, over all answers.
std::map<std::string, TakenTolerance> tolerances_taken(const PlayedTest& test) {
  std::map<std::string, TakenTolerance> all;
  for (const Played& played : test.played) {
    for (const auto& [output, answer] : played.answer) {
      const double error = relative_error(answer, played.expected.at(output));
      const TakenTolerance taken{error == 0 ? 0 : error / played.tolerance.at(output), played.example->what};
      TakenTolerance& most = all.try_emplace(output, taken).first->second;
      if (taken.part > most.part) most = taken;
    }
  }
  return all;
}

/// The verdict where nothing failed.
TestVerdict verdict_without_failure(const PlayedTest& test) {
  using Ending = Outcome::Ending;
  TestVerdict verdict;
  for (const Played& played : test.played) {
    if (played.outcome->ending == Ending::Todo) return {Status::Todo, played.complaint, {}, &played};
    if (played.outcome->ending != Ending::NotPlayed) verdict.status = Status::Passed;
  }
  verdict.taken = tolerances_taken(test);
  if (verdict.status == Status::Passed) verdict.costs = costs_text(*test.test->task, test.played);
  return verdict;
}

/// Whether the one mistake that explains every answer of the task is named: where a finding may follow from
/// it, or else where an answer is wrong, or the mistake may show otherwise, and no finding that is named
/// explains answers.
bool is_named_by_answers(const Task& task, const std::vector<Failure>& failures, const Evidence& evidence,
                         const std::set<std::string>& names) {
  const std::string& one = evidence.explaining.front();
  const auto is_named = [&](const std::string& id) { return names.contains(id); };
  const bool is_cause = std::ranges::any_of(
      task.follows_from, [&](const auto& pair) { return pair.second == one && is_named(pair.first); });
  const bool any_wrong = std::ranges::any_of(failures, &Failure::wrong_answer);
  return is_cause || (std::ranges::none_of(task.explain_answers, is_named) &&
                      (any_wrong || may_show_otherwise(task, one)));
}

/// The names that a failed test has earned: its findings', and that of the one mistake that explains every
/// answer of the task. What only follows from another is no further name (Task::follows_from).
std::set<std::string> names_of(const Task& task, const std::vector<Failure>& failures,
                               const Evidence& evidence) {
  std::set<std::string> names;
  for (const Failure& failure : failures) names.insert(failure.mistakes.begin(), failure.mistakes.end());
  if (evidence.explaining.size() == 1 && is_named_by_answers(task, failures, evidence, names))
    names.insert(evidence.explaining.front());
  for (const auto& [seen, cause] : task.follows_from) {
    if (names.contains(cause)) names.erase(seen);
  }
  return names;
}

TestVerdict verdict_on(const PlayedTest& test, const Findings& findings, const Evidence& evidence,
                       bool alone) {
  const Task& task = *test.test->task;
  const std::vector<Failure> failures = failures_of(test, findings);
  if (failures.empty()) return verdict_without_failure(test);
  TestVerdict verdict;
  verdict.status = Status::Failed;
  verdict.taken = tolerances_taken(test);
  verdict.mistakes = names_of(task, failures, evidence);
  const Failure& shown = most_telling(task, failures, verdict.mistakes);
  verdict.witness = shown.played;
  if (!test.test->hidden) verdict.fact = shown.fact;
  verdict.has_line = shown.has_line && !test.test->hidden;
  verdict.text = test.test->hidden ? without_values(task, *shown.played)
                 : alone           ? failure_text_alone(shown)
                         : failure_text(test, failures, shown, evidence.all, evidence.explaining, verdict);
  return verdict;
}

/// What is said first of a failure of a task that uses another's function, where that fails, too.
std::string cause_in_other_task(const PlayedTest& test, const std::vector<PlayedTest>& tests) {
  const std::string& used = test.test->task->uses;
  const auto fails = std::ranges::find_if(
      tests, [&](const PlayedTest& other) { return other.test->task->id == used && other.failed(); });
  if (used.empty() || !test.failed() || fails == tests.end()) return "";
  return fmt::format("task {} fails: if this task uses its {}, that may be all that is wrong here\n", used,
                     fails->test->task->function);
}

/// What is shown of a failed test's text. Of a failure that another task's may have caused its first line, or
/// the first few where it looks like several mistakes: whoever mends that first need not read the rest.
std::string shown_text(const LessonInfo& lesson, const GradedTest& test, const TestVerdict& verdict) {
  if (verdict.before.empty() || test.hidden) return verdict.text;
  std::vector<std::string> lines = lines_of(verdict.text);
  const std::size_t first_few = std::max<std::size_t>(1, verdict.in_part.size());
  if (lines.size() <= first_few) return verdict.text;
  lines.resize(first_few);
  lines.push_back(fmt::format("./course check {} --task {} tells more", lesson.id, test.task->id));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string indented(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '\n' ? std::string("\n      ") : std::string(1, c);
  return result;
}

/// Whether two failures of a task at different world sizes would be told in the same words.
bool is_same(const TestVerdict& a, const TestVerdict& b) {
  return b.status == Status::Failed && a.mistakes == b.mistakes &&
         (!a.mistakes.empty() || outline_of(a.text) == outline_of(b.text));
}

/// Whether a case is why others of its task were not played (Launcher).
bool ends_its_task(const Played& played) {
  return played.outcome->ending == Outcome::Ending::Stuck ||
         played.outcome->ending == Outcome::Ending::OverLimit;
}

bool ended_its_task(const PlayedTest& test) {
  return std::ranges::any_of(test.played, ends_its_task);
}

/// What is said of a test of which nothing was played: what ended the input that ended its task.
std::string why_not_played(const PlayedTest& test, const std::vector<PlayedTest>& tests) {
  for (const PlayedTest& other : tests) {
    if (other.test->task != test.test->task) continue;
    const auto ended = std::ranges::find_if(other.played, ends_its_task);
    if (ended != other.played.end())
      return "not played: an earlier input was " +
             ended->outcome->text.substr(0, ended->outcome->text.find('\n'));
  }
  return "not played: an earlier input of this task ended the program";
}

/// "3, 4, 5 and 8 ranks"
std::string ranks_words(const std::vector<int>& ranks) {
  return listed(ranks) + " rank" + (ranks.back() == 1 ? "" : "s");
}

}  // namespace

void judge(std::vector<PlayedTest>& tests, bool alone,
           const std::map<const Task*, std::vector<std::string>>& known) {
  std::map<const Task*, Evidence> by_task;
  std::vector<std::size_t> counts;
  std::vector<Findings> findings;
  for (const PlayedTest& test : tests) {
    for (const Played& played : test.played) {
      if (!played.example->far_out) by_task[test.test->task].all.push_back(&played);
    }
    counts.push_back(test.played.size());
    findings.emplace_back(test.played.size());
  }
  if (!alone) {
    for (auto& [task, evidence] : by_task)
      evidence.explaining = known.contains(task) ? known.at(task) : explaining_mistakes(*task, evidence.all);
  }
  // Looking at an answer may take as long as playing it.
  for_each_in_parallel(counts, [&](std::size_t i, std::size_t j) {
    findings[i][j] = findings_on(*tests[i].test->task, tests[i].played[j]);
  });
  for (std::size_t i = 0; i < tests.size(); ++i)
    tests[i].verdict = verdict_on(tests[i], findings[i], by_task[tests[i].test->task], alone);
  for (std::size_t i = 0; i < tests.size(); ++i) {
    PlayedTest& test = tests[i];
    test.verdict.before = cause_in_other_task(test, tests);
    Evidence& evidence = by_task[test.test->task];
    if (!test.verdict.before.empty() && test.test->task->named_by_outcomes && !evidence.explaining.empty()) {
      // What the other task's function gets wrong is in this one's answers, too.
      evidence.explaining.clear();
      std::string before = std::move(test.verdict.before);
      test.verdict = verdict_on(test, findings[i], evidence, alone);
      test.verdict.before = std::move(before);
    }
    if (test.verdict.status == Status::NotPlayed) test.verdict.text = why_not_played(test, tests);
  }
}

std::string ending_of(const Played& witness) {
  switch (witness.outcome->ending) {
    case Outcome::Ending::Threw:
      return "threw";
    case Outcome::Ending::Crashed:
      return "crashed";
    case Outcome::Ending::Deadlock:
      return "deadlock";
    case Outcome::Ending::Stuck:
      return "stuck";
    case Outcome::Ending::OverLimit:
      return "over limit";
    case Outcome::Ending::Lost:
      return "lost";
    case Outcome::Ending::Finished:
      return is_right(witness) ? "broke a rule" : "";
    default:
      return "";
  }
}

std::string numbers_text(const Task& task, const Played& played) {
  if (played.answer.empty()) return "";
  return fmt::format("{}", fmt::join(lines_on(task, played, side_by_side), ""));
}

std::string verdict_text(const LessonInfo& lesson, const GradedTest& test, const TestVerdict& verdict,
                         bool whole) {
  const std::string title = lesson.tag() + "." + test.name();
  switch (verdict.status) {
    case Status::Passed:
      return fmt::format("PASS  {}\n{}", title, verdict.costs);
    case Status::Todo:
      return fmt::format("TODO  {}   {}\n", title, verdict.text);
    case Status::NotPlayed:
      return fmt::format("FAIL  {}   {}\n", title, verdict.text);
    case Status::Failed:
      break;
  }
  std::string text = verdict.before;
  for (const std::string& id : verdict.mistakes)
    text += fmt::format("{}.   ./course hint {}\n", looks_like(lesson.mistake(id).what), lesson.id);
  return fmt::format("FAIL  {}   {}\n", title,
                     indented(text + (whole ? verdict.text : shown_text(lesson, test, verdict))));
}

std::string verdict_texts(const LessonInfo& lesson, const std::vector<PlayedTest>& tests,
                          const std::map<std::string, std::string>& below) {
  std::string text;
  std::vector<bool> done(tests.size());
  for (std::size_t i = 0; i < tests.size(); ++i) {
    if (done[i]) continue;
    text += verdict_text(lesson, *tests[i].test, tests[i].verdict);
    std::vector<int> like_it, not_played;
    for (std::size_t j = i + 1; tests[i].failed() && j < tests.size(); ++j) {
      if (done[j] || tests[j].test->task != tests[i].test->task ||
          tests[j].test->hidden != tests[i].test->hidden)
        continue;
      const bool is_not_played = tests[j].verdict.status == Status::NotPlayed && ended_its_task(tests[i]);
      done[j] = is_not_played || is_same(tests[i].verdict, tests[j].verdict);
      if (done[j]) (is_not_played ? not_played : like_it).push_back(tests[j].test->ranks);
    }
    if (!like_it.empty()) text += fmt::format("      the same on {}\n", ranks_words(like_it));
    if (!not_played.empty())
      text += fmt::format("      not played on {}: the failure above ended the program\n",
                          ranks_words(not_played));
    if (const auto more = below.find(tests[i].test->name()); more != below.end()) text += more->second;
  }
  return text;
}

}  // namespace course
