#include "course/drill/drill.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "course/workspace/lesson_texts.hpp"
#include "lessons.hpp"
#include "protocol/errors.hpp"
#include "runner/temporary_folder.hpp"
#include "skeleton/skeleton.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace {

namespace fs = std::filesystem;

const Checkout& this_checkout() {
  static const Checkout checkout{COURSE_SOURCE_DIR,
                                 read_registry(fs::path(COURSE_SOURCE_DIR) / "lessons" / "registry.json")};
  return checkout;
}

TEST(Contract, IsTheCommentAndTheDeclaration) {
  const std::string header =
      "#include <span>\n\n/// Task 1. One.\nint one();\n\n/// Task 10. Ten (x).\n/// More.\n"
      "std::vector<int> ten(int x,\n                     int y);\n";
  const std::optional<Contract> ten = parse_contract(header, "10");
  ASSERT_TRUE(ten);
  EXPECT_EQ(ten->text,
            "/// Task 10. Ten (x).\n/// More.\nstd::vector<int> ten(int x,\n                     int y);\n");
  EXPECT_EQ(ten->function, "ten");
  EXPECT_EQ(parse_contract(header, "1")->function, "one");
  EXPECT_FALSE(parse_contract(header, "2"));
  EXPECT_FALSE(parse_contract("/// Task 2. Cut off", "2"));
}

TEST(Drill, OfEveryTaskOfEveryLessonShowsThatTaskAlone) {
  const Checkout& checkout = this_checkout();
  if (checkout.is_handout()) GTEST_SKIP() << "a handout has no solutions to make a drill of";
  for (const LessonInfo& lesson : checkout.lessons) {
    for (const TaskInfo& task : lesson.tasks) {
      SCOPED_TRACE(lesson.id + "." + task.id);
      std::string shown, neighbours;
      for (const DrillFile& file : drill_files(checkout, lesson, task.id, false)) {
        shown += file.text;
        neighbours += file.neighbours;
      }
      EXPECT_NE(shown.find("NotImplemented(\"task " + task.id + ","), std::string::npos);
      EXPECT_EQ(std::count(shown.begin(), shown.end(), '{'), std::count(shown.begin(), shown.end(), '}'));
      EXPECT_EQ(neighbours.find("NotImplemented("), std::string::npos);
      for (const TaskInfo& other : lesson.tasks) {
        const std::vector<Contract> contracts = contracts_of(checkout, lesson, other.id);
        EXPECT_FALSE(contracts.empty()) << other.id;
        for (const auto& [text, function] : contracts) {
          EXPECT_EQ(definition_line(shown, function).has_value(), other.id == task.id) << function;
          EXPECT_EQ(definition_line(neighbours, function).has_value(), other.id != task.id) << function;
          EXPECT_NE(shown.find(function), std::string::npos) << "it says what can be called";
        }
      }
    }
  }
}

TEST(Drill, StartsFromMyOwnAnswerWhereThereIsNoSolution) {
  const TemporaryFolder temporary;
  const Checkout checkout{temporary.path(), two_lessons()};
  const fs::path folder = temporary.path() / "lessons" / "01_safe_softmax";
  write_text(folder / "safe_softmax.hpp",
             "/// Task 1. P.\nvoid softmax(int x);\n/// Task 2. L.\nint lse(int x);\n");
  write_text(
      folder / "safe_softmax.cpp",
      "int helper() { return 1; }\n\n// how I did it\nvoid softmax(int x) { helper(); }\n\nint lse(int x) { "
      "return 2; }\n");
  EXPECT_THROW(drill_files(checkout, checkout.lessons[0], "2", false), Unavailable);
  const std::vector<DrillFile> files = drill_files(checkout, checkout.lessons[0], "2", true);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].text,
            "// softmax is written elsewhere and can be called.\n\n#include \"lesson/not_implemented.hpp\"\n"
            "int helper() { return 1; }\n\nint lse(int x) {\n  throw course::NotImplemented(\"task 2, "
            "logsumexp\");\n}\n");
  EXPECT_TRUE(files[0].neighbours.ends_with(
      "\nint helper() { return 1; }\n\n// how I did it\nvoid softmax(int x) { helper(); }\n\n"))
      << files[0].neighbours;
}

