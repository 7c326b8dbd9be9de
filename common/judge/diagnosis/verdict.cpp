#include "judge/diagnosis/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "judge/checks/kernel_costs.hpp"
#include "judge/diagnosis/diagnose.hpp"
#include "judge/diagnosis/inputs_compared.hpp"
#include "judge/diagnosis/readings.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/origin.hpp"
#include "judge/numbers/wrong_entries.hpp"
#include "judge/parallel.hpp"
#include "text/text_file.hpp"

namespace course {

namespace {

using Status = TestVerdict::Status;

/// What the instruments and checks have against one example.
std::vector<Finding> findings_on(const Task& task, const Played& played) {
  using Ending = Outcome::Ending;
  if (played.outcome->ending == Ending::NotPlayed || played.outcome->ending == Ending::Todo) return {};
  std::vector<Finding> all;
  for (const CommunicationCheck& look : task.communication_checks)
    std::ranges::move(look(*played.example, *played.outcome), std::back_inserter(all));
  for (const AnswerCheck& check : task.answer_checks) {
    if (!played.answer.empty()) std::ranges::move(check(played), std::back_inserter(all));
  }
  return all;
}

using Words = std::string (*)(const Output&, const Tensor64& answer, const Tensor64& expected,
                              double tolerance, const Layout& layout);

using Lines = std::vector<std::string>;  // some of several lines

/// What `words` has to say of each wrong output.
Lines lines_on(const Task& task, const Played& played, Words words) {
  Lines lines;
  for (const Output* output : wrong_outputs(task, played)) {
    const std::string name = output->name;
    lines.push_back(words(*output, played.answer.at(name), played.expected.at(name),
                          played.tolerance.at(name), played.example->layout));
  }
  return lines;
}

/// Why an answer is not right.
Lines complaints(const Task& task, const Played& played) {
  if (played.answer.empty()) return {played.complaint};
  Lines lines = lines_on(task, played, locate);
  if (task.explain) lines.push_back(task.explain(played));
  return lines;
}

/// Whether arithmetic made a NaN somewhere where a number should be.
bool has_computed_nan(const Played& played) {
  return std::any_of(played.answer.begin(), played.answer.end(), [&](const auto& output) {
    const std::vector<double>& answer = output.second.values();
    const std::vector<double>& expected = played.expected.at(output.first).values();
    return !std::equal(answer.begin(), answer.end(), expected.begin(), [](double given, double right) {
      return origin_of(given) != Origin::Arithmetic || !std::isfinite(right);
    });
  });
}

/// "on ordinary scores", "on ordinary scores and on real input", "on ordinary scores and 3 other kinds of
/// input"; "on every kind of input here" where there are no others
std::string on_kinds(const std::vector<std::string>& kinds, std::size_t there_are) {
  if (kinds.size() == there_are && there_are > 2) return "on every kind of input here";
  if (kinds.size() == 2) return fmt::format("on {} and on {}", kinds[0], kinds[1]);
  return "on " + kinds[0] +
         (kinds.size() == 1 ? "" : fmt::format(" and {} other kinds of input", kinds.size() - 1));
}

/// "dq is", "dk and dv are"
std::string is_or_are(const std::vector<std::string>& names) {
  return listed(names) + (names.size() == 1 ? " is" : " are");
}

/// What a failure without a name looks like on some kinds of input (mistakes_by_kind).
Lines looks_in_part(const PlayedTest& test, const std::map<std::string, std::vector<std::string>>& kinds) {
  std::set<std::string> all;
  for (const Played& played : test.played) {
    if (!played.answer.empty() && !played.example->large) all.insert(played.example->what);
  }
  const char* const count = kinds.size() == 2 ? "two" : "several";
  Lines lines;
  for (const auto& [mistake, on] : kinds) {
    const std::string before = kinds.size() == 1 ? ""
                               : lines.empty()   ? fmt::format("{} mistakes, perhaps: ", count)
                                                 : "and ";
    lines.push_back(fmt::format("{}{} it looks like: {}", before, on_kinds(on, all.size()),
                                test.test->task->descriptions.at(mistake)));
  }
  return lines;
}

/// What is said of a failure without a name: what the numbers of a wrong answer have in common, what the
/// wrong rows share, and what is right beside it. Where no computation is known that explains all answers
/// (`is_read` is false), also what a task's own arithmetic can tell of them.
Lines hints(const PlayedTest& test, const Played& witness, bool is_read) {
  const Task& task = *test.test->task;
  Lines lines;
  if (!witness.answer.empty() && !is_right(witness)) {
    lines = lines_on(task, witness, error_pattern);
    std::string of_all = !is_read && task.look ? task.look(witness, test.played) : "";
    if (!is_read && of_all.empty()) of_all = o_and_lse(task, test.played);
    lines.push_back(of_all);
    lines.push_back(what_wrong_rows_share(task, test.played));
    lines.push_back(one_wrong_rank(task, test.played));
  }
  lines.push_back(right_and_side(task, witness, test.played));
  if (has_computed_nan(witness)) {
    lines.push_back(
        "arithmetic made a NaN, such as 0/0, -inf - (-inf), 0 times inf, or the log or root of a negative "
        "number");
  }
  return lines;
}

/// What is wrong on a hidden input, without a number of it: what a function throws, prints or hands over may
/// quote its input.
std::string without_values(const Task& task, const Played& played) {
  const std::string where = "on a hidden input";
  if (played.outcome->ending == Outcome::Ending::Threw) return "the function threw " + where;
  if (played.outcome->ending == Outcome::Ending::Crashed) return "the program crashed " + where;
  if (played.outcome->ending == Outcome::Ending::Lost) return "there is no usable result " + where;
  if (played.answer.empty()) return played.complaint + "\n" + where;
  std::string wrong;
  for (const Output* output : wrong_outputs(task, played))
    wrong += (wrong.empty() ? "" : ", ") + output->in_words();
  return wrong.empty() ? "a communication check fails " + where : wrong + " is wrong " + where;
}

/// What is found of each example of a test.
using Findings = std::vector<std::vector<Finding>>;

/// What speaks for or against all that was played of one task.
struct Evidence {
  std::vector<const Played*> all = {};
  std::vector<std::string> explaining = {};  ///< names of mistakes
};

/// How many findings of one input are told.
constexpr std::size_t most_findings = 3;

/// What is wrong with one example.
struct Failure {
  const Played* played;
  Lines lines = {};
  std::set<std::string> mistakes = {};  ///< that its findings name
  bool wrong_answer = false;
};

Failure failure_on(const Task& task, const Played& played, const std::vector<Finding>& findings) {
  Failure failure{&played};
  const bool right = is_right(played);
  failure.wrong_answer = !right && !played.answer.empty();
  if (!right) failure.lines = complaints(task, played);
  std::size_t texts = 0;
  for (const Finding& finding : findings) {
    // A check of a family's may know mistakes that the lesson's mistakes.md does not have.
    if (task.descriptions.contains(finding.mistake)) failure.mistakes.insert(finding.mistake);
    if (!finding.text.empty() && texts++ < most_findings) failure.lines.push_back(finding.text);
  }
  if (texts > most_findings)
    failure.lines.push_back(fmt::format("and {} more checks fail", texts - most_findings));
  std::erase(failure.lines, "");
  return failure;
}

/// The failure that shows what the verdict says: a finding with the name, or else of those with a wrong
/// answer, where there is a name or the first is one, that on the simplest input. Of others, such as crashes,
/// the first.
const Failure& most_telling(const Task& task, const std::vector<Failure>& failures,
                            const std::set<std::string>& mistakes) {
  const auto by_finding =
      std::ranges::find_if(failures, [](const Failure& failure) { return !failure.mistakes.empty(); });
  if (by_finding != failures.end()) return *by_finding;
  std::vector<const Played*> wrong;
  for (const Failure& failure : failures) {
    if (failure.wrong_answer) wrong.push_back(failure.played);
  }
  if (wrong.empty() || (mistakes.empty() && !failures.front().wrong_answer)) return failures.front();
  return *std::ranges::find(failures, simplest(task, wrong, mistakes.empty()), &Failure::played);
}

/// "2 of 2 inputs fail; 8 more were not played: one of them ended the program"
std::string count_words(const PlayedTest& test, std::size_t failed) {
  std::size_t not_played = 0, large = 0;
  for (const Played& played : test.played) {
    if (played.outcome->ending != Outcome::Ending::NotPlayed) continue;
    ++not_played;
    large += played.example->large ? 1 : 0;
  }
  const std::size_t played = test.played.size() - not_played;
  if (not_played == 0) return failed > 1 ? fmt::format("{} of {} inputs fail", failed, played) : "";
  const char* const why = large == not_played ? "large inputs are, once all others pass"
                          : played == 1       ? "it ended the program"
                                              : "one of them ended the program";
  return fmt::format("{} of {} inputs fail; {} more {} not played: {}", failed, played, not_played,
                     not_played == 1 ? "was" : "were", why);
}

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

/// Takes back names that a right answer of the same test refutes (Task::fail_on_all_inputs).
void take_back_names(const PlayedTest& test, std::vector<Failure>& failures) {
  if (std::ranges::none_of(test.played, is_right)) return;
  for (Failure& failure : failures) {
    for (const std::string& mistake : test.test->task->fail_on_all_inputs) failure.mistakes.erase(mistake);
  }
}

TestVerdict verdict_on(const PlayedTest& test, const Findings& findings, const Evidence& evidence) {
  using Ending = Outcome::Ending;
  const Task& task = *test.test->task;
  TestVerdict verdict;
  verdict.taken = tolerances_taken(test);
  std::vector<Failure> failures;
  const Played* todo = nullptr;
  for (std::size_t i = 0; i < test.played.size(); ++i) {
    const Played& played = test.played[i];
    if (played.outcome->ending == Ending::NotPlayed) continue;
    if (verdict.status == Status::NotPlayed) verdict.status = Status::Passed;
    if (played.outcome->ending == Ending::Todo) {
      todo = &played;
      continue;
    }
    Failure failure = failure_on(task, played, findings[i]);
    if (!failure.lines.empty()) failures.push_back(std::move(failure));
  }
  take_back_names(test, failures);
  for (const Failure& failure : failures)
    verdict.mistakes.insert(failure.mistakes.begin(), failure.mistakes.end());
  if (failures.empty() && todo != nullptr) return {Status::Todo, todo->complaint, {}, todo};
  if (failures.empty()) {
    if (verdict.status == Status::Passed) verdict.costs = costs_text(task, test.played);
    return verdict;
  }
  verdict.status = Status::Failed;
  const bool any_wrong = std::ranges::any_of(failures, &Failure::wrong_answer);
  if (evidence.explaining.size() == 1) {
    const std::string& one = evidence.explaining.front();
    const bool is_proven_otherwise = std::ranges::any_of(
        task.explain_answers, [&](const std::string& id) { return verdict.mistakes.contains(id); });
    bool is_named = !is_proven_otherwise && (any_wrong || may_throw(task, one));
    for (const auto& [seen, cause] : task.follows_from)
      is_named |= cause == one && verdict.mistakes.erase(seen) > 0;
    if (is_named) verdict.mistakes.insert(one);
  }
  const Failure& shown = most_telling(task, failures, verdict.mistakes);
  verdict.witness = shown.played;
  if (test.test->hidden) {
    verdict.text = without_values(task, *shown.played);
    return verdict;
  }
  Lines lines;
  const bool is_wrong = !shown.played->answer.empty() && !is_right(*shown.played);
  // One computation that explains every answer says more than what some of them look like.
  const std::string reading =
      verdict.mistakes.empty() && is_wrong ? as_if(task, *shown.played, evidence.all) : "";
  lines.push_back(reading);
  if (any_wrong && verdict.mistakes.empty() && reading.empty()) {
    const std::map<std::string, std::vector<std::string>> kinds = mistakes_by_kind(task, test.played);
    for (const auto& [mistake, on] : kinds) verdict.in_part.push_back(mistake);
    lines = looks_in_part(test, kinds);
    const std::map<std::string, OutputLook> outputs =
        lines.empty() ? mistakes_by_output(task, evidence.all) : std::map<std::string, OutputLook>();
    for (const auto& [output, look] : outputs) {
      const bool known = std::ranges::count(verdict.in_part, look.mistake) > 0;
      if (!known && look.right_ones.empty()) verdict.in_part.push_back(look.mistake);
      const std::string yet =
          look.right_ones.empty() ? "" : fmt::format(", and yet {} right", is_or_are(look.right_ones));
      lines.push_back(
          fmt::format("in {} it looks like: {}{}", output, task.descriptions.at(look.mistake), yet));
    }
  }
  lines.insert(lines.end(), shown.lines.begin(), shown.lines.end());
  lines.push_back("on " + shown.played->example->what);
  if (!verdict.mistakes.empty() && any_wrong) lines.push_back(reading_beside_name(task, evidence.all));
  if (verdict.mistakes.empty())
    std::ranges::move(hints(test, *shown.played, !reading.empty()), std::back_inserter(lines));
  lines.push_back(count_words(test, failures.size()));
  if (verdict.mistakes.empty()) {
    std::set<const Played*> failed;
    for (const Failure& failure : failures) failed.insert(failure.played);
    lines.push_back(kinds_that_pass(test.played, failed));
  }
  std::erase(lines, "");
  verdict.text = fmt::format("{}", fmt::join(lines, "\n"));
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

/// Whether one of its cases is why others of its task were not played (Launcher).
bool ended_its_task(const PlayedTest& test) {
  return std::ranges::any_of(test.played, [](const Played& played) {
    return played.outcome->ending == Outcome::Ending::Stuck ||
           played.outcome->ending == Outcome::Ending::OverLimit;
  });
}

/// "3, 4, 5 and 8 ranks"
std::string ranks_words(const std::vector<int>& ranks) {
  return listed(ranks) + " rank" + (ranks.back() == 1 ? "" : "s");
}

}  // namespace

void judge(std::vector<PlayedTest>& tests, bool alone) {
  std::map<const Task*, Evidence> by_task;
  std::vector<std::size_t> counts;
  std::vector<Findings> findings;
  for (const PlayedTest& test : tests) {
    for (const Played& played : test.played) by_task[test.test->task].all.push_back(&played);
    counts.push_back(test.played.size());
    findings.emplace_back(test.played.size());
  }
  if (!alone) {
    for (auto& [task, evidence] : by_task) evidence.explaining = explaining_mistakes(*task, evidence.all);
  }
  // Looking at an answer may take as long as playing it.
  for_each_in_parallel(counts, [&](std::size_t i, std::size_t j) {
    findings[i][j] = findings_on(*tests[i].test->task, tests[i].played[j]);
  });
  for (std::size_t i = 0; i < tests.size(); ++i)
    tests[i].verdict = verdict_on(tests[i], findings[i], by_task[tests[i].test->task]);
  for (PlayedTest& test : tests) test.verdict.before = cause_in_other_task(test, tests);
}

std::string numbers_text(const Task& task, const Played& played) {
  if (played.answer.empty()) return "";
  return fmt::format("{}", fmt::join(lines_on(task, played, side_by_side), ""));
}

std::string verdict_text(const LessonInfo& lesson, const GradedTest& test, const TestVerdict& verdict) {
  const std::string title = lesson.tag() + "." + test.name();
  switch (verdict.status) {
    case Status::Passed:
      return fmt::format("PASS  {}\n{}", title, verdict.costs);
    case Status::Todo:
      return fmt::format("TODO  {}   {}\n", title, verdict.text);
    case Status::NotPlayed:
      return fmt::format("FAIL  {}   not played: an earlier input of this task ended the program\n", title);
    case Status::Failed:
      break;
  }
  std::string text = verdict.before;
  for (const std::string& id : verdict.mistakes)
    text += fmt::format("looks like: {}.   ./course hint {}\n", lesson.mistake(id).what, lesson.id);
  return fmt::format("FAIL  {}   {}\n", title, indented(text + verdict.text));
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
