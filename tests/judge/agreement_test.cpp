#include <gtest/gtest.h>

#include <stdexcept>

#include "../common/complaint.hpp"
#include "judge/task.hpp"

namespace course {

namespace {

LessonInfo two_tasks() {
  LessonInfo lesson;
  lesson.id = "09";
  lesson.tasks = {{"1", "first", 50, {}}, {"2", "second", 50, {1, 3}}};
  lesson.mistakes = {{"off_by_one", {"1"}, "answer", "", ""}};
  return lesson;
}

Task task(const std::string& id, const std::string& mistake) {
  Task made;
  made.id = id;
  made.mistakes = {{mistake, {}}};
  return made;
}

std::string refused(const std::vector<Task>& tasks) {
  return complaint_of<std::invalid_argument>([&] { require_agreement({"09", tasks}, two_tasks()); });
}

TEST(Agreement, IsOfTasksAndMistakes) {
  EXPECT_EQ(refused({task("1", "off_by_one"), task("2", "off_by_one")}), "nothing was thrown");
  EXPECT_EQ(refused({task("1", "off_by_one")}),
            "the judge of lesson 09 has no task 2, which the registry has");
  EXPECT_EQ(refused({task("1", "off_by_one"), task("2", "off_by_one"), task("3", "off_by_one")}),
            "there is no task of lesson 09 called 3; there are: 1, 2");
  EXPECT_EQ(refused({task("1", "off_by_two"), task("2", "off_by_one")}),
            "there is no mistake of lesson 09 called off_by_two; there are: off_by_one");
  Task nothing = task("1", "off_by_one");
  nothing.mistakes.clear();
  EXPECT_EQ(
      refused({nothing, nothing}),
      "mistakes.md of lesson 09 has off_by_one, told by its answer, which the judge computes for none of its "
      "tasks");
}

TEST(Agreement, LeavesAFamilysTaskTheMistakesThatFailIt) {
  LessonJudge judge{"09", {task("1", "off_by_one"), task("1", "off_by_two"), task("2", "off_by_one")}};
  keep_known_mistakes(judge, two_tasks());
  EXPECT_EQ(judge.tasks[0].mistakes.size(), 1u);
  EXPECT_EQ(judge.tasks[1].mistakes.size(), 0u) << "a section that was deleted";
  EXPECT_EQ(judge.tasks[2].mistakes.size(), 1u);
  for (Task& own : judge.tasks) own.of_family = true;
  keep_known_mistakes(judge, two_tasks());
  EXPECT_EQ(judge.tasks[0].mistakes.size(), 1u);
  EXPECT_EQ(judge.tasks[1].mistakes.size(), 0u);
  EXPECT_EQ(judge.tasks[2].mistakes.size(), 0u);
}

}  // namespace

}  // namespace course