TEST(Drill, IsOfTheEasiestRoutineThatIsNotDoneWhereNothingIsPassed) {
  const Checkout& checkout = this_checkout();
  std::vector<std::string> rehearsed;
  for (const LessonInfo& lesson : checkout.lessons) {
    for (const TaskInfo& task : lesson.tasks) {
      if (task.rehearsal == 0) continue;
      rehearsed.resize(std::max(rehearsed.size(), static_cast<std::size_t>(task.rehearsal)));
      std::string& place = rehearsed[static_cast<std::size_t>(task.rehearsal - 1)];
      EXPECT_EQ(place, "") << "two tasks have one place";
      place = lesson.id + "." + task.id;
    }
  }
  if (!checkout.is_handout()) {
    EXPECT_EQ(std::ranges::count(rehearsed, ""), 0) << "a place is left out";
  }
  const TemporaryFolder temporary;
  Checkout none{temporary.path(), two_lessons()};
  for (const LessonInfo& lesson : none.lessons)
    write_text(none.root / "tests" / lesson.folder() / "judge.cpp", "");
  none.lessons[1].needs = {};  // a machine without mpirun will do
  EXPECT_EQ(drill_to_begin(none, ""), "01.1") << "without a place the first";
  none.lessons[1].tasks[0].rehearsal = 2;
  none.lessons[1].tasks[1].rehearsal = 1;
  EXPECT_EQ(drill_to_begin(none, ""), "05.2");
  EXPECT_EQ(drill_to_begin(none, "01"), "01.1");
  remember_drill(none, {"05", "2", "2025-01-31 10:00:00", 20, 1, false});
  EXPECT_EQ(drill_to_begin(none, ""), "05.2") << "given up is not done";
  remember_drill(none, {"05", "2", "2025-01-31 10:00:00", 20, 1, true});
  EXPECT_EQ(drill_to_begin(none, ""), "05.1");
  remember_drill(none, {"05", "1", "2025-01-31 10:00:00", 20, 1, true});
  EXPECT_EQ(drill_to_begin(none, ""), "01.1");
}

TEST(Drill, KeepsWhatWasWrittenBefore) {
  const TemporaryFolder temporary;
  const Checkout checkout{temporary.path(), two_lessons()};
  const LessonInfo& lesson = checkout.lessons[0];
  EXPECT_TRUE(write_drill(checkout, lesson, {{"safe_softmax.cpp", "one", "solved"}}).empty());
  EXPECT_TRUE(write_drill(checkout, lesson, {{"safe_softmax.cpp", "one", "solved"}}).empty());
  const fs::path kept = write_drill(checkout, lesson, {{"safe_softmax.cpp", "two", "solved"}});
  EXPECT_EQ(read_text(temporary.path() / kept / "safe_softmax.cpp"), "one");
  EXPECT_EQ(read_text(temporary.path() / drill_folder(lesson) / "safe_softmax.cpp"), "two");
  EXPECT_EQ(read_text(temporary.path() / drill_folder(lesson) / "neighbours" / "safe_softmax.cpp"), "solved");
}

TEST(DrillHistory, RemembersTimesAndFindsTheBest) {
  const TemporaryFolder temporary;
  const Checkout checkout{temporary.path(), two_lessons()};
  EXPECT_TRUE(read_drills(checkout).empty());
  remember_drill(checkout, {"05", "2", "2025-01-31 10:00:00", 300.5, 4, true});
  remember_drill(checkout, {"05", "2", "2025-02-01 10:00:00", 200, 2, true});
  remember_drill(checkout, {"05", "2", "2025-02-02 10:00:00", 20, 1, false});
  remember_drill(checkout, {"05", "1", "2025-02-02 11:00:00", 20, 0, false});
  const std::vector<DrillRecord> all = read_drills(checkout);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_DOUBLE_EQ(all[0].seconds, 300.5);
  EXPECT_EQ(drills_of(all, "05", "").size(), 4u);
  EXPECT_EQ(drills_of(all, "05", "2").size(), 3u);
  EXPECT_EQ(drills_of(all, "01", "").size(), 0u);
  const std::vector<std::string> rows = lines_of(drill_table(all, checkout.lessons));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(
      rows[1],
      "05.1   whose block is it                 1      0  -             given up      2025-02-02 11:00:00");
  EXPECT_EQ(
      rows[2],
      "05.2   ring attention                    3      2  3 min 20 s    given up      2025-02-02 10:00:00");
  EXPECT_TRUE(drill_list(drills_of(all, "05", "2")).ends_with("best: 3 min 20 s\n"));
  EXPECT_EQ(drill_list(drills_of(all, "05", "1")).find("best"), std::string::npos);
}

}  // namespace

}  // namespace course::program
