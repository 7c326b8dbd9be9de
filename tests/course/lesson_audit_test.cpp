#include <gtest/gtest.h>

#include <functional>

#include "../common/complaint.hpp"
#include "course/selftest/new_lesson.hpp"
#include "course/selftest/test_steps.hpp"
#include "lessons.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace {

namespace fs = std::filesystem;

constexpr const char* solution =
    "one\n//> task 1\n//| throw course::NotImplemented(\"task 1\");\ntwo\n//< task 1\nthree\n";
const std::string no_maximum = "## no_maximum\n\n```diff\n-two\n+too\n```\n\n";
const std::string in_place = "## in_place\n\n```cpp\nwords\n```\n\n";
const std::string combinations =
    "## no_maximum + in_place\n\n```diff\n-one\n```\n\n## in_place + no_maximum\n\n```diff\n-words\n```\n";
const std::string variants = "## a\n```cpp\n```\n## b\n```cpp\n```\n";
const std::string one_more_variant = "## c\n```diff\n-three\n+four\n```\n";

const std::string row_of_no_maximum = "| NaN | the maximum is not subtracted <!-- no_maximum --> |\n";
const std::string row_of_in_place = "| inf | the input is written to <!-- in_place --> |\n";

const std::string judge_text = "{\"1\", {\"no_maximum\", \"in_place\"}}, {\"2\"}";

const std::string title = "# 01 · Safe softmax\n";

std::string readme(const std::string& rows) {
  std::string text = title;
  for (const std::string section : readme_sections) {
    text += "## " + section + "\n\nwords\n";
    if (section == mistakes_section) text += "\n| What you see | What it is |\n| --- | --- |\n" + rows;
  }
  return text;
}

std::string readme() {
  return readme(row_of_no_maximum + row_of_in_place);
}

/// A lesson in a folder of its own that is whole.
class LessonAudit : public testing::Test {
 protected:
  LessonAudit() {
    checkout_.root = temporary_.path();
    checkout_.lessons = two_lessons();
    checkout_.lessons.resize(1);
    lesson().title = lesson().part = lesson().teaches = "words";
    for (const char* file : {"safe_softmax.hpp", "rows.svg"}) write(lesson_folder / file, "words");
    write(lesson_folder / "README.md", readme());
    const std::string hints = "### Hint 1\na\n### Hint 2\nb\n### Hint 3\nc\n";
    write(lesson_folder / "hints.md", "## Task 1\n" + hints + "## Task 2\n" + hints);
    write(solution_folder / "safe_softmax.cpp", solution);
    write(solution_folder / "why.md", "words");
    write(tests / "adapter.cpp", "words");
    write(tests / "judge.cpp", judge_text);
    write(mistakes_file, no_maximum + in_place + combinations);
    write(variants_file, variants + one_more_variant);
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
  const fs::path mistakes_file = tests / "mistakes.md";
  const fs::path variants_file = tests / "variants.md";
  const fs::path registry = "lessons/registry.json";

 private:
  const TemporaryFolder temporary_;
  Checkout checkout_;
};

TEST_F(LessonAudit, FindsNothingInAWholeLesson) {
  EXPECT_EQ(findings(), std::vector<std::string>{});
}

TEST_F(LessonAudit, FindsWhatTheJudgeWouldRefuse) {
  write(tests / "judge.cpp", "{\"1\", {\"no_maximum\", \"in_place\"}}");
  expect("judge", tests / "judge.cpp", "it has no task 2, which the registry has");
  for (MistakeInfo& mistake : lesson().mistakes) mistake.by = "answer";
  write(tests / "judge.cpp", "{\"1\", {\"in_place\"}}, {\"2\"}");
  expect("mistake no_maximum", mistakes_file, "no judge computes it");
  write("common/judge/softmax/row_softmax.cpp", "{\"no_maximum\", {}}");
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
    const std::string task = "### Hint 1\n### Hint 2\n### Hint 3\n";
    const std::string hints = "## Task 1\n" + task + "## Task 2\n" + task;
    write(path, field == "hints"    ? hints
                : field == "README" ? readme()
                : field == "judge"  ? judge_text
                                    : "words");
  }
  remove(lesson_folder / "rows.svg");
  expect("picture", lesson_folder, "no .svg");
}

