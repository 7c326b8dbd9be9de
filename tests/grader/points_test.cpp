#include <gtest/gtest.h>

#include "grader/grade_command.hpp"
#include "protocol/errors.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program::grader {
namespace {

std::vector<LessonInfo> lessons_with(const std::string& text) {
  const TemporaryFolder temporary;
  write_text(temporary.path() / "points.json", text);
  LessonInfo lesson;
  lesson.id = "05";
  lesson.tasks = {{"1", "owner", 20, {}}, {"2", "ring", 80, {1, 2}}};
  std::vector<LessonInfo> lessons{lesson};
  override_points(lessons, temporary.path() / "points.json");
  return lessons;
}

TEST(OverridePoints, SetsWhatItNames) {
  const std::vector<LessonInfo> lessons = lessons_with(R"({"05": {"2": 5}})");
  EXPECT_EQ(lessons[0].tasks[0].points, 20);
  EXPECT_EQ(lessons[0].tasks[1].points, 5);
  EXPECT_EQ(lessons[0].max_points(), 25);
}

TEST(OverridePoints, RefusesWhatIsNotThereOrNoNumber) {
  for (const char* text :
       {"", "[]", "3", R"({"06": {"1": 5}})", R"({"05": {"3": 5}})", R"({"05": 5})", R"({"05": {"1": -1}})",
        R"({"05": {"1": "many"}})", R"({"05": {"1": 1.5}})", R"({"05": {"1": 99999999999}})"}) {
    EXPECT_THROW(lessons_with(text), UsageError) << text;
  }
}

// ---- where results lie ----

TEST(ResultsFolder, LiesBesideTheSubmissionsHoweverTheyAreNamed) {
  const std::filesystem::path here = std::filesystem::current_path();
  GradeOptions options;
  for (const char* typed : {"handed-in", "handed-in/", "./handed-in//", "handed-in/.", "handed-in/ada/.."}) {
    options.submissions = typed;
    EXPECT_EQ(results_folder(options), here / "handed-in.grades") << typed;
  }
  for (const char* typed : {".", "./"}) {
    options.submissions = typed;
    EXPECT_EQ(results_folder(options), here.string() + ".grades") << typed;
  }
}

// ---- what makes a grade stale ----

TEST(Terms, ChangeWithTheSourcesThatDecide) {
  const TemporaryFolder temporary;
  const Checkout checkout{temporary.path(), {}};
  const auto judges = [&] { return terms_of(checkout, LessonInfo{}, {}).judges; };
  std::string before = judges();
  for (const char* source :
       {"common/grader/grade_command.cpp", "common/grader/submission.cpp", "common/audit/allowed_symbols.txt",
        "common/grader/a_new_source.cpp", "common/skeleton/skeleton.cpp", "common/runner/confinement.cpp",
        "common/course/workspace/lesson_status.cpp", "common/audit/answer_includes.cpp"}) {
    ASSERT_TRUE(std::string(source).find("new") != std::string::npos ||
                std::filesystem::exists(std::filesystem::path(COURSE_SOURCE_DIR) / source));
    write_text(temporary.path() / source, "changed");
    EXPECT_NE(judges(), before) << source;
    before = judges();
  }
}

TEST(Terms, StayWhereGradesAreOnlyShownAnotherWay) {
  const TemporaryFolder temporary;
  const Checkout checkout{temporary.path(), {}};
  const std::string before = terms_of(checkout, LessonInfo{}, {}).judges;
  for (const char* source : {"common/grader/readable.cpp", "common/grader/batch.cpp",
                             "common/grader/report.hpp", "lessons/01_safe_softmax/hints.md"})
    write_text(temporary.path() / source, "changed");
  EXPECT_EQ(terms_of(checkout, LessonInfo{}, {}).judges, before);
}

}  // namespace
}  // namespace course::program::grader
