#include <gtest/gtest.h>

#include <functional>

#include "course/selftest/test_steps.hpp"
#include "lessons.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace {

namespace fs = std::filesystem;

constexpr const char* solution =
    "one\n//> task 1\n//| throw course::NotImplemented(\"task 1\");\ntwo\n//< task 1\nthree\n";
constexpr const char* patch =
    "--- solution\n+++ ID\n@@ -3,3 +3,3 @@\n //| throw "
    "course::NotImplemented(\"task 1\");\n-two\n+too\n //< task 1\n";

/// A lesson in a folder of its own that is whole.
class LessonAudit : public testing::Test {
 protected:
  LessonAudit() {
    checkout_.root = temporary_.path();
    checkout_.lessons = two_lessons();
    checkout_.lessons.resize(1);
    lesson().title = lesson().part = lesson().teaches = "words";
    for (const char* file : {"safe_softmax.hpp", "README.md", "rows.svg"})
      write(lesson_folder / file, "words");
    const std::string hints = "### Hint 1\na\n### Hint 2\nb\n### Hint 3\nc\n";
    write(lesson_folder / "hints.md", "## Task 1\n" + hints + "## Task 2\n" + hints);
    write(solution_folder / "safe_softmax.cpp", solution);
    write(solution_folder / "why.md", "words");
    for (const char* file :
         {"adapter.cpp", "judge.cpp", "mutants/in_place.cpp", "variants/a.cpp", "variants/b.cpp",
          "variants/c.cpp", "combinations/no_maximum+in_place.cpp", "combinations/in_place+no_maximum.cpp"}) {
      write(tests / file, "words");
    }
    write(tests / "mutants/no_maximum.patch", patch);
  }

  LessonInfo& lesson() { return checkout_.lessons[0]; }
  void write(const fs::path& path, const std::string& text) { write_text(checkout_.root / path, text); }
  void remove(const fs::path& path) { fs::remove(checkout_.root / path); }
  std::vector<std::string> findings() { return audit(checkout_, lesson()); }

  /// Expects one finding, with these parts.
  void expect(const std::string& field, const fs::path& path, const std::string& what) {
    const std::vector<std::string> found = findings();
    ASSERT_EQ(found.size(), 1u) << testing::PrintToString(found);
    EXPECT_TRUE(found[0].starts_with("lesson 01: " + field + ": " + path.string() + ": ")) << found[0];
    EXPECT_NE(found[0].find(what), std::string::npos) << found[0];
    EXPECT_EQ(found[0].find('\n'), std::string::npos) << found[0];
  }

  const fs::path lesson_folder = "lessons/01_safe_softmax";
  const fs::path solution_folder = "solutions/01_safe_softmax";
  const fs::path tests = "tests/01_safe_softmax";
  const fs::path registry = "lessons/registry.json";

 private:
  const TemporaryFolder temporary_;
  Checkout checkout_;
};

TEST_F(LessonAudit, FindsNothingInAWholeLesson) {
  EXPECT_EQ(findings(), std::vector<std::string>{});
}

TEST_F(LessonAudit, FindsFilesThatAreMissing) {
  for (const auto& [field, path] :
       std::vector<std::pair<std::string, fs::path>>{{"contract header", lesson_folder / "safe_softmax.hpp"},
                                                     {"README", lesson_folder / "README.md"},
                                                     {"hints", lesson_folder / "hints.md"},
                                                     {"why", solution_folder / "why.md"},
                                                     {"adapter", tests / "adapter.cpp"},
                                                     {"judge", tests / "judge.cpp"}}) {
    remove(path);
    expect(field, path, "it is missing");
    write(path, field == "hints"
                    ? "## Task 1\n### Hint 1\n### Hint 2\n### Hint 3\n## Task 2\n### Hint 1\n### "
                      "Hint 2\n### Hint 3\n"
                    : "words");
  }
  remove(lesson_folder / "rows.svg");
  expect("picture", lesson_folder, "no .svg");
}

TEST_F(LessonAudit, LooksAtNothingThatAStudentEdits) {
  write(lesson_folder / "safe_softmax.cpp", "my answer");
  EXPECT_EQ(findings(), std::vector<std::string>{});
}

TEST_F(LessonAudit, CountsHintsByTask) {
  write(lesson_folder / "hints.md", "## Task 1\n### Hint 1\n### Hint 2\n### Hint 3\n");
  expect("hints", lesson_folder / "hints.md", "task 2 has 0, expected at least 3");
}

TEST_F(LessonAudit, PairsMistakesAndMutants) {
  write(tests / "mutants/unknown.cpp", "words");
  expect("mutant", tests / "mutants/unknown.cpp", "the registry has no mistake 'unknown'");
  remove(tests / "mutants/unknown.cpp");
  remove(tests / "mutants/in_place.cpp");
  expect("mutant", tests / "mutants/in_place.patch", "has no mutant");
}

TEST_F(LessonAudit, WantsAMutantOnce) {
  write(tests / "mutants/in_place.patch", patch);
  expect("mutant", tests / "mutants/in_place.patch", "it is there");
}

TEST_F(LessonAudit, TellsHowToMakeAPatchAnew) {
  write(solution_folder / "safe_softmax.cpp", "//> task 1\n//| more\nsomething else\n//< task 1\n");
  expect("mutant", tests / "mutants/no_maximum.patch",
         "diff -u --label solution --label no_maximum solutions/01_safe_softmax/safe_softmax.cpp "
         "/tmp/changed.cpp > "
         "tests/01_safe_softmax/mutants/no_maximum.patch");
}

