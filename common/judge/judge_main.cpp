#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "judge/agreement.hpp"
#include "judge/candidates/candidates.hpp"
#include "judge/kept_case.hpp"
#include "judge/options.hpp"
#include "judge/session.hpp"
#include "judge/verdict_text.hpp"
#include "protocol/judge_report.hpp"

namespace course {

namespace {

/// The session of this process and what its tests look up.
struct Judge {
  JudgeOptions options;
  LessonJudge lesson_judge;
  LessonInfo lesson;
  std::vector<GradedTest> all_tests;
  std::optional<Confinement> confinement;
  std::unique_ptr<Session> session;
  std::vector<JudgedRound> judged;  ///< with every seed
  std::exception_ptr not_played;    ///< why nothing could be played

  static Judge& instance() {
    static Judge judge;
    return judge;
  }

  const TestVerdict& verdict(const std::string& name) const {
    const std::vector<GradedTest>& tests = session->tests();
    for (std::size_t i = 0; i < tests.size(); ++i) {
      if (tests[i].name() == name) return session->verdicts()[i];
    }
    throw std::logic_error("test " + name + " was not played");
  }
};

/// GoogleTest decides which tests run; all of them are then played before the first is judged.
class PlayAll : public testing::Environment {
 public:
  void SetUp() override {
    Judge& judge = Judge::instance();
    std::vector<GradedTest> chosen;
    for (const GradedTest& test : judge.all_tests) {
      if (selected(test.name())) chosen.push_back(test);
    }
    const JudgeOptions& options = judge.options;
    judge.session =
        std::make_unique<Session>(chosen, options.launcher, session_options(options.seed, options.expect));
    // GoogleTest would catch what is thrown here and tell it to a printer alone.
    try {
      judge.session->play();
      judge.judged = judged(*judge.session, options.seeds, options.expect, judge.lesson);
    } catch (...) {
      judge.not_played = std::current_exception();
      FAIL();
    }
  }

 private:
  static bool selected(const std::string& name) {
    const testing::TestSuite* suite = testing::UnitTest::GetInstance()->GetTestSuite(0);
    for (int i = 0; i < suite->total_test_count(); ++i) {
      const testing::TestInfo* info = suite->GetTestInfo(i);
      if (info->name() == name) return info->should_run();
    }
    return false;
  }
};

class GradedTestBody : public testing::Test {
 public:
  explicit GradedTestBody(std::string name) : name_(std::move(name)) {}
  void TestBody() override {
    const TestVerdict& verdict = Judge::instance().verdict(name_);
    if (verdict.status != TestVerdict::Status::Passed) FAIL() << verdict.text;
  }

 private:
  std::string name_;
};

class Printer : public testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const testing::TestInfo& info) override {
    const Judge& judge = Judge::instance();
    if (judge.not_played != nullptr) return;  // GoogleTest skips every test
    const std::vector<GradedTest>& tests = judge.session->tests();
    const auto test = std::ranges::find(tests, info.name(), &GradedTest::name);
    fmt::print("{}", verdict_text(judge.lesson, *test, judge.verdict(info.name())));
  }
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
  for (std::size_t i = 0; i < judge.session->tests().size(); ++i) {
    const GradedTest& test = judge.session->tests()[i];
    const TestVerdict& verdict = judge.session->verdicts()[i];
    report.tests.push_back({test.task->id,
                            test.ranks,
                            test.hidden,
                            status_name(verdict.status),
                            verdict.text,
                            {verdict.mistakes.begin(), verdict.mistakes.end()}});
  }
  write_judge_report(judge.options.report, report);
}

void keep_failures(const Judge& judge) {
  for (std::size_t i = 0; i < judge.session->tests().size(); ++i) {
    const GradedTest& test = judge.session->tests()[i];
    const TestVerdict& verdict = judge.session->verdicts()[i];
    const std::filesystem::path folder = judge.options.keep / (judge.lesson.tag() + "." + test.name());
    std::filesystem::remove_all(folder);
    if (verdict.status != TestVerdict::Status::Failed || test.hidden) continue;
    keep_case(folder, *test.task, *verdict.witness);
    const std::string& more = judge.options.replay_options;
    fmt::print("      kept in {}; play it again: ./course replay {}{}\n", folder.string(),
               folder.filename().string(), more.empty() ? "" : " " + more);
  }
}

