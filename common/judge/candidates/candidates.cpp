#include "judge/candidates/candidates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <stdexcept>
#include <utility>

#include "judge/candidates/ledger.hpp"
#include "judge/checks/kernel_costs.hpp"
#include "text/text_file.hpp"

namespace course {

namespace fs = std::filesystem;

namespace {

using Status = TestVerdict::Status;

std::set<std::string> names_in(const Round& round) {
  std::set<std::string> all;
  for (const PlayedTest& test : round.tests)
    all.insert(test.verdict.mistakes.begin(), test.verdict.mistakes.end());
  return all;
}

/// The verdicts of one seed.
struct Verdicts {
  const Round& round;
  bool later;

  bool ended_earlier(const PlayedTest& test) const {
    return later && test.verdict.status == Status::NotPlayed;
  }

  /// Whether a test of the task fails, or was ended by an earlier seed; an empty task stands for all of them.
  bool fails(const std::string& task) const {
    return std::ranges::any_of(round.tests, [&](const PlayedTest& test) {
      return (task.empty() || test.test->task->id == task) &&
             (test.verdict.status == Status::Failed || ended_earlier(test));
    });
  }

  std::string unless_all(Status status, const char* what) const {
    for (const PlayedTest& test : round.tests) {
      if (test.verdict.status == status || ended_earlier(test)) continue;
      return fmt::format("task {} is not {}:\n{}", test.test->name(), what, test.verdict.text);
    }
    return "";
  }

  std::string unless_named(const MistakeInfo& mistake) const {
    for (const std::string& task : mistake.tasks) {
      if (!fails(task)) return fmt::format("task {} does not fail", task);
    }
    const std::set<std::string> named = names_in(round);
    const bool complete =
        std::ranges::none_of(round.tests, [&](const PlayedTest& test) { return ended_earlier(test); });
    const bool unnamed = later && std::ranges::any_of(round.tests, [](const PlayedTest& test) {
                           return test.test->task->named_by_outcomes;  // which are those of the first seed
                         });
    if (named == std::set{mistake.id} || (named.empty() && (unnamed || !complete))) return "";
    return fmt::format("it should be named {}, and is named [{}]", mistake.id, fmt::join(named, ", "));
  }

  std::string unless_failed() const { return fails("") ? "" : "no test fails"; }

