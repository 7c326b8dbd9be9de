#include <gtest/gtest.h>

#include "course/build/build.hpp"
#include "lessons.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace {

NinjaOutput read(const std::vector<std::string>& lines) {
  NinjaOutput output;
  for (const std::string& line : lines) output.add(line);
  return output;
}

TEST(Configure, IsDoneAgainForOtherSettings) {
  const TemporaryFolder temporary;
  const std::filesystem::path root = std::filesystem::canonical(temporary.path()),
                              tree = root / "build" / "tree";
  write_text(
      root / "CMakeLists.txt",
      "cmake_minimum_required(VERSION 3.20)\nproject(x LANGUAGES NONE)\n"
      "set(COURSE_SEEDS 4 CACHE STRING \"\")\nfile(APPEND ${CMAKE_SOURCE_DIR}/seeds ${COURSE_SEEDS})\n");
  for (const char* seeds : {"3", "3", "200", "3"})
    configure(root, tree, {"-S", ".", "-G", "Ninja", std::string("-DCOURSE_SEEDS=") + seeds});
  EXPECT_EQ(read_text(root / "seeds"), "32003") << "configured three times";
}

TEST(NinjaOutput, CountsSteps) {
  NinjaOutput output;
  const auto count = output.add("[3/40] Building CXX object common/a.cpp.o");
  ASSERT_TRUE(count.has_value());
  EXPECT_EQ(count->done, 3);
  EXPECT_EQ(count->total, 40);
  EXPECT_FALSE(output.add("common/a.cpp:1:2: warning: [3/40] is no step here").has_value());
}

TEST(NinjaOutput, CountsNoStepBeforeThePlanIsMade) {
  NinjaOutput output;
  EXPECT_FALSE(output.add("[0/2] Re-checking globbed directories...").has_value());
  EXPECT_FALSE(output.add("[0/1] Re-running CMake...").has_value());
}

TEST(SecondsLeft, AreEstimatedFromTheFirstStepOn) {
  EXPECT_DOUBLE_EQ(seconds_left({0, 12}, 0), 12);  // a second a step
  EXPECT_DOUBLE_EQ(seconds_left({1, 13}, 5), 24);  // one slow step is not everything
  EXPECT_DOUBLE_EQ(seconds_left({97, 197}, 47), 50);
  EXPECT_DOUBLE_EQ(seconds_left({12, 12}, 30), 0);
}

TEST(NinjaOutput, KeepsWhatEachStepPrinted) {
  const NinjaOutput output = read({"[0/2] Re-checking globbed directories...", "[1/3] Building a.o",
                                   "[2/3] Building b.o", "b.cpp:1: warning: unused", "[3/3] Building c.o",
                                   "FAILED: c.o ", "/usr/bin/c++ -O2 -o c.o -c c.cpp", "c.cpp:2: error: no",
                                   "", "ninja: build stopped: subcommand failed."});
  ASSERT_EQ(output.steps().size(), 2u);
  EXPECT_EQ(output.steps()[0].title, "Building b.o");
  EXPECT_FALSE(output.steps()[0].failed);
  EXPECT_EQ(output.steps()[0].lines, (std::vector<std::string>{"b.cpp:1: warning: unused"}));
  EXPECT_EQ(output.steps()[1].title, "Building c.o");
  EXPECT_TRUE(output.steps()[1].failed);
  EXPECT_EQ(output.steps()[1].lines, (std::vector<std::string>{"c.cpp:2: error: no"}));
}

TEST(NinjaOutput, KeepsWhatNinjaItselfSays) {
  const NinjaOutput output = read({"ninja: error: unknown target 'x'"});
  ASSERT_EQ(output.steps().size(), 1u);
  EXPECT_EQ(output.steps()[0].title, "");
  EXPECT_EQ(output.steps()[0].lines.front(), "ninja: error: unknown target 'x'");
}

TEST(Diagnostics, AreTheStudentsOnlyWithPathsFromTheRoot) {
  const std::vector<BuildStep> steps{
      {"Building CXX object common/CMakeFiles/judge.dir/judge.cpp.o",
       false,
       {"/home/me/course/common/judge.cpp: warning: no"}},
      {"Building CXX object CMakeFiles/lesson05_student.dir/lessons/05_ring_attention/ring_attention.cpp.o",
       true,
       {"/home/me/course/lessons/05_ring_attention/ring_attention.cpp: In function 'f':",
        "/home/me/course/lessons/05_ring_attention/ring_attention.cpp:7:3: error: 'n' was not declared"}}};
  const std::string text = student_diagnostics(steps, "lesson05_student", "/home/me/course");
  EXPECT_EQ(text,
            "lessons/05_ring_attention/ring_attention.cpp: In function 'f':\n"
            "lessons/05_ring_attention/ring_attention.cpp:7:3: error: 'n' was not declared\n");
  EXPECT_EQ(first_error(text),
            "lessons/05_ring_attention/ring_attention.cpp:7:3: error: 'n' was not declared");
  EXPECT_EQ(student_diagnostics(steps, "lesson01_student", "/home/me/course"), "");
}

