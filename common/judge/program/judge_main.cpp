#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>

#include "judge/candidates/candidates.hpp"
#include "judge/outcomes/recorder.hpp"
#include "judge/program/kept_case.hpp"
#include "protocol/errors.hpp"
#include "protocol/judge_report.hpp"
#include "text/text_file.hpp"
#include "text/wrapped.hpp"

namespace course {

namespace {

/// What this process judges.
struct Judge {
  JudgeOptions options;
  LessonJudge lesson_judge;
  LessonInfo lesson;
  std::vector<GradedTest> all_tests;
  std::vector<const testing::TestInfo*> registered;  ///< beside all_tests
  std::optional<RecordedOutcomes> outcomes;          ///< of the lesson's mistakes, where they are recorded
  std::optional<Confinement> confinement;
  std::optional<Session> session;
  std::vector<Round> judged;      ///< with every seed
  std::exception_ptr not_played;  ///< why nothing could be played
};

/// GoogleTest decides which tests run; all of them are then played before the first is judged.
class PlayAll : public testing::Environment {
 public:
  explicit PlayAll(Judge& judge) : judge_(judge) {}

  void SetUp() override {
    std::vector<GradedTest> chosen;
    for (std::size_t i = 0; i < judge_.all_tests.size(); ++i) {
      if (judge_.registered[i]->should_run()) chosen.push_back(judge_.all_tests[i]);
    }
    const JudgeOptions& options = judge_.options;
    judge_.session =
        Session{std::move(chosen), Launcher(options.launcher), session_options(options.seed, options.expect)};
    // GoogleTest would catch what is thrown here and tell it to a printer alone.
    try {
      judge_.session->play();
      judge_.judged = judged(*judge_.session, options.seeds, options.expect, judge_.lesson);
    } catch (...) {
      judge_.not_played = std::current_exception();
      FAIL();  // so that GoogleTest skips every test
    }
  }

 private:
  Judge& judge_;
};

class GradedTestBody : public testing::Test {
 public:
  GradedTestBody(const Judge& judge, std::string name) : judge_(judge), name_(std::move(name)) {}

  void TestBody() override {
    for (const PlayedTest& test : judge_.session->first.tests) {
      if (test.test->name() != name_) continue;
      if (test.verdict.status != TestVerdict::Status::Passed)
        FAIL() << test.verdict.before << test.verdict.text;
    }
  }

