#include <fmt/format.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "judge/expectation.hpp"
#include "judge/keep.hpp"
#include "judge/session.hpp"

namespace course {

namespace {

struct Options {
  LauncherOptions launcher;
  std::filesystem::path registry;
  std::uint64_t seed = 1;
  int seeds = 1;
  std::string expect;
  std::filesystem::path report;
  std::filesystem::path keep;
};

/// The session of this process and what its tests look up.
struct Judge {
  Options options;
  LessonJudge lesson_judge;
  LessonInfo lesson;
  std::vector<GradedTest> all_tests;
  std::unique_ptr<Session> session;

  static Judge& instance() {
    static Judge judge;
    return judge;
  }

  const TestVerdict& verdict(const std::string& name) const {
    const std::vector<GradedTest>& tests = session->tests();
    for (std::size_t i = 0; i < tests.size(); ++i) {
      if (tests[i].name() == name) return session->verdicts(0)[i];
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
    const Options& options = judge.options;
    judge.session = std::make_unique<Session>(chosen, options.launcher, options.seed, options.seeds);
    judge.session->play();
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

std::string indented(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '\n' ? std::string("\n      ") : std::string(1, c);
  return result;
}

/// One line a passed test, a paragraph a failed one.
class Printer : public testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const testing::TestInfo& info) override {
    const Judge& judge = Judge::instance();
    const TestVerdict& verdict = judge.verdict(info.name());
    const std::string title = fmt::format("{}.{}", info.test_suite_name(), info.name());
    switch (verdict.status) {
      case TestVerdict::Status::Passed:
        fmt::print("PASS  {}\n", title);
        return;
      case TestVerdict::Status::Todo:
        fmt::print("TODO  {}   {}\n", title, verdict.text);
        return;
      case TestVerdict::Status::NotPlayed:
        fmt::print("FAIL  {}   not played: an earlier case of this test ended the player\n", title);
        return;
      case TestVerdict::Status::Failed:
        fmt::print("FAIL  {}   {}\n", title, indented(verdict.text));
        print_names(verdict);
    }
  }

 private:
  static void print_names(const TestVerdict& verdict) {
    const Judge& judge = Judge::instance();
    for (const std::string& id : verdict.mistakes) {
      fmt::print("      looks like: {}.   ./course hint {}\n", judge.lesson.mistake(id).what,
                 judge.lesson.id);
    }
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
  nlohmann::json tests = nlohmann::json::array();
  for (std::size_t i = 0; i < judge.session->tests().size(); ++i) {
    const GradedTest& test = judge.session->tests()[i];
    const TestVerdict& verdict = judge.session->verdicts(0)[i];
    tests.push_back({{"task", test.task->id},
                     {"ranks", test.ranks},
                     {"status", status_name(verdict.status)},
                     {"text", verdict.text},
                     {"mistakes", verdict.mistakes}});
  }
  const std::filesystem::path part = judge.options.report.string() + ".part";
  std::ofstream(part) << nlohmann::json{
      {"lesson", judge.lesson.id}, {"seed", judge.options.seed}, {"tests", tests}};
  std::filesystem::rename(part, judge.options.report);
}

void keep_failures(const Judge& judge) {
  for (std::size_t i = 0; i < judge.session->tests().size(); ++i) {
    const GradedTest& test = judge.session->tests()[i];
    const TestVerdict& verdict = judge.session->verdicts(0)[i];
    const std::filesystem::path folder =
        judge.options.keep / fmt::format("lesson{}.{}", judge.lesson.id, test.name());
    std::filesystem::remove_all(folder);
    if (verdict.status != TestVerdict::Status::Failed) continue;
    keep_case(folder, *test.task, *verdict.witness);
    fmt::print("      kept in {}; play it again: ./course replay {}\n", folder.string(),
               folder.filename().string());
  }
}

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app{"Judges one lesson: plays a submission and compares what it returns with the reference."};
  std::string player;
  app.add_option("--subject", options.launcher.subject, "the shared object to judge")->required();
  app.add_option("--player", options.launcher.player, "the command that plays cases")->required();
  app.add_option("--registry", options.registry, "lessons/registry.json")->required();
  app.add_option("--case-limit", options.launcher.case_limit_s,
                 "seconds without progress before a case is stuck");
  app.add_option("--seed", options.seed, "the seed that inputs are drawn with");
  app.add_option("--seeds", options.seeds, "how many seeds, counted up from --seed")
      ->check(CLI::PositiveNumber);
  app.add_option("--expect", options.expect,
                 "pass, todo, mistake:ID or mistakes:ID,ID: exit 0 if that is so");
  app.add_option("--report", options.report, "write the verdicts as JSON");
  app.add_option("--keep", options.keep, "keep the first failing case of each test in this folder");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  return options;
}

std::vector<GradedTest> tests_of(const LessonJudge& lesson_judge, const LessonInfo& lesson) {
  std::vector<GradedTest> tests;
  for (const Task& task : lesson_judge.tasks) {
    const std::vector<int>& ranks = lesson.task(task.id).ranks;
    if (ranks.empty()) tests.push_back({&task, 0});
    for (const int world_size : ranks) tests.push_back({&task, world_size});
  }
  return tests;
}

void register_tests(const Judge& judge) {
  const std::string suite = "lesson" + judge.lesson.id;
  for (const GradedTest& test : judge.all_tests) {
    const std::string name = test.name();
    testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [name]() -> testing::Test* { return new GradedTestBody(name); });
  }
}

int run(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  Judge& judge = Judge::instance();
  judge.options = parse(argc, argv);
  judge.lesson_judge = lesson_judge();
  judge.lesson = find_lesson(read_registry(judge.options.registry), judge.lesson_judge.id);
  judge.options.launcher.mpi = judge.lesson.needs_mpi();
  judge.all_tests = tests_of(judge.lesson_judge, judge.lesson);
  register_tests(judge);
  testing::AddGlobalTestEnvironment(new PlayAll);
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new Printer);
  const int failed = RUN_ALL_TESTS();
  if (judge.session == nullptr) return 2;  // --gtest_list_tests, or a filter that fits nothing
  if (!judge.options.report.empty()) write_report(judge);
  if (!judge.options.keep.empty()) keep_failures(judge);
  if (judge.options.expect.empty()) return failed == 0 ? 0 : 1;
  const std::string amiss = Expectation{judge.options.expect}.unmet(*judge.session, judge.lesson);
  if (!amiss.empty()) fmt::print("expected {}, but {}\n", judge.options.expect, amiss);
  return amiss.empty() ? 0 : 1;
}

}  // namespace

}  // namespace course

int main(int argc, char** argv) {
  try {
    return course::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "judge: " << error.what() << '\n';
    return 2;
  }
}