TEST_F(LessonAudit, LooksAtNothingThatAStudentEdits) {
  write(lesson_folder / "safe_softmax.cpp", "my answer");
  EXPECT_EQ(findings(), std::vector<std::string>{});
}

TEST_F(LessonAudit, WantsEverySectionOfTheReadme) {
  const fs::path path = lesson_folder / "README.md";
  const std::string from_contract = readme().substr(readme().find("## The contract"));
  write(path, title + from_contract);
  expect("README", path, "it has no section 'The derivation'");
  write(path, readme() + "## The derivation\n");
  EXPECT_EQ(findings(), std::vector<std::string>{});
  write(path, title + "## The derivation\n\n" + from_contract);
  expect("README", path, "the section 'The derivation' is empty");
  write(path, "# safe_softmax\n" + readme().substr(title.size()));
  expect("README", path, "it does not begin with the title '# 01 · ...'");
}

TEST_F(LessonAudit, WantsARowForEveryMistake) {
  const fs::path path = lesson_folder / "README.md";
  write(path, readme(row_of_no_maximum));
  expect("README", path, "no row of 'Common mistakes' explains in_place");
  write(path, readme(row_of_no_maximum + "| | <!-- in_place --> |\n"));
  ASSERT_EQ(findings().size(), 2u);
  EXPECT_TRUE(findings()[0].ends_with("line 21: a cell of the row is empty")) << findings()[0];
  EXPECT_TRUE(findings()[1].ends_with("no row of 'Common mistakes' explains in_place")) << findings()[1];
  write(path, readme(row_of_no_maximum + row_of_in_place + "| NaN | <!-- --> |\n"));
  expect("README", path, "line 22: a cell of the row is empty");
  write(path, readme("| inf | one of two <!-- no_maximum in_place --> |\n| slow | no mistake of ours |\n"));
  EXPECT_EQ(findings(), std::vector<std::string>{});
  write(path, readme() + row_of_in_place);  // in another section
  EXPECT_EQ(findings(), std::vector<std::string>{});
  write(path, readme(row_of_no_maximum + row_of_in_place + "| inf | words <!-- in_plaice --> |\n"));
  expect("README", path, "line 22: 'in_plaice' is no known mistake of this lesson");
}

TEST_F(LessonAudit, KnowsTheKindsOfFacts) {
  const fs::path path = lesson_folder / "README.md";
  write("common/protocol/fact_kinds.hpp",
        "inline constexpr const char* fact_collective = \"collective\";\n"
        "inline constexpr const char* mark_head = \"head\";\n");
  const auto with = [&](const std::string& kinds) {
    write(path, readme(row_of_no_maximum + row_of_in_place + kinds));
  };
  const std::string collective = "| sent | by all <!-- fact:collective --> |\n";
  with(collective);
  EXPECT_EQ(findings(), std::vector<std::string>{});
  with("| sent | by a head <!-- fact:head --> |\n");
  expect("README", path, "line 22: 'head' is no kind of fact in common/protocol/fact_kinds.hpp");
  with(collective + collective);
  expect("README", path,
         "line 23: a row before this one is on the fact 'collective', and only the first is shown");
}

TEST_F(LessonAudit, TakesTheRowsOfAPageThatTheSectionLinksTo) {
  const std::string shared = "docs/kernels.md", table = "## Common mistakes\n\n| a | b |\n| --- | --- |\n";
  const std::string linked = row_of_no_maximum + "\nMore: [kernels](../../docs/kernels.md#common-mistakes)\n";
  const fs::path path = lesson_folder / "README.md";
  write(path, readme(linked));
  expect("README", path, "no row of 'Common mistakes' explains in_place");
  write(shared, table + row_of_in_place + "| hangs | another lesson's <!-- divergent --> |\n");
  EXPECT_EQ(findings(), std::vector<std::string>{});
  write(shared, table + row_of_in_place + "| | |\n");
  expect("README", shared, "line 6: a cell of the row is empty");
  write(path, readme(row_of_no_maximum) + linked);  // in another section
  expect("README", path, "no row of 'Common mistakes' explains in_place");
}

