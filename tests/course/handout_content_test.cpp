#include "course/handout/handout_content.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lessons.hpp"

namespace course::program {

namespace {

TEST(HandoutContent, OfALessonIsWhatItIsBuiltAndReadFrom) {
  const std::vector<LessonInfo> lessons = two_lessons();
  for (const char* file :
       {"lessons/05_ring_attention/README.md", "lessons/05_ring_attention/ring_attention.hpp",
        "lessons/05_ring_attention/pictures/ring.svg", "tests/05_ring_attention/judge.cpp",
        "tests/05_ring_attention/mistakes.md", "tests/mistakes.md", "tests/CMakeLists.txt",
        "tests/course/text_test.cpp", "common/reference/reference.cpp",
        "common/judge/softmax/row_softmax.hpp", "docs/cluster.md", "docs/interview/ring.md",
        ".vscode/tasks.json", ".devcontainer/Dockerfile", "README.md", "course"}) {
    EXPECT_TRUE(goes_along(file, lessons)) << file;
  }
}

/// What lessons 05 to 14 ask for.
TEST(HandoutContent, HasTheRingsPlumbingWhereALessonIsGivenIt) {
  std::vector<LessonInfo> lessons = two_lessons();
  EXPECT_FALSE(goes_along("common/ring/hop.hpp", lessons));
  lessons.back().id = "15";
  EXPECT_TRUE(goes_along("common/ring/hop.hpp", lessons));
}

TEST(HandoutContent, IsNoSolutionNorWhatIsMadeFromOne) {
  const std::vector<LessonInfo> lessons = two_lessons();
  for (const char* file :
       {"solutions/05_ring_attention/ring_attention.cpp", "solutions/05_ring_attention/why.md",
        "tests/05_ring_attention/variants.md", "tests/05_ring_attention/answers/packed.cpp",
        "tests/05_ring_attention/hidden.cpp", "common/judge/attention/hidden/block_forward.cpp",
        "common/judge/softmax/hidden/row_softmax.cpp", "tests/05_ring_attention/answers/judge.cpp",
        "tests/corpus/lesson05/right/packed.cpp", "tests/corpus/README.md"}) {
    EXPECT_FALSE(goes_along(file, lessons)) << file;
  }
}

TEST(HandoutContent, IsNeitherWhatAStudentEditsNorWhatIsNotKnown) {
  const std::vector<LessonInfo> lessons = two_lessons();
  for (const char* file : {"lessons/05_ring_attention/ring_attention.cpp", "lessons/registry.json",
                           "lessons/03_ring_softmax/README.md", "tests/03_ring_softmax/judge.cpp",
                           "tests/grader/submissions.cpp", "tests/answers.txt", "docs/instructor.md",
                           "docs/adding-a-lesson.md", "docs/contributing.md", ".ci/run", "notes/exam.md"}) {
    EXPECT_FALSE(goes_along(file, lessons)) << file;
  }
}

TEST(HandoutContent, HasARegistryOfItsLessonsAlone) {
  const std::string whole =
      R"({"version": 1, "lessons": [{"id": "01", "b": [], "a": 2}, {"id": "05"}, {"id": "06"}]})";
  const std::vector<LessonInfo> lessons = two_lessons();
  EXPECT_EQ(nlohmann::ordered_json::parse(registry_text(whole, {lessons[0]})).dump(),
            R"({"version":1,"lessons":[{"id":"01","b":[],"a":2}]})");
  EXPECT_EQ(nlohmann::ordered_json::parse(registry_text(whole, lessons)).at("lessons").size(), 2);
}

}  // namespace

}  // namespace course::program