  std::string unless_combination(const std::vector<std::string>& allowed) const {
    if (!fails("")) return unless_failed();
    for (const std::string& name : names_in(round)) {
      if (std::ranges::find(allowed, name) == allowed.end()) return fmt::format("it is misnamed {}", name);
    }
    return "";
  }
};

void write(const fs::path& file, const Check& check) {
  std::ofstream stream(file);
  stream << (check.holds ? "holds" : "fails") << '\n' << check.text;
  stream.close();
  if (!stream) throw std::runtime_error("cannot write " + file.string());
}

bool is_recording() {
  const char* const record_it = std::getenv("COURSE_RECORD_LEDGER");
  return record_it != nullptr && *record_it != '\0';
}

/// Whether it is another than the first form of its mistake: "mutant.v_left_behind.2".
bool is_further_form(const Candidate& candidate) {
  const std::string& entry = candidate.ledger_entry;
  const std::string last = entry.substr(entry.rfind('.') + 1);
  return !last.empty() && last.find_first_not_of("0123456789") == std::string::npos;
}

/// The tests that this candidate is played in, and the names of those that are left out, where few are to be
/// played: they take more ranks than a mistake needs to show, or are of a task that it leaves right.
struct ChosenTests {
  std::vector<GradedTest> tests;
  std::set<std::string> left_out;
};

/// The fewest ranks on which the ledger has a task failed, by task.
std::map<std::string, int> fewest_ranks_that_fail(const std::map<std::string, std::string>& verdicts,
                                                  const std::vector<GradedTest>& tests) {
  std::map<std::string, int> fewest;
  for (const GradedTest& test : tests) {
    const auto verdict = verdicts.find(test.name());
    if (verdict == verdicts.end() || !verdict->second.starts_with("failed")) continue;
    int& ranks = fewest.try_emplace(test.task->id, test.ranks).first->second;
    ranks = std::min(ranks, test.ranks);
  }
  return fewest;
}

ChosenTests tests_of(const Candidate& candidate, const LessonInfo& lesson, const std::vector<GradedTest>& all,
                     const JudgeOptions& options) {
  const Expectation expected{candidate.expect};
  const int most_ranks =
      is_further_form(candidate) ? options.most_ranks_of_further_forms : options.most_ranks;
  const bool few = !is_recording() && expected.of_wrong() && most_ranks < JudgeOptions{}.most_ranks;
  const std::set<std::string> failed = expected.failed_tasks(lesson);
  std::map<std::string, int> needed;
  if (few && !options.ledger.empty())
    needed = fewest_ranks_that_fail(read_ledger(options.ledger)[candidate.ledger_entry], all);
  ChosenTests chosen;
  for (const GradedTest& test : all) {
    if (test.hidden && !candidate.hidden) continue;
    const bool shows = failed.empty() || failed.contains(test.task->id);
    if (!few || (shows && test.ranks <= std::max(most_ranks, needed[test.task->id])))
      chosen.tests.push_back(test);
    else
      chosen.left_out.insert(test.name());
  }
  return chosen;
}

/// Compares with what the ledger has of it, or writes that, where COURSE_RECORD_LEDGER says so and it came
/// out as expected.
Check check_ledger(const fs::path& file, const std::string& entry, const Round& round,
                   const std::set<std::string>& left_out, bool as_expected) {
  if (is_recording()) {
    if (!as_expected)
      return {true, fmt::format("not recorded, since it did not come out as expected: {}\n", entry)};
    record(file, entry, round);
    return {true, fmt::format("recorded: {} in {}\n", entry, file.string())};
  }
  if (!fs::exists(file))
    return {true, fmt::format("not compared with the ledger: there is no {}\n", file.string())};
  const std::string amiss = differences(read_ledger(file), entry, round, left_out);
  if (amiss.empty()) return {true, fmt::format("as recorded: {}\n", entry)};
  return {false, fmt::format("not as recorded in {}, {}:\n{}", file.string(), entry, amiss)};
}

/// How near right answers came to their tolerances: a line for each output of a task, over all that was
/// played, and the nearest of all in a few words.
struct Nearness {
  std::string lines, nearest;
};

Nearness nearness(const std::vector<Round>& rounds) {
  struct Most {
    TakenTolerance taken;
    std::uint64_t seed = 0;
    std::string test;
  };
  std::map<std::string, Most> by_output;
  for (const Round& round : rounds) {
    for (const PlayedTest& test : round.tests) {
      for (const auto& [output, taken] : test.verdict.taken) {
        const Most here{taken, round.seed, test.test->name()};
        Most& most = by_output.try_emplace(test.test->task->id + "'s " + output, here).first->second;
        if (taken.part > most.taken.part) most = here;
      }
    }
  }
  Nearness near;
  double largest = -1;
  for (const auto& [output, most] : by_output) {
    const std::string words = fmt::format("{:.2f} of the tolerance of {} with seed {} in test {}, on {}",
                                          most.taken.part, output, most.seed, most.test, most.taken.what);
    near.lines += "at most " + words + "\n";
    if (std::exchange(largest, std::max(largest, most.taken.part)) < most.taken.part) near.nearest = words;
  }
  return near;
}

/// What the judges show of the solution's kernels is so.
Check check_costs(const Round& round) {
  Check check;
  for (const PlayedTest& test : round.tests) check.text += drift_from_solution(*test.test->task, test.played);
  check.holds = check.text.empty();
  return check;
}

/// Whether the other forms of its mistake alone would earn a mutant its name, as somebody's own form of it
/// would have to; nullopt where there are none, or where its outcomes are not recorded.
std::optional<bool> named_by_other_forms(const std::string& form, const Round& round) {
  const std::string id = form.substr(0, form.find('.'));
  std::map<const Task*, std::vector<const Played*>> by_task;
  for (const PlayedTest& test : round.tests) {
    for (const Played& played : test.played) by_task[test.test->task].push_back(&played);
  }
  std::optional<bool> named;
  for (const auto& [task, all] : by_task) {
    Task others = *task;
    std::erase_if(others.mistakes, [&](const Mistake& mistake) { return mistake.form == form; });
    if (std::ranges::count(others.mistakes, id, &Mistake::id) == 0) continue;
    const std::vector<std::string> explaining = explaining_mistakes(others, all);
    named = named.value_or(false) || explaining == std::vector{id};
  }
  return named;
}

/// What came of one, which is written down graded test by graded test where it should pass.
Check play(const Candidate& candidate, const LessonInfo& lesson, const std::vector<GradedTest>& all_tests,
           const JudgeOptions& options, const RecordedOutcomes* recorded,
           std::map<std::string, Examples>& shared) {
  LauncherOptions launcher = options.launcher;
  launcher.subject = candidate.subject;
  SessionOptions how = session_options(options.seed, candidate.expect);
  how.spare_large = Expectation{candidate.expect}.of_mistakes();
  how.shared = &shared;
  ChosenTests chosen = tests_of(candidate, lesson, all_tests, options);
  Session session{std::move(chosen.tests), Launcher(std::move(launcher)), how};
  session.play();
  const Expectation expected{candidate.expect};
  const int most_seeds = expected.of_wrong() ? options.most_seeds_of_mistakes : options.seeds;
  const std::vector<Round> rounds =
      judged(session, std::min(options.seeds, most_seeds), candidate.expect, lesson);
  Check all;
  for (const PlayedTest& test : rounds.front().tests) {
    const std::string text = verdict_text(lesson, *test.test, test.verdict);
    all.text += text;
    if (candidate.expect == "pass") {
      write(options.verdicts / (candidate.name + "." + test.test->name()),
            {test.verdict.status == Status::Passed, text});
    }
  }
  std::vector<Check> checks{check_expectation(candidate.expect, rounds, lesson)};
  if (candidate.expect == "pass") {
    const Nearness near = nearness(rounds);
    checks.push_back({true, near.lines});
    all.nearest = near.nearest;
  }
  if (candidate.ledger_entry == "solution") checks.push_back(check_costs(session.first));
  const bool is_recorded = recorded != nullptr && options.seed == recorded_seed &&
                           candidate.ledger_entry.starts_with("mutant.") &&
                           lesson.mistake(candidate.expect.substr(8)).by == "answer";
  if (is_recorded) {
    const std::string form = candidate.ledger_entry.substr(std::string("mutant.").size());
    const std::string stale = stale_outcomes(*recorded, form, session.first);
    checks.push_back({stale.empty(), stale});
    all.named_by_others = named_by_other_forms(form, session.first);
  }
  if (!options.ledger.empty() && !candidate.ledger_entry.empty()) {
    checks.push_back(check_ledger(options.ledger, candidate.ledger_entry, rounds.front(), chosen.left_out,
                                  checks.front().holds));
    if (!checks.back().holds)
      checks.back().text += fmt::format(
          "what is new or has changed on purpose: ./course test --lesson {} --record\n", lesson.id);
  }
  for (const Check& check : checks) {
    all.holds &= check.holds;
    all.text += check.text;
  }
  return all;
}

}  // namespace

std::vector<std::string> Expectation::mistakes() const {
  const std::size_t colon = text.find(':');
  return colon == std::string::npos ? std::vector<std::string>{} : split(text.substr(colon + 1), ',');
}

std::set<std::string> Expectation::failed_tasks(const LessonInfo& lesson) const {
  std::set<std::string> tasks;
  if (!of_mistakes()) return tasks;
  for (const std::string& id : mistakes()) {
    const std::vector<std::string>& failed = lesson.mistake(id).tasks;
    tasks.insert(failed.begin(), failed.end());
  }
  return tasks;
}

std::string Expectation::unmet(const Round& round, bool later, const LessonInfo& lesson) const {
  const Verdicts verdicts{round, later};
  if (text == "pass") return verdicts.unless_all(Status::Passed, "passed");
  if (text == "todo") return verdicts.unless_all(Status::Todo, "todo");
  if (text.starts_with("mistake:")) return verdicts.unless_named(lesson.mistake(text.substr(8)));
  if (text.starts_with("mistakes:")) return verdicts.unless_combination(mistakes());
  if (of_failing()) {
    for (const std::string& id : mistakes()) lesson.mistake(id);
    return verdicts.unless_failed();
  }
  throw std::invalid_argument("cannot expect " + text +
                              "; expected pass, todo, mistake:ID, mistakes:ID,ID, fails or fails:ID,ID");
}

std::string Expectation::unmet(const std::vector<Round>& rounds, const LessonInfo& lesson) const {
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const std::string amiss = unmet(rounds[i], i > 0, lesson);
    if (!amiss.empty()) return fmt::format("with seed {}: {}", rounds[i].seed, amiss);
  }
  return "";
}