TEST_F(LessonAudit, CountsVariantsAndCombinations) {
  remove(tests / "variants/a.cpp");
  expect("variant", tests / "variants", "there are 2, expected at least 3");
  write(tests / "variants/a.cpp", "words");
  remove(tests / "combinations/in_place+no_maximum.cpp");
  expect("combination", tests / "combinations", "there are 1, expected at least 2");
}

TEST_F(LessonAudit, KnowsTheMistakesOfACombination) {
  write(tests / "combinations/in_place+other.cpp", "words");
  expect("combination", tests / "combinations/in_place+other.cpp", "no mistake 'other'");
}

TEST_F(LessonAudit, WantsMarksInTheSolution) {
  write(solution_folder / "safe_softmax.cpp", "one\n//> task 1\ntwo\nthree\n");
  remove(tests / "mutants/no_maximum.patch");
  write(tests / "mutants/no_maximum.cpp", "words");
  EXPECT_EQ(findings().size(), 1u);
  write(solution_folder / "safe_softmax.cpp", "one\ntwo\nthree\n");
  expect("solution", solution_folder, "no file has the marks of a task");
}

TEST_F(LessonAudit, ReadsTheRegistry) {
  const LessonInfo whole = lesson();
  const auto expect_after = [&](const std::function<void(LessonInfo&)>& change, const std::string& field,
                                const std::string& what) {
    lesson() = whole;
    change(lesson());
    expect(field, registry, what);
  };
  expect_after([](LessonInfo& it) { it.title = ""; }, "title", "empty");
  expect_after([](LessonInfo& it) { it.needs = {"cray"}; }, "needs", "'cray' is not known");
  expect_after([](LessonInfo& it) { it.tasks[1].points = 0; }, "tasks: 2", "0 points");
  expect_after([](LessonInfo& it) { it.tasks[1].ranks = {2}; }, "tasks: 2", "needs lacks mpi");
  expect_after([](LessonInfo& it) { it.mistakes[1].tasks = {"4"}; }, "mistakes: in_place", "no task 4");
  expect_after([](LessonInfo& it) { it.mistakes[1].tasks = {}; }, "mistakes: in_place", "it fails no task");
  expect_after([](LessonInfo& it) { it.mistakes[1].by = "luck"; }, "mistakes: in_place", "by is 'luck'");
  expect_after([](LessonInfo& it) { it.mistakes[1].what = ""; }, "mistakes: in_place", "is empty");
  expect_after([](LessonInfo& it) { it.mistakes.push_back(it.mistakes[1]); }, "mistakes: in_place", "twice");
}

TEST(RegistryAudit, WantsIdsAndFilesOnce) {
  std::vector<LessonInfo> lessons = two_lessons();
  EXPECT_EQ(audit_registry(lessons), std::vector<std::string>{});
  lessons[1].files = lessons[0].files;
  EXPECT_EQ(audit_registry(lessons),
            std::vector<std::string>{"lesson 05: files: lessons/registry.json: lesson 01 "
                                     "has a file safe_softmax.cpp, too"});
  lessons = two_lessons();
  lessons[1].id = "01";
  EXPECT_EQ(audit_registry(lessons).size(), 1u);
}

/// The lessons of a registry in which each of them has one of these values as its role; "" is none.
std::vector<LessonInfo> read_roles(const std::vector<std::string>& roles) {
  std::string entries;
  for (const std::string& role : roles) {
    entries += std::string(entries.empty() ? "" : ", ") + R"({"id": ")" + std::to_string(entries.size()) +
               R"(", "name": "n", "title": "t", "part": "p", "teaches": "t", "needs": [], "files": [],)"
               R"( "ring": "", "tasks": [], "mistakes": [])" +
               (role.empty() ? "" : R"(, "role": )" + role) + "}";
  }
  const TemporaryFolder temporary;
  write_text(temporary.path() / "registry.json", R"({"lessons": [)" + entries + "]}");
  return read_registry(temporary.path() / "registry.json");
}

std::string role_error(const std::vector<std::string>& roles) {
  try {
    read_roles(roles);
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    return text.substr(text.find("json: ") + 6);
  }
  return "nothing was thrown";
}

TEST(RegistryRoles, FindALesson) {
  const std::vector<LessonInfo> lessons = read_roles({"", R"("ring_forward")", R"("block")"});
  EXPECT_EQ(lesson_with(lessons, Role::RingForward), &lessons[1]);
  EXPECT_EQ(lesson_with(lessons, Role::Block), &lessons[2]);
  EXPECT_EQ(lesson_with(lessons, Role::RingOverlapped), nullptr);
}

TEST(RegistryRoles, AreKnownAndGivenOnce) {
  EXPECT_EQ(role_error({R"("blok")"}),
            "lesson 0: there is no role 'blok'; there are: block, ring_forward, block_backward, "
            "ring_backward, ring_overlapped");
  EXPECT_EQ(role_error({"4"}), "(/lessons/0/role) type must be string, but is number");
  EXPECT_NE(role_error({R"("block")", R"("block")"}).find("lesson 0 has its role, too: block"),
            std::string::npos);
}

}  // namespace

}  // namespace course::program
