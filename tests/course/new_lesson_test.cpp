#include "course/selftest/new_lesson.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "course/selftest/test_steps.hpp"
#include "protocol/errors.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace {

namespace fs = std::filesystem;

/// A course of lessons 01, 05, 06 and 07.
class NewLesson : public testing::Test {
 protected:
  NewLesson() {
    const fs::path source = COURSE_SOURCE_DIR;
    checkout_.root = temporary_.path();
    for (const char* folder : {"lessons", "solutions", "tests"}) {
      fs::create_directories(checkout_.root / folder);
      for (const char* lesson :
           {"01_safe_softmax", "05_ring_attention", "06_attention_backward", "07_ring_backward"})
        fs::copy(source / folder / lesson, checkout_.root / folder / lesson);
    }
    fs::copy(source / "lessons/registry.json", checkout_.root / "lessons");
    fs::copy(source / "tests/mistakes.md", checkout_.root / "tests");
    read();
  }

  void read() { checkout_.lessons = read_registry(checkout_.root / "lessons/registry.json"); }
  std::string text(const fs::path& path) const { return read_text(checkout_.root / path); }

  const TemporaryFolder temporary_;
  Checkout checkout_;
};

TEST_F(NewLesson, IsLikeTheFamilysUnderItsOwnName) {
  const std::size_t lessons = checkout_.lessons.size();
  ASSERT_EQ(new_lesson(checkout_, "reversed_ring", "ring_forward"), succeeded);
  read();
  ASSERT_EQ(checkout_.lessons.size(), lessons + 1);
  const LessonInfo& lesson = checkout_.lessons.back();
  const LessonInfo& model = find_lesson(checkout_.lessons, "05");
  EXPECT_EQ(lesson.name, "reversed_ring");
  EXPECT_EQ(lesson.ring, "reversed_ring");
  EXPECT_EQ(lesson.files, std::vector<std::string>{"reversed_ring.cpp"});
  EXPECT_EQ(lesson.tasks.size(), model.tasks.size());
  EXPECT_FALSE(lesson.role.has_value());
  ASSERT_EQ(lesson.mistakes.size(), model.mistakes.size());
  EXPECT_EQ(lesson.mistakes[0].what, model.mistakes[0].what);
  const std::string judge = text(fs::path("tests") / lesson.folder() / "judge.cpp");
  EXPECT_NE(judge.find("\"" + lesson.id + "\""), std::string::npos);
  EXPECT_EQ(judge.find("\"05\""), std::string::npos);
  const std::string solution = text(Checkout::solution_file(lesson, "reversed_ring.cpp"));
  EXPECT_NE(solution.find("\n  //| throw course::NotImplemented(\"task 2, reversed_ring\");\n"),
            std::string::npos);
  EXPECT_NE(solution.find("\n  throw course::NotImplemented(\"task 2, reversed_ring\");\n  //< task 2\n"),
            std::string::npos);
  EXPECT_EQ(solution.find("MPI_Send"), std::string::npos);
  EXPECT_NE(solution.find("namespace " + lesson.tag() + " {"), std::string::npos);
  EXPECT_EQ(text(Checkout::student_file(lesson, "reversed_ring.cpp")).find("//|"), std::string::npos);
}

TEST_F(NewLesson, LeavesAFamilyOfJudgesItsName) {
  for (const std::string part : {"block", "ring"}) {
    const std::string family = part + "_backward";
    const std::string name = "causal_" + family;
    new_lesson(checkout_, name, family);
    read();
    const LessonInfo& lesson = checkout_.lessons.back();
    const std::string judge = text(fs::path("tests") / lesson.folder() / "judge.cpp");
    EXPECT_NE(judge.find("#include \"judge/attention/" + part + "/" + family + ".hpp\""), std::string::npos)
        << judge;
    EXPECT_NE(judge.find(" " + family + "::"), std::string::npos) << judge;
    const std::string solution = text(Checkout::solution_file(lesson, name + ".cpp"));
    EXPECT_NE(solution.find("#include \"" + name + ".hpp\""), std::string::npos);
  }
}

TEST_F(NewLesson, OfSoftmaxIsJudgedByItsFamily) {
  new_lesson(checkout_, "wide_softmax", "softmax");
  read();
  const fs::path tests = fs::path("tests") / checkout_.lessons.back().folder();
  for (const char* file : {"judge.cpp", "hidden.cpp"}) {
    EXPECT_NE(text(tests / file).find("#include \"judge/softmax/row_softmax.hpp\""), std::string::npos)
        << file;
    EXPECT_EQ(text(tests / file).find("safe_softmax"), std::string::npos) << file;
  }
  EXPECT_NE(text(tests / "judge.cpp").find("row_softmax::logsumexp_task(\"2\", \"logsumexp\")"),
            std::string::npos);
}

TEST_F(NewLesson, LacksWhatItsAuthorHasToWrite) {
  new_lesson(checkout_, "reversed_ring", "ring_forward");
  read();
  const LessonInfo& lesson = checkout_.lessons.back();
  const std::vector<std::string> findings = audit(checkout_, lesson);
  const auto says = [&](const std::string& what) {
    return std::ranges::any_of(findings, [&](const std::string& finding) { return finding.ends_with(what); });
  };
  for (const char* what :
       {"registry.json: it is empty", "it has no .svg", "the section 'The derivation' is empty",
        "task 1 has 0, expected at least 3", "one_block_short has no form",
        "no row of 'Common mistakes' explains one_block_short", "a cell of the row is empty",
        "nothing is solved here yet", "it has headings alone",
        "variants.md: there are 0, expected at least 3", "mistakes.md: there are 0, expected at least 2"}) {
    EXPECT_TRUE(says(what)) << what << testing::PrintToString(findings);
  }
  const std::string readme = text(Checkout::lesson_folder(lesson) / "README.md");
  EXPECT_NE(readme.find("| | <!-- one_block_short --> |\n"), std::string::npos) << readme;
}

TEST_F(NewLesson, IsNotBegunInAHandout) {
  write_text(checkout_.root / handout_file, "{}");
  EXPECT_THROW(new_lesson(checkout_, "reversed_ring", "ring_forward"), Unavailable);
}

TEST_F(NewLesson, RefusesNamesAndFamilies) {
  EXPECT_THROW(new_lesson(checkout_, "Causal ring", "ring_forward"), UsageError);
  EXPECT_THROW(new_lesson(checkout_, "ring_attention", "ring_forward"), UsageError);
  EXPECT_THROW(new_lesson(checkout_, "reversed_ring", "rings"), UsageError);
  const std::string folder = fmt::format("{:02}_reversed_ring", std::stoi(checkout_.lessons.back().id) + 1);
  EXPECT_EQ(fs::exists(checkout_.root / "lessons" / folder), false);
  fs::create_directory(checkout_.root / "tests" / folder);
  EXPECT_THROW(new_lesson(checkout_, "reversed_ring", "ring_forward"), UsageError);
  EXPECT_EQ(fs::exists(checkout_.root / "lessons" / folder), false);
}

}  // namespace

}  // namespace course::program
