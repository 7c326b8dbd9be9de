#include "skeleton/skeleton.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "../common/complaint.hpp"

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
  return complaint_of<std::invalid_argument>([&] { skeleton_of(marked); });
}

std::string with_nothing_of(std::string text, const std::string& part) {
  return text.erase(text.find(part), part.size());
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

TEST(Skeleton, IsCutFromPythonToo) {
  const std::string python =
      "def f():  #< no mark\n    #> task 1\n    #| # Where?\n    #| raise NotImplementedError\n    return 1\n"
      "    #< task 1\n";
  EXPECT_EQ(skeleton_of(python), "def f():  #< no mark\n    # Where?\n    raise NotImplementedError\n");
  EXPECT_EQ(unmarked(python), "def f():  #< no mark\n    return 1\n");
  EXPECT_EQ(complaint("#> task 1\n#< task 2\n"), "line 2: a mark without its partner: #< task 2");
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

TEST(Definition, GoesWithWhatBelongsToIt) {
  const std::string text =
      "#include <a>\n\nint helper();\n// One way\n/* or two */\ntemplate <class T>\nint\none(T x,\n    T y) "
      "{\n  "
      "return \"}\";\n}\n\n// Two.\nint two() { return one(1, 2); }\nint three;\n";
  EXPECT_EQ(without_definition(text, "one"),
            "#include <a>\n\nint helper();\n\n// Two.\nint two() { return one(1, 2); }\nint three;\n");
  EXPECT_EQ(without_definition(text, "two"),
            with_nothing_of(text, "// Two.\nint two() { return one(1, 2); }\n"));
  EXPECT_EQ(without_definition(text, "helper"), text) << "a declaration is none";
  EXPECT_EQ(without_definition("int a() {}\n\nint b() {}\n\nint c() {}", "b"), "int a() {}\n\nint c() {}");
  EXPECT_EQ(without_definition("int a() {}", "a"), "");
}

TEST(Definition, IsToldFromCallsCommentsAndLiterals) {
  const std::string text =
      "// f(x) { }\nint f(int x);\nconst char* s = \"f() {\";\nint gf(int x) { return f(x); }\n"
      "int f(int (*x)(int) /* ) */, char c = ')')  // {\n{\n  if (x) { return '}'; }\n  return f(1);\n}\nint "
      "g() { return 0; }\n";
  EXPECT_EQ(definition_line(text, "f"), 5);
  EXPECT_EQ(definition_line(text, "g"), 10);
  EXPECT_EQ(definition_line(text, "h"), std::nullopt);
  EXPECT_EQ(with_body("int a() { return 1; }\nint f() { if (1) { } }\nint g() {}\n", "f", "throw 1;"),
            "int a() { return 1; }\nint f() {\n  throw 1;\n}\nint g() {}\n");
  EXPECT_THROW(with_body(text, "h", ""), std::invalid_argument);
  EXPECT_THROW(with_body("int f() { never closed", "f", ""), std::invalid_argument);
}

}  // namespace

}  // namespace course