TEST_F(LessonAudit, CountsHintsByTask) {
  write(lesson_folder / "hints.md", "## Task 1\n### Hint 1\n### Hint 2\n### Hint 3\n");
  expect("hints", lesson_folder / "hints.md", "task 2 has 0, expected at least 3");
}

TEST_F(LessonAudit, WantsHintsThatATerminalCanShow) {
  const std::string hints = "### Hint 1\na\n### Hint 2\nb\n### Hint 3\n";
  write(lesson_folder / "hints.md", "## Task 1\n" + hints + "c\n## Task 2\n" + hints + "$n^2$\n");
  expect("hints", lesson_folder / "hints.md",
         "task 2 has a formula in LaTeX, which ./course hint prints as it stands");
}

TEST_F(LessonAudit, WantsAFormOfEveryMistake) {
  write(mistakes_file, no_maximum + "## in_place\n\n## third + no_maximum\n" + combinations);
  const std::vector<std::string> found = findings();
  const std::string begin = "lesson 01: mistake: " + mistakes_file.string() + ": ";
  ASSERT_EQ(found.size(), 3u) << testing::PrintToString(found);
  EXPECT_EQ(found[0], begin + "in_place has no form");
  EXPECT_EQ(found[1], begin + "third+no_maximum: there is no section third");
  EXPECT_EQ(found[2], begin + "in_place+no_maximum: line 8: in_place has no form 1");
}

TEST_F(LessonAudit, SaysWhichEditNoLongerApplies) {
  const std::string twice = "## in_place\n\n```cpp\nwords\n```\n\n```diff\n-one\n```\n\n";
  write(mistakes_file, no_maximum + twice + combinations);
  write(solution_folder / "safe_softmax.cpp", std::string(solution) + "one\n");
  const std::vector<std::string> found = findings();
  ASSERT_EQ(found.size(), 2u) << testing::PrintToString(found);
  EXPECT_EQ(found[0], "lesson 01: mistake: " + mistakes_file.string() +
                          ": in_place: line 14: the solution has these lines 2 times, expected once: one");
}

TEST_F(LessonAudit, ReadsTheFileOfMistakes) {
  write(mistakes_file, "## no_maximum\n\n```diff\n-two\n+too\n");
  EXPECT_NE(findings().at(0).find(mistakes_file.string() + ": line 3: the fence is not closed"),
            std::string::npos);
}

TEST_F(LessonAudit, WantsAFormOfEveryVariant) {
  write(variants_file, variants + one_more_variant + "## d\n");
  expect("variant", variants_file, "d has no form");
}

TEST_F(LessonAudit, CountsVariantsAndCombinations) {
  write(variants_file, variants);
  expect("variants", variants_file, "there are 2, expected at least 3");
  write(variants_file, variants + one_more_variant);
  write(mistakes_file, no_maximum + in_place + "## in_place + no_maximum\n\n```diff\n-words\n```\n");
  expect("combinations", mistakes_file, "there are 1, expected at least 2");
}

TEST_F(LessonAudit, WantsMarksInTheSolution) {
  write(solution_folder / "safe_softmax.cpp", "one\n//> task 1\ntwo\nthree\n");
  EXPECT_EQ(findings().size(), 1u);
  write(solution_folder / "safe_softmax.cpp", "one\ntwo\nthree\n");
  expect("solution", solution_folder, "no file has the marks of a task");
}

TEST_F(LessonAudit, FindsWhatANewLessonLeavesBehind) {
  const std::string second = "//> task 3\n//| a thought\nmore\n//< task 3\n";
  const fs::path path = solution_folder / "safe_softmax.cpp";
  write(path, solution + second);
  expect("solution, line 7", path, "there is no task 3");
  write(path, "one\ntwo\nthree\n//> task 1\n  throw course::NotImplemented(\"task 1\");\n//< task 1\n");
  expect("solution", path, "line 5: nothing is solved here yet");
  write(path, solution);
  write(solution_folder / "why.md", "# Why the solution is as it is\n\n");
  expect("why", solution_folder / "why.md", "it has headings alone");
  write(solution_folder / "why.md", "words");
  const fs::path answer = "tests/ledger/answers/01_safe_softmax/right.cpp";
  write(answer, "one\ntwo\n");
  EXPECT_EQ(findings(), std::vector<std::string>{});
  write(answer, solution);
  expect("answer", answer, "it has marks");
}