 private:
  const Judge& judge_;
  std::string name_;
};

const char* status_name(TestVerdict::Status status) {
  switch (status) {
    case TestVerdict::Status::Passed:
      return "passed";
    case TestVerdict::Status::Todo:
      return "todo";
    default:
      return "failed";
  }
}

void write_report(const Judge& judge) {
  JudgeReport report{judge.lesson.id, judge.options.seed, {}};
  for (const PlayedTest& played : judge.session->first.tests) {
    const TestVerdict& verdict = played.verdict;
    report.tests.push_back({played.test->task->id,
                            played.test->ranks,
                            played.test->hidden,
                            status_name(verdict.status),
                            verdict.before + verdict.text,
                            {verdict.mistakes.begin(), verdict.mistakes.end()},
                            verdict.in_part,
                            verdict.witness == nullptr ? "" : ending_of(*verdict.witness),
                            verdict.of_outputs,
                            verdict.fact,
                            verdict.has_line});
  }
  write_judge_report(judge.options.report, report);
}

DrawnCase drawn_case(const Judge& judge, const PlayedTest& test) {
  const auto example =
      std::ranges::find(test.examples, test.verdict.witness->example, &std::shared_ptr<const Example>::get);
  return {test.test->name(), judge.options.seed, static_cast<std::size_t>(example - test.examples.begin())};
}

/// Whether `./course check --sanitize` may name the line that crashed.
bool may_be_sanitized(const Judge& judge, const PlayedTest& played) {
  const bool crashed =
      std::ranges::any_of(played.played, [](const Played& one) { return one.outcome->by_signal; });
  return crashed && !judge.lesson.needs_gpu() && judge.options.replay_options.empty();
}

/// Keeps failing cases, and returns lines for each, by the test's name.
std::map<std::string, std::string> keep_failures(const Judge& judge) {
  std::map<std::string, std::string> lines;
  for (const PlayedTest& played : judge.session->first.tests) {
    const GradedTest& test = *played.test;
    const std::filesystem::path folder = judge.options.keep / (judge.lesson.tag() + "." + test.name());
    std::filesystem::remove_all(folder);
    if (played.verdict.status != TestVerdict::Status::Failed || test.hidden) continue;
    keep_case(folder, *test.task, *played.verdict.witness, drawn_case(judge, played));
    keep_diagnosis(folder, verdict_text(judge.lesson, test, played.verdict, true));
    const std::string& more = judge.options.replay_options;
    lines[test.name()] =
        fmt::format("      kept in {}; play it again: ./course replay {}{}\n", folder.string(),
                    folder.filename().string(), more.empty() ? "" : " " + more);
    if (may_be_sanitized(judge, played)) {
      lines[test.name()] += fmt::format(
          "      ./course check {} --sanitize names the line that reads or writes out of bounds\n",
          judge.lesson.id);
    }
  }
  return lines;
}

/// The hidden ones too, where tasks have been given hidden examples.
std::vector<GradedTest> tests_of(const LessonJudge& lesson_judge, const LessonInfo& lesson) {
  std::vector<GradedTest> tests;
  for (const Task& task : lesson_judge.tasks) {
    for (const int ranks : lesson.task(task.id).test_ranks()) {
      tests.push_back({&task, ranks});
      if (task.hidden_examples) tests.push_back({&task, ranks, true});
    }
  }
  return tests;
}

void register_tests(Judge& judge) {
  const std::string suite = judge.lesson.tag();
  for (const GradedTest& test : judge.all_tests) {
    const std::string name = test.name();
    judge.registered.push_back(testing::RegisterTest(
        suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
        [&judge, name]() -> testing::Test* { return new GradedTestBody(judge, name); }));
  }
}

int write_case(const LessonJudge& lesson_judge, const JudgeOptions& options) {
  for (const Task& task : lesson_judge.tasks) {
    if (task.id != options.task) continue;
    write_largest_case(options.write_case, task, options.ranks, options.seed);
    return 0;
  }
  throw std::invalid_argument("lesson " + lesson_judge.id + " has no task '" + options.task + "'");
}

/// Passes on what a player prints, while it is played.
std::function<void(const LaunchView&)> passing_on() {
  return [shown = std::streamoff(0)](const LaunchView& view) mutable {
    std::ifstream printed(view.printed);
    printed.seekg(shown);
    const std::string text{std::istreambuf_iterator<char>(printed), {}};
    shown += std::ssize(text);
    std::cout << text << std::flush;
  };
}

/// What is said of a kept case that was played again: what the check said of it, which saw other inputs too,
/// where it has come out as it did there; else that beneath the verdict on it alone.
std::string said_of_replayed(const Judge& judge, const PlayedTest& played) {
  const std::string alone = verdict_texts(judge.lesson, judge.session->first.tests, {});
  const std::string by_check = judge.options.as_checked ? kept_diagnosis(judge.options.replayed) : "";
  if (by_check.empty()) return alone;
  const bool as_there =
      played.failed() && std::ranges::all_of(lines_of(played.verdict.text), [&](const std::string& line) {
        return by_check.find(line) != std::string::npos;
      });
  return as_there ? by_check : alone + "the check, which played other inputs as well, said:\n" + by_check;
}

/// Plays a kept case again, on the same ranks of the world, and leaves in its folder what came of it.
int replay(Judge& judge) {
  JudgeOptions& options = judge.options;
  const std::filesystem::path& folder = options.replayed;
  const DrawnCase drawn = read_drawn(folder);
  const auto test = std::ranges::find(judge.all_tests, drawn.test, &GradedTest::name);
  if (test == judge.all_tests.end())
    throw std::runtime_error("lesson " + judge.lesson.id + " has no test " + drawn.test);
  const Examples examples = examples_of(*test, drawn.seed);
  if (drawn.example >= examples.size())
    throw std::runtime_error(
        fmt::format("test {} has {} inputs, and no input {}", drawn.test, examples.size(), drawn.example));
  require_inputs_of(*examples[drawn.example], *test->task, folder);
  options.launcher.world_ranks = read_manifest(folder).world_ranks;
  options.launcher.on_look = passing_on();
  judge.session = Session{{*test}, Launcher(options.launcher), {.seed = drawn.seed}};
  judge.session->play_alone(examples[drawn.example]);
  const PlayedTest& played = judge.session->first.tests.front();
  std::filesystem::remove_all(folder / "out");
  keep_case(folder, *test->task, played.played.front(), drawn);
  if (!options.report.empty()) write_report(judge);
  fmt::print("{}{}", wrapped(said_of_replayed(judge, played), options.columns),
             numbers_text(*test->task, played.played.front()));
  return played.verdict.status == TestVerdict::Status::Passed ? 0 : 1;
}

/// Reads what is recorded of the lesson's mistakes, beside their texts, and has tasks named by it.
void take_outcomes(Judge& judge) {
  namespace fs = std::filesystem;
  fs::path file = judge.options.outcomes;
  if (file.empty())
    file =
        judge.options.registry.parent_path().parent_path() / "tests" / judge.lesson.folder() / "outcomes.tsv";
  if (judge.options.outcomes.empty() && !fs::exists(file)) return;
  judge.outcomes = read_outcomes(file);
  name_by_outcomes(judge.lesson_judge, *judge.outcomes);
}

int record(Judge& judge) {
  std::vector<GradedTest> open;
  std::ranges::copy_if(judge.all_tests, std::back_inserter(open), std::not_fn(&GradedTest::hidden));
  write_outcomes(judge.options.record_outcomes,
                 record_outcomes(open, listed_forms(judge.options.forms), judge.options));
  return 0;
}

int judge_lesson(Judge& judge) {
  if (!judge.options.write_case.empty()) return write_case(judge.lesson_judge, judge.options);
  const bool records = !judge.options.record_outcomes.empty();
  const bool of_many = !judge.options.candidates.empty() || records;
  if (judge.options.hidden || of_many) add_hidden_examples(judge.lesson_judge);
  judge.lesson = find_lesson(read_registry(judge.options.registry), judge.lesson_judge.id);
  keep_known_mistakes(judge.lesson_judge, judge.lesson);
  if (records)
    name_by_outcomes(judge.lesson_judge, {});
  else
    take_outcomes(judge);
  require_agreement(judge.lesson_judge, judge.lesson);
  judge.options.launcher.mpi = judge.lesson.needs_mpi();
  if (!judge.options.isolation.empty()) {
    judge.confinement.emplace(isolation_named(judge.options.isolation), judge.options.limits,
                              judge.options.user);
    judge.options.launcher.confinement = &*judge.confinement;
  }
  if (of_many) {
    for (Task& task : judge.lesson_judge.tasks) task = remembering(std::move(task));
  }
  judge.all_tests = tests_of(judge.lesson_judge, judge.lesson);
  if (records) return record(judge);
  if (of_many) {
    test_candidates(judge.lesson, judge.all_tests, judge.options,
                    judge.outcomes ? &*judge.outcomes : nullptr);
    return 0;  // what failed, the tests say that are named after the candidates
  }
  if (!judge.options.replayed.empty()) return replay(judge);
  register_tests(judge);
  testing::AddGlobalTestEnvironment(new PlayAll(judge));
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  const int wrong = RUN_ALL_TESTS();
  if (judge.not_played != nullptr) std::rethrow_exception(judge.not_played);
  if (!judge.session) return 2;  // --gtest_list_tests, or a filter that fits nothing
  if (!judge.options.report.empty()) write_report(judge);
  std::map<std::string, std::string> kept;
  if (!judge.options.keep.empty()) kept = keep_failures(judge);
  fmt::print("{}",
             wrapped(verdict_texts(judge.lesson, judge.session->first.tests, kept), judge.options.columns));
  if (judge.options.expect.empty()) return wrong == 0 ? 0 : 1;
  const Check check = check_expectation(judge.options.expect, judge.judged, judge.lesson);
  fmt::print("{}", check.text);
  return check.holds ? 0 : 1;
}

/// Tells whoever reads the report, or else this program's user, why nothing could be judged.
void tell_failure(const Judge& judge, const std::string& why) {
  if (judge.options.report.empty()) {
    std::cerr << "judge: " << why << '\n';
  } else {
    write_judge_report(judge.options.report, {judge.lesson_judge.id, judge.options.seed, {}, why});
  }
}

int run(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // What goes wrong in drawing or judging is told below.
  GTEST_FLAG_SET(catch_exceptions, false);
  Judge judge;
  judge.options = parse_options(argc, argv);
  judge.lesson_judge = lesson_judge();
  try {
    return judge_lesson(judge);
  } catch (const Unavailable& error) {
    tell_failure(judge, error.what());
    return unavailable;
  } catch (const std::exception& error) {
    tell_failure(judge, error.what());
    return wrong_usage;
  }
}

}  // namespace

}  // namespace course

/// A lesson's own replaces this one.
[[gnu::weak]] void course::add_hidden_examples(LessonJudge&) {}

int main(int argc, char** argv) {
  try {
    return course::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "judge: " << error.what() << '\n';
    return 2;
  }
}