TEST(Diagnostics, NameThePlaceInTheSourceThatLedToAnErrorInAHeader) {
  const std::string gcc =
      "In file included from lessons/05_ring_attention/ring_attention.cpp:3:\n"
      "common/tensor/view.hpp: In instantiation of 'T at(int) [with T = int]':\n"
      "lessons/05_ring_attention/ring_attention.cpp:40:12:   required from here\n"
      "common/tensor/view.hpp:30:5: error: no match\n"
      "lessons/05_ring_attention/ring_attention.cpp:50:1: error: another\n";
  EXPECT_EQ(
      first_error(gcc),
      "lessons/05_ring_attention/ring_attention.cpp:40:12: error: no match (in common/tensor/view.hpp:30:5)");
  const std::string clang =
      "common/tensor/view.hpp:30:5: error: no match\n"
      "lessons/05_ring_attention/ring_attention.cpp:40:12: note: in instantiation of 'at' requested here\n";
  EXPECT_EQ(
      first_error(clang),
      "lessons/05_ring_attention/ring_attention.cpp:40:12: error: no match (in common/tensor/view.hpp:30:5)");
  EXPECT_EQ(first_error("a.cpp:1:10: fatal error: mpj.h: No such file\n"),
            "a.cpp:1:10: fatal error: mpj.h: No such file");
  EXPECT_EQ(first_error("a.hpp:1:10: error: no way here\n"), "a.hpp:1:10: error: no way here");
}

TEST(Diagnostics, AreShownByTheirFirstErrorWhereTheyAreLong) {
  const TemporaryFolder root;
  const std::string few = "a.cpp: In function 'f':\na.cpp:7:3: error: 'n' was not declared\n";
  EXPECT_EQ(abridged(few, "lesson05_student", root.path()), few);
  std::string many = few + "    7 |   n = 3;\n      |   ^\n";
  for (int i = 0; i < 20; ++i) many += "a.cpp:9:1: note: candidate\n    9 | f();\n";
  EXPECT_EQ(abridged(many, "lesson05_student", root.path()),
            "a.cpp:7:3: error: 'n' was not declared\n    7 |   n = 3;\n      |   ^\n"
            "all 44 lines of the compiler: .course/compiler/lesson05_student.txt\n");
  EXPECT_EQ(read_text(root.path() / ".course/compiler/lesson05_student.txt"), many);
}

TEST(Diagnostics, NameAnUndefinedFunctionOnce) {
  const std::vector<BuildStep> steps{
      {"Linking CXX shared module lib/lesson05_student.so",
       true,
       {"/usr/bin/ld: adapter.cpp.o: in function `(anonymous namespace)::owner(course::Call&)':",
        "adapter.cpp:(.text+0x12): undefined reference to `lesson05::owner(int, int, int)'",
        "/usr/bin/ld: adapter.cpp:(.text+0x99): undefined reference to `lesson05::owner(int, int, int)'",
        "/usr/bin/ld: ring_attention.cpp:(.text+0x3): undefined reference to `mine()'",
        "collect2: error: ld returned 1 exit status"}}};
  EXPECT_EQ(
      student_diagnostics(steps, "lesson05_student", "/home/me/course"),
      "error: lesson05::owner(int, int, int), of the contract, is not defined: it is missing, or has other "
      "parameters than in the header\nerror: mine() is used but defined nowhere\n");
}

TEST(LinkErrors, NameAnUndefinedFunctionOnceAndKeepTheRest) {
  const std::string output =
      "/usr/bin/ld: adapter.cpp.o: in function `(anonymous namespace)::owner(course::Call&)':\n"
      "adapter.cpp:(.text+0x12): undefined reference to `lesson05::owner(int)'\n"
      "/usr/bin/ld: adapter.cpp.o: warning: relocation in read-only section\n"
      "adapter.cpp:(.text+0x99): undefined reference to `lesson05::owner(int)'\n"
      "/usr/bin/ld: adapter.cpp.o:(.text+0x99): more undefined references to `lesson05::owner(int)' follow\n"
      "/usr/bin/ld: unrecognized option '--no-such-option'\n"
      "collect2: error: ld returned 1 exit status\n";
  EXPECT_EQ(
      link_errors(output, "lesson05"),
      (std::vector<std::string>{"lesson05::owner(int), of the contract, is not defined: it is missing, or "
                                "has other parameters than in the header",
                                "/usr/bin/ld: unrecognized option '--no-such-option'"}));
}

}  // namespace

}  // namespace course::program