std::vector<Candidate> listed_candidates(const fs::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error("cannot read " + file.string());
  std::vector<Candidate> candidates;
  for (std::string line; std::getline(stream, line);) {
    const std::vector<std::string> columns = split(line, '\t');
    if (columns.size() != 5 || (columns[3] != "hidden" && columns[3] != "public")) {
      throw std::runtime_error(
          "expected name, subject, expectation, hidden or public, and ledger entry, with a tab between "
          "them: " +
          line);
    }
    candidates.push_back(
        {columns[0], columns[1], columns[2], columns[3] == "hidden", columns[4] == "-" ? "" : columns[4]});
  }
  return candidates;
}

std::string where_named(const Round& round) {
  std::map<std::string, std::vector<std::string>> by_ending;
  for (const PlayedTest& test : round.tests) {
    const TestVerdict& verdict = test.verdict;
    if (verdict.status == Status::Passed) by_ending["passed"].push_back(test.test->name());
    if (verdict.status == Status::Failed && verdict.mistakes.empty())
      by_ending["failed without a name"].push_back(test.test->name());
    for (const std::string& mistake : verdict.mistakes)
      by_ending["named " + mistake].push_back(test.test->name());
  }
  std::string text;
  for (const auto& [ending, tests] : by_ending)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", ending, fmt::join(tests, " "));
  return text;
}