/// Whether the submission came out as it should; without --expect it should pass.
bool is_as_it_should(const Judge& judge, bool passed) {
  const JudgeOptions& options = judge.options;
  const std::vector<JudgedRound>& rounds = judge.judged;
  const bool complete = rounds.front().tests.size() == judge.all_tests.size();
  const Check check = check_candidate({"", "", options.expect, options.hidden, options.ledger_entry}, rounds,
                                      judge.lesson, {options.ledger, options.ledger_record}, complete);
  fmt::print("{}", check.text);
  return check.holds && (passed || !options.expect.empty());
}

std::vector<GradedTest> tests_of(const LessonJudge& lesson_judge, const LessonInfo& lesson, bool hidden) {
  std::vector<GradedTest> tests;
  for (const Task& task : lesson_judge.tasks) {
    const std::vector<int>& all = lesson.task(task.id).ranks;
    for (const int ranks : all.empty() ? std::vector<int>{0} : all) {
      tests.push_back({&task, ranks});
      if (hidden && task.hidden_examples) tests.push_back({&task, ranks, true});
    }
  }
  return tests;
}

void register_tests(const Judge& judge) {
  const std::string suite = judge.lesson.tag();
  for (const GradedTest& test : judge.all_tests) {
    const std::string name = test.name();
    testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [name]() -> testing::Test* { return new GradedTestBody(name); });
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

int test_candidates(Judge& judge) {
  const JudgeOptions& options = judge.options;
  add_hidden_examples(judge.lesson_judge);
  for (Task& task : judge.lesson_judge.tasks) task = remembering(std::move(task));
  CandidateTests tests(judge.lesson, tests_of(judge.lesson_judge, judge.lesson, false),
                       tests_of(judge.lesson_judge, judge.lesson, true), options.launcher,
                       {options.seed, options.seeds}, {options.ledger, options.ledger_record});
  tests.run(read_candidates(options.candidates), options.verdicts);
  return 0;  // what failed, the tests say that are named after the candidates
}

int run(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // What goes wrong in drawing or judging ends in main, which says what it was.
  GTEST_FLAG_SET(catch_exceptions, false);
  Judge& judge = Judge::instance();
  judge.options = parse_options(argc, argv);
  judge.lesson_judge = lesson_judge();
  if (!judge.options.write_case.empty()) return write_case(judge.lesson_judge, judge.options);
  if (judge.options.hidden) add_hidden_examples(judge.lesson_judge);
  judge.lesson = find_lesson(read_registry(judge.options.registry), judge.lesson_judge.id);
  require_agreement(judge.lesson_judge, judge.lesson);
  judge.options.launcher.mpi = judge.lesson.needs_mpi();
  if (!judge.options.isolation.empty()) {
    judge.confinement.emplace(isolation_named(judge.options.isolation), judge.options.limits,
                              judge.options.user);
    judge.options.launcher.confinement = &*judge.confinement;
  }
  if (!judge.options.candidates.empty()) return test_candidates(judge);
  judge.all_tests = tests_of(judge.lesson_judge, judge.lesson, judge.options.hidden);
  register_tests(judge);
  testing::AddGlobalTestEnvironment(new PlayAll);
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new Printer);
  const int failed = RUN_ALL_TESTS();
  if (judge.not_played != nullptr) std::rethrow_exception(judge.not_played);
  if (judge.session == nullptr) return 2;  // --gtest_list_tests, or a filter that fits nothing
  if (!judge.options.report.empty()) write_report(judge);
  if (!judge.options.keep.empty()) keep_failures(judge);
  return is_as_it_should(judge, failed == 0) ? 0 : 1;
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
