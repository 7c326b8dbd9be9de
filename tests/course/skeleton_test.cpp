#include "skeleton/skeleton.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace course {

namespace {

const std::string solution = R"(#include "f.hpp"

namespace lesson {

//> task 1
namespace { int helper() { return 1; } }
//< task 1

void f() {
  //> task 1
  //| // Where does it start?
  //|
  //| throw NotImplemented("task 1, f");
  helper();
  //< task 1
}

}  // namespace lesson
)";

std::string complaint(const std::string& marked) {
  try {
    skeleton_of(marked);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Skeleton, HasTheMarkedLinesInPlaceOfTheAnswer) {
  EXPECT_EQ(skeleton_of(solution), R"(#include "f.hpp"

namespace lesson {

void f() {
  // Where does it start?

  throw NotImplemented("task 1, f");
}

}  // namespace lesson
)");
}

TEST(Skeleton, ComplainsOfMarksWithoutPartners) {
  EXPECT_EQ(complaint("int a;\n//> task 1\nint b;\n"), "line 2: a mark without its partner: //> task 1");
  EXPECT_EQ(complaint("//< task 1\n"), "line 1: a mark without its partner: //< task 1");
  EXPECT_EQ(complaint("//> task 1\n//< task 2\n"), "line 2: a mark without its partner: //< task 2");
  EXPECT_EQ(complaint("//> task 1\n//> task 2\n"), "line 2: a mark without its partner: //> task 2");
  EXPECT_EQ(complaint("//| int a;\n"), "line 1: a mark without its partner: //| int a;");
}

TEST(Skeleton, SolutionIsReadWithoutItsMarks) {
  EXPECT_EQ(unmarked("//> task 1\n  //| throw 1;\nint a;\n//< task 1\n"), "int a;\n");
}

TEST(SameCode, LooksAtNeitherBlanksNorComments) {
  EXPECT_TRUE(same_code("int f() { return 1; }", "int f()\n{\n  // one\n  return /* 1 */ 1;\n}\n"));
  EXPECT_FALSE(same_code("int f() { return 1; }", "int f() { return 2; }"));
}

TEST(SameCode, LooksAtWhatStandsBetweenQuotes) {
  EXPECT_FALSE(same_code("s = \"// a b\";", "s = \"// a  b\";"));
  EXPECT_FALSE(same_code("c = ' ';", "c = '\\t';"));
  EXPECT_FALSE(same_code("s = \"\\\"// a\";", "s = \"\\\"// b\";"));
  EXPECT_TRUE(same_code("n = 1'000;  // many", "n = 1'000;  // few"));
}

}  // namespace

}  // namespace course