TEST_F(LessonAudit, WantsARingThatTheAdapterBinds) {
  lesson().ring = "ring";
  write(tests / "adapter.cpp", "{{\"ring\", ring}}");
  EXPECT_EQ(findings(), std::vector<std::string>{});
  lesson().ring_backward = "ring_backward";
  expect("ring_backward", registry, "binds no function 'ring_backward'");
  lesson().ring_backward = "";
  write(tests / "adapter.cpp", "{{\"a_ring\", ring}}");
  expect("ring", registry, (tests / "adapter.cpp").string() + " binds no function 'ring'");
}

TEST_F(LessonAudit, ReadsTheRegistry) {
  const LessonInfo whole = lesson();
  const auto expect_after = [&](const std::function<void(LessonInfo&)>& change, const std::string& field,
                                const std::string& what) {
    lesson() = whole;
    change(lesson());
    expect(field, field.starts_with("mistake") ? mistakes_file : registry, what);
  };
  expect_after([](LessonInfo& it) { it.title = ""; }, "title", "empty");
  expect_after([](LessonInfo& it) { it.needs = {"cray"}; }, "needs", "'cray' is not known");
  expect_after([](LessonInfo& it) { it.tasks[1].points = 0; }, "tasks: 2", "0 points");
  expect_after([](LessonInfo& it) { it.tasks[1].ranks = {2}; }, "tasks: 2", "needs lacks mpi");
  expect_after([](LessonInfo& it) { it.mistakes[1].tasks = {"4"}; }, "mistake in_place", "no task 4");
  expect_after([](LessonInfo& it) { it.mistakes[1].tasks = {}; }, "mistake in_place", "it fails no task");
  expect_after([](LessonInfo& it) { it.mistakes[1].by = "luck"; }, "mistake in_place", "by is 'luck'");
  expect_after([](LessonInfo& it) { it.mistakes[1].what = ""; }, "mistake in_place", "is empty");
  expect_after([](LessonInfo& it) { it.mistakes.push_back(it.mistakes[1]); }, "mistake in_place", "twice");
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
               R"( "ring": "", "tasks": [])" +
               (role.empty() ? "" : R"(, "role": )" + role) + "}";
  }
  const TemporaryFolder temporary;
  write_text(temporary.path() / "registry.json", R"({"lessons": [)" + entries + "]}");
  return read_registry(temporary.path() / "registry.json");
}

std::string role_error(const std::vector<std::string>& roles) {
  const std::string text = complaint_of<std::runtime_error>([&] { read_roles(roles); });
  return text.substr(text.find("json: ") + 6);
}

TEST(RegistryRoles, FindALesson) {
  const std::vector<LessonInfo> lessons = read_roles({"", R"("ring_forward")", R"("block")"});
  EXPECT_EQ(lesson_with(lessons, Role::RingForward), &lessons[1]);
  EXPECT_EQ(lesson_with(lessons, Role::Block), &lessons[2]);
  EXPECT_EQ(lesson_with(lessons, Role::RingOverlapped), nullptr);
}

TEST(RegistryRoles, AreKnownAndGivenOnce) {
  EXPECT_EQ(
      role_error({R"("blok")"}),
      "there is no role 'blok'; there are: softmax, block, ring_forward, block_backward, ring_backward, "
      "ring_overlapped, ring_layout, block_cuda, ring_cuda, ring_grouped, ring_packed, head_exchange, grids, "
      "block_registers, layer, training");
  EXPECT_EQ(role_error({"4"}), "(/lessons/0/role) type must be string, but is number");
  EXPECT_NE(role_error({R"("block")", R"("block")"}).find("lesson 0 has its role, too: block"),
            std::string::npos);
}

}  // namespace

}  // namespace course::program
