#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "course/commands/commands.hpp"
#include "course/workspace/judging.hpp"
#include "lessons.hpp"

namespace course::program {

namespace {

const LessonInfo& ring() {
  static const LessonInfo lesson = two_lessons()[1];
  return lesson;
}

const LessonFiles written{{}, false, "abc"};

LessonRecord record(std::map<std::string, TestResult> tests) {
  return {"abc", "", std::move(tests)};
}

TestResult passed() {
  return {Status::Passed, "", {}};
}
TestResult todo() {
  return {Status::Todo, "task 2", {}};
}
TestResult wrong() {
  return {Status::Failed, "o[0] is 1, should be 2", {"one_block_short"}};
}

LessonStatus lesson_status(std::map<std::string, TestResult> tests) {
  const LessonRecord known = record(std::move(tests));
  return lesson_status_of(ring(), written, &known, "");
}

TEST(Standing, PassesWhenEveryTestOfEveryTaskPasses) {
  const LessonStatus all = lesson_status({{"1", passed()}, {"2.ranks1", passed()}, {"2.ranks3", passed()}});
  EXPECT_EQ(all.status, Status::Passed);
  EXPECT_EQ(all.points(), 100);
  EXPECT_EQ(all.open_task(), nullptr);
}

TEST(Standing, GivesATaskItsPointsOnlyWhole) {
  const LessonStatus some = lesson_status({{"1", passed()}, {"2.ranks1", passed()}, {"2.ranks3", wrong()}});
  EXPECT_EQ(some.status, Status::Failed);
  EXPECT_EQ(some.points(), 20);
  EXPECT_EQ(some.open_task()->task->id, "2");
  EXPECT_EQ(some.open_task()->diagnosis,
            "looks like: only P - 1 blocks are attended to\no[0] is 1, should be 2");
}

TEST(Standing, KnowsAllThatItsTestsLookLikeAndTheFactOfTheOneThatIsShown) {
  TestResult first = wrong(), second = wrong();
  first.fact = "truncated";
  first.has_line = true;
  first.in_part = {"one_block_short", "in_part"};
  second.mistakes = {};
  second.of_outputs = {"of_an_output", "in_part"};
  const LessonStatus some = lesson_status({{"1", passed()}, {"2.ranks1", first}, {"2.ranks3", second}});
  const TaskStatus& task = *some.open_task();
  EXPECT_EQ(task.looks_like, (std::vector<std::string>{"one_block_short", "in_part", "of_an_output"}));
  EXPECT_EQ(task.fact, "truncated");
  EXPECT_TRUE(task.has_line);
}

TEST(Standing, SaysWhichTestsWereNotPlayed) {
  const LessonStatus partial = lesson_status({{"1", passed()}, {"2.ranks3", passed()}});
  EXPECT_EQ(partial.status, Status::Failed);
  EXPECT_EQ(partial.open_task()->diagnosis, "not checked yet: 2.ranks1");
  EXPECT_TRUE(partial.open_task()->unfinished);
  EXPECT_FALSE(partial.open_task()->unplayed);
}

TEST(Standing, TellsWhatFailedFromWhatWasNotPlayed) {
  EXPECT_EQ(open_tasks(lesson_status({{"2.ranks1", wrong()}})), "task 2 failed, task 1 not checked");
  EXPECT_EQ(open_tasks(lesson_status({{"1", todo()}, {"2.ranks3", passed()}})),
            "task 1 todo, task 2 checked in part");
}

TEST(Standing, OfASkeletonTheTaskThatWasAskedForIsNext) {
  const std::vector<LessonStatus> skeleton{lesson_status_of(ring(), {{}, true, "abc"}, nullptr, "")};
  const std::string id = ring().id;
  EXPECT_NE(next_step(skeleton, id, "2").find("write task 2 ("), std::string::npos);
  EXPECT_NE(next_step(skeleton, id, "2").find("./course check " + id + ".2"), std::string::npos);
  EXPECT_NE(next_step(skeleton, id).find("write task 1 ("), std::string::npos);
}

TEST(Standing, IsTodoOnlyWhereNothingWasWritten) {
  const LessonStatus half = lesson_status({{"1", passed()}, {"2.ranks1", todo()}, {"2.ranks3", todo()}});
  EXPECT_EQ(half.tasks[1].status, Status::Todo);
  const LessonStatus mixed = lesson_status({{"1", passed()}, {"2.ranks1", passed()}, {"2.ranks3", todo()}});
  EXPECT_EQ(mixed.tasks[1].status, Status::Failed);
  const LessonStatus skeleton = lesson_status_of(ring(), {{}, true, "abc"}, nullptr, "");
  EXPECT_EQ(skeleton.status, Status::Todo);
}

TEST(Standing, IsForTheFilesAsTheyAre) {
  const LessonRecord old{"other", "", {{"1", passed()}, {"2.ranks1", passed()}, {"2.ranks3", passed()}}};
  const LessonStatus changed = lesson_status_of(ring(), written, &old, "");
  EXPECT_EQ(changed.status, Status::Failed);
  EXPECT_TRUE(changed.stale);
  EXPECT_EQ(changed.points(), 0);
  const LessonRecord broken{"abc", "a.cpp:1: error: no", {}};
  EXPECT_EQ(lesson_status_of(ring(), written, &broken, "").tasks[0].diagnosis,
            "does not compile: a.cpp:1: error: no");
  EXPECT_EQ(lesson_status_of(ring(), {{"lessons/a.cpp"}, false, ""}, &old, "").obstacle,
            "lessons/a.cpp is missing");
  EXPECT_NE(next_step({lesson_status_of(ring(), {{"lessons/a.cpp"}, false, ""}, &old, "")}, "")
                .find("brings the skeleton back"),
            std::string::npos);
  const LessonRecord unfinished{"abc", "a.cpp:1: error: the end of the file is missing", {}};
  EXPECT_EQ(next_step({lesson_status_of(ring(), written, &unfinished, "")}, "").find("skeleton"),
            std::string::npos);
  EXPECT_EQ(lesson_status_of(ring(), written, &old, "no mpirun").status, Status::Skipped);
}

TEST(NextStep, IsInTheCurrentLessonOrTheNextOpenOneAndRound) {
  const std::vector<LessonInfo> lessons = two_lessons();
  const LessonFiles untouched{{}, true, ""};
  std::vector<LessonStatus> lesson_statuses{lesson_status_of(lessons[0], untouched, nullptr, ""),
                                            lesson_status_of(lessons[1], untouched, nullptr, "")};
  EXPECT_TRUE(
      next_step(lesson_statuses, "").starts_with("next: lesson 01: read lessons/01_safe_softmax/README.md"));
  EXPECT_TRUE(next_step(lesson_statuses, "05").starts_with("next: lesson 05:"));
  lesson_statuses[1].status = Status::Passed;
  EXPECT_TRUE(next_step(lesson_statuses, "05").starts_with("next: lesson 01:"));
  lesson_statuses[0].status = Status::Skipped;
  EXPECT_EQ(next_step(lesson_statuses, "05"), "every lesson that this machine can play is passed");
}

TEST(NextStep, SaysWhichLessonsWereLeftOut) {
  std::vector<LessonInfo> lessons(5, two_lessons()[0]);
  std::vector<LessonStatus> statuses;
  for (std::size_t i = 0; i < lessons.size(); ++i) lessons[i].id = "0" + std::to_string(i + 1);
  for (const LessonInfo& lesson : lessons)
    statuses.push_back(lesson_status_of(lesson, {{}, true, ""}, nullptr, ""));
  const auto step = [&] { return next_step(statuses, "04"); };
  EXPECT_FALSE(step().ends_with(" still to do)")) << "nothing is passed: it was begun at 04";
  statuses[0].status = statuses[2].status = statuses[3].status = Status::Passed;
  EXPECT_TRUE(step().starts_with("next: lesson 05: ")) << step();
  EXPECT_TRUE(step().ends_with(" (02 is still to do)")) << step();
  statuses[0].status = Status::Failed;
  EXPECT_TRUE(step().ends_with(" (01 and 02 are still to do)")) << step();
  statuses[0].status = statuses[1].status = Status::Passed;
  EXPECT_FALSE(step().ends_with(" still to do)")) << step();
}

/// The first line that the end of a check says of the lesson.
std::string score_line(std::map<std::string, TestResult> tests) {
  const std::string text = verdict_text({}, lesson_status(std::move(tests)));
  return text.substr(0, text.find('\n'));
}

TEST(VerdictText, CountsTasksWhenAllWereChecked) {
  EXPECT_EQ(score_line({{"1", passed()}, {"2.ranks1", todo()}, {"2.ranks3", todo()}}),
            "lesson 05: 1 of 2 tasks passed, 1 todo, 20 of 100 points");
}

TEST(VerdictText, SaysWhenAGpuIsSimulated) {
  LessonStatus status = lesson_status({{"1", passed()}});
  LessonInfo cuda = *status.lesson;
  cuda.needs = {"gpu"};
  status.lesson = &cuda;
  EXPECT_TRUE(verdict_text({}, status).starts_with("lesson 05 on the simulated GPU: "));
}

TEST(VerdictText, SaysWhatWasCheckedWhenItWasAPart) {
  EXPECT_EQ(score_line({{"2.ranks1", passed()}, {"2.ranks3", passed()}}),
            "lesson 05: task 2 passed; task 1 not checked since the file changed");
  EXPECT_EQ(score_line({{"2.ranks1", passed()}, {"2.ranks3", wrong()}}),
            "lesson 05: task 2 failed; task 1 not checked since the file changed");
  EXPECT_EQ(score_line({{"1", passed()}, {"2.ranks3", passed()}}),
            "lesson 05: task 1 passed; task 2 passed as far as it was checked");
  EXPECT_EQ(score_line({{"1", todo()}, {"2.ranks3", passed()}}),
            "lesson 05: task 1 not written yet; task 2 passed as far as it was checked");
  EXPECT_EQ(score_line({}), "lesson 05: tasks 1 and 2 not checked since the file changed");
}

TEST(NextTask, IsTheOneThatIsWrongOrTheNextAfterWhatPassed) {
  const auto next = [](std::map<std::string, TestResult> tests) {
    const LessonStatus status = lesson_status(std::move(tests));
    const TaskStatus* const task = status.next_task();
    return task == nullptr ? "none" : task->task->id;
  };
  EXPECT_EQ(next({{"1", passed()}, {"2.ranks1", passed()}, {"2.ranks3", passed()}}), "none");
  EXPECT_EQ(next({{"1", passed()}, {"2.ranks1", todo()}, {"2.ranks3", todo()}}), "2");
  EXPECT_EQ(next({{"1", passed()}}), "2") << "the next";
  EXPECT_EQ(next({{"2.ranks3", passed()}}), "2") << "of which a part has passed";
  EXPECT_EQ(next({{"2.ranks1", passed()}, {"2.ranks3", passed()}}), "1") << "there is none behind it";
  EXPECT_EQ(next({{"1", todo()}, {"2.ranks3", wrong()}}), "2");
  EXPECT_EQ(next({}), "1");
}

TEST(NextStep, NamesTheHintOfWhatFailedThoughOthersWereNotChecked) {
  const auto step = [](std::map<std::string, TestResult> tests) {
    return next_step({lesson_status(std::move(tests))}, "");
  };
  EXPECT_EQ(
      step({{"2.ranks3", wrong()}}),
      "next: lesson 05: task 2 (ring attention) in lessons/05_ring_attention/ring_attention.cpp; a hint: "
      "./course hint 05");
  EXPECT_EQ(step({{"2.ranks3", passed()}}), "next: lesson 05: ./course check 05 (this was a part of it)");
}

TEST(ReportJson, HasTheContractsFields) {
  const LessonStatus some = lesson_status({{"1", passed()}, {"2.ranks1", wrong()}, {"2.ranks3", wrong()}});
  const nlohmann::json report = nlohmann::json::parse(report_json({some}));
  const nlohmann::json expected = {
      {"lessons",
       {{{"id", "05"},
         {"name", "ring_attention"},
         {"status", "failed"},
         {"points", 20},
         {"max_points", 100},
         {"files", {"lessons/05_ring_attention/ring_attention.cpp"}},
         {"tasks",
          {{{"id", "1"},
            {"name", "whose block is it"},
            {"status", "passed"},
            {"points", 20},
            {"max_points", 20},
            {"diagnosis", nullptr}},
           {{"id", "2"},
            {"name", "ring attention"},
            {"status", "failed"},
            {"points", 0},
            {"max_points", 80},
            {"diagnosis", "looks like: only P - 1 blocks are attended to\no[0] is 1, should be 2"}}}}}}}};
  EXPECT_EQ(report, expected);
}

TEST(ReportJson, SurvivesBytesThatAreNotUtf8) {
  const LessonStatus odd = lesson_status({{"1", {Status::Failed, "it printed \xff\xfe", {}}}});
  EXPECT_TRUE(nlohmann::json::accept(report_json({odd})));
}

TEST(JudgeReport, GivesResultsByTestName) {
  const std::map<std::string, TestResult> results = judged_results(
      R"({"lesson": "05", "seed": 1, "tests": [
            {"task": "1", "ranks": 0, "hidden": false, "status": "passed", "text": "", "mistakes": []},
            {"task": "2", "ranks": 3, "hidden": false, "status": "failed",
             "text": "wrong", "mistakes": ["one_block_short"], "ending": "deadlock",
             "of_outputs": ["v_left_behind"], "fact": "truncated", "has_line": true},
            {"task": "2", "ranks": 8, "hidden": false, "status": "failed", "text": "", "mistakes": []}]})");
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results.at("1").status, Status::Passed);
  EXPECT_EQ(results.at("2.ranks3").mistakes, (std::vector<std::string>{"one_block_short"}));
  EXPECT_EQ(results.at("2.ranks3").ending, "deadlock");
  EXPECT_EQ(results.at("2.ranks3").of_outputs, (std::vector<std::string>{"v_left_behind"}));
  EXPECT_EQ(results.at("2.ranks3").fact, "truncated");
  EXPECT_TRUE(results.at("2.ranks3").has_line);
  EXPECT_EQ(results.at("2.ranks8").ending, "");  // as a judge of an older version has it
  EXPECT_EQ(results.at("2.ranks8").fact, "");
  EXPECT_FALSE(results.at("2.ranks8").has_line);
  EXPECT_THROW(judged_results("{}"), std::runtime_error);
  EXPECT_THROW(judged_results("Killed"), std::runtime_error);
}

}  // namespace

}  // namespace course::program