std::string naming(const Round& round, const std::vector<std::string>& known) {
  std::set<std::string> unknown = names_in(round);
  if (unknown.empty()) return "has no name";
  for (const std::string& id : known) unknown.erase(id);
  return unknown.empty() ? "is named" : fmt::format("is misnamed {}", fmt::join(unknown, ", "));
}

Check check_expectation(const std::string& expect, const std::vector<Round>& rounds,
                        const LessonInfo& lesson) {
  const Expectation expectation{expect};
  const std::string amiss = expectation.unmet(rounds, lesson);
  const std::string where = expectation.of_wrong() ? where_named(rounds.front()) + "\n" : "";
  const std::string how =
      expectation.of_failing() ? ", and " + naming(rounds.front(), expectation.mistakes()) : "";
  if (amiss.empty()) return {true, fmt::format("{}as expected: {}{}\n", where, expect, how)};
  return {false, fmt::format("{}expected {}, but {}\n", where, expect, amiss)};
}

SessionOptions session_options(std::uint64_t seed, const std::string& expect) {
  return {.seed = seed, .must_be_sharp = !expect.empty()};
}

std::vector<Round> judged(Session& session, int seeds, const std::string& expect, const LessonInfo& lesson) {
  Tells tells;
  if (const Expectation expected{expect}; expected.of_mistakes())
    tells = [&lesson, expected](const Round& round) { return expected.unmet(round, true, lesson).empty(); };
  std::vector<Round> rounds = sweep(session, seeds, tells);
  for (const Round& round : rounds) {
    for (const PlayedTest& test : round.tests) {
      for (const std::string& mistake : test.verdict.mistakes) lesson.mistake(mistake);
    }
  }
  return rounds;
}

void test_candidates(const LessonInfo& lesson, const std::vector<GradedTest>& tests,
                     const JudgeOptions& options, const RecordedOutcomes* recorded) {
  fs::remove_all(options.verdicts);
  fs::create_directories(options.verdicts);
  std::map<std::string, Examples> shared;
  int recalled = 0, not_recalled = 0;
  for (const Candidate& candidate : listed_candidates(options.candidates)) {
    Check check;
    try {
      check = play(candidate, lesson, tests, options, recorded, shared);
    } catch (const std::exception& error) {
      check = {false, fmt::format("it could not be judged: {}\n", error.what())};
    }
    write(options.verdicts / candidate.name, check);
    fmt::print("{}  {}{}{}\n", check.holds ? "holds" : "fails", candidate.name,
               check.nearest.empty() ? "" : ": ", check.nearest);
    std::fflush(stdout);
    if (check.named_by_others) ++(*check.named_by_others ? recalled : not_recalled);
  }
  if (recalled + not_recalled > 0)
    fmt::print("{} of {} forms would be named by the other forms of their mistake\n", recalled,
               recalled + not_recalled);
}

}  // namespace course
