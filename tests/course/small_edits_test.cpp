#include "course/locate/small_edits.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace course::program {
namespace {

std::string code_of(const std::string& source) {
  std::string code;
  for (const Token& token : tokens_of(source)) {
    if (token.is_code()) code += token.text + ' ';
  }
  return code;
}

std::string in_a_function(const std::string& body) {
  return "void f(std::span<const float> x, float* out, int rank, int size) {\n  const int n = "
         "std::ssize(x);\n" +
         body + "\n}\n";
}

/// Where the first edit stands that makes one source the other; -1 without one.
int line_of_edit(const std::string& wrong, const std::string& right) {
  const Code code(wrong);
  for (const SmallEdit& edit : small_edits(code, "f")) {
    if (code_of(edit.applied_to(wrong)) == code_of(right))
      return static_cast<int>(
                 std::count(wrong.begin(), wrong.begin() + static_cast<std::ptrdiff_t>(edit.first), '\n')) +
             1;
  }
  return -1;
}

struct Slip {
  const char* wrong;
  const char* right;
};

class EachSlip : public testing::TestWithParam<Slip> {};

TEST_P(EachSlip, IsMendedByOneOfTheEdits) {
  const int line = line_of_edit(in_a_function(GetParam().wrong), in_a_function(GetParam().right));
  EXPECT_GE(line, 3) << GetParam().wrong;
}

// What students write, beside what they should have.
INSTANTIATE_TEST_SUITE_P(
    SmallEdits, EachSlip,
    testing::Values(
        Slip{"for (int j = 0; j < n - 1; ++j) g(j);", "for (int j = 0; j < n; ++j) g(j);"},
        Slip{"for (int j = 0; j < n; ++j) g(j);", "for (int j = 0; j < n - 1; ++j) g(j);"},
        Slip{"for (int j = 1; j < n; ++j) g(j);", "for (int j = 0; j < n; ++j) g(j);"},
        Slip{"for (int j = 0; j <= n; ++j) g(j);", "for (int j = 0; j < n; ++j) g(j);"},
        Slip{"float m = std::max(m, std::abs(x[0]));", "float m = std::max(m, (x[0]));"},
        Slip{"float m = std::min(a, b);", "float m = std::max(a, b);"}, Slip{"float m = 0;", "float m = 1;"},
        Slip{"return std::log(l) - m;", "return std::log(l) + m;"},
        Slip{"out[0] = std::log(m + l);", "out[0] = m + std::log(l);"},
        Slip{"out[0] = (m + l) * c;", "out[0] = m + l * c;"},
        Slip{"out[0] = m + l * c;", "out[0] = (m + l) * c;"},
        Slip{"out[0] = std::exp(high - low);", "out[0] = std::exp(low - high);"},
        Slip{"out[0] = -std::numeric_limits<float>::infinity();",
             "out[0] = std::numeric_limits<float>::infinity();"},
        Slip{"float m = std::numeric_limits<float>::min(); g(m);",
             "float m = std::numeric_limits<float>::lowest(); g(m);"},
        Slip{"float s = q * scale * scale;", "float s = q * scale;"},
        Slip{"float a = 1, b = 2; g(a); g(a);", "float a = 1, b = 2; g(a); g(b);"},
        Slip{"float a = 1, b = 2; out[0] = b * out[0];", "float a = 1, b = 2; out[0] = a * out[0];"},
        Slip{"float a = 1; out[0] = x[0];", "float a = 1; out[0] = x[0] * a;"},
        Slip{"float a = 1, b = 2; out[0] = a + b * g(a - b);",
             "float a = 1, b = 2; out[0] = b + a * g(b - a);"},
        Slip{"State a, b; out[0] = a.l + b.l * g(a.m - b.m);",
             "State a, b; out[0] = b.l + a.l * g(a.m - b.m);"},
        Slip{"if (n == 0) continue; g(n);", "if (n == 0) return; g(n);"},
        Slip{"if (n == 0) g(0); else g(1);", "if (n != 0) g(0); else g(1);"},
        Slip{"if (rank == 0) g(0);", "if (true) g(0);"},
        Slip{"float l = 0; for (int i = 0; i < n; ++i) { g(i); l += x[i]; }",
             "for (int i = 0; i < n; ++i) { float l = 0; g(i); l += x[i]; }"},
        Slip{"for (int i = 0; i < n; ++i) { float l = 0; l += x[i]; }",
             "float l = 0; for (int i = 0; i < n; ++i) { ; l += x[i]; }"},
        Slip{"for (int i = 0; i < n; ++i) { g(i); out[i] /= l; }",
             "for (int i = 0; i < n; ++i) { g(i); ; } out[i] /= l;"},
        Slip{"a = b; c = std::exp(a - b);", "c = std::exp(a - b); a = b;"},
        Slip{"l *= c; l += c * s; g(l);", "; l += c * s; g(l);"},
        Slip{"MPI_Send(x, n, MPI_FLOAT, (rank + 1) % size, 0, comm);",
             "MPI_Send(x, n, MPI_FLOAT, (rank - 1 + size) % size, 0, comm);"},
        Slip{"MPI_Send(x, n, MPI_BYTE, rank, 0, comm);", "MPI_Send(x, n, MPI_FLOAT, rank, 0, comm);"},
        Slip{"int a = 1, b = 2; g(a, b); g(b);", "int a = 1, b = 2; g(b, a); g(a);"},
        Slip{"MPI_Request sent; start(&sent); g(n);",
             "MPI_Request sent; start(&sent); MPI_Wait(&sent, MPI_STATUS_IGNORE); g(n);"},
        Slip{"for (int i = 0; i < n; ++i) { if (x[i] == 0) continue; g(i); } for (int i = 0; i < n; ++i) { "
             "h(i); }",
             "for (int i = 0; i < n; ++i) { if (x[i] == 0) continue; g(i); } for (int i = 0; i < n; ++i) { "
             "if (x[i] == 0) continue; h(i); }"},
        Slip{"auto each = [&](int i) mutable -> float { g(i); return i; };",
             "auto each = [&](int i) mutable -> float { ; return i; };"},
        Slip{"if constexpr (n > 1) g(n);", "if constexpr (true) g(n);"},
        Slip{"auto each = [&](int i) { if (i > 0) g(i - 1); };",
             "auto each = [&](int i) { if (i > 0) g(i); };"}));

TEST(SmallEdits, ReadWhatDirectivesOfManyLinesHoldAsNoCode) {
  for (const char* const directive :
       {"#define BEGIN(a) \\\n  if (a) { \\\n    g(a)\n", "#define BEGIN \\\r\n  {\r\n",
        "#ifdef X\n#error it can't be\n#endif\n"}) {
    EXPECT_EQ(line_of_edit(directive + in_a_function("g(n - 1);"), directive + in_a_function("g(n);")) > 0,
              true)
        << directive;
  }
}

TEST(SmallEdits, TakeAnOperationForNoDeclaration) {
  EXPECT_GT(line_of_edit(in_a_function("int lane = 1, mask = 2; if (lane & mask) g(lane);"),
                         in_a_function("int lane = 1, mask = 2; if (lane & lane) g(lane);")),
            0);
}

TEST(SmallEdits, LeaveCommentsTextsAndDirectivesAlone) {
  const std::string source =
      "#include <a+b>\n#define F(x) x + 1\n// a + b\nconst char* text = \"a + b\";\nvoid f() {\n}\n";
  EXPECT_TRUE(small_edits(Code(source), "f").empty());
}

TEST(SmallEdits, StandInTheSourceEachOnce) {
  const std::string source = in_a_function(
      "float a = 1, b = 2;\nif (n > 1 && rank < size) out[n - 1] = a * b + x[n - 1];\nout[0] += a;");
  std::vector<std::string> seen{code_of(source)};
  for (const SmallEdit& edit : small_edits(Code(source), "f")) {
    ASSERT_LE(edit.first, edit.last);
    ASSERT_LE(edit.last, source.size());
    seen.push_back(code_of(edit.applied_to(source)));
  }
  EXPECT_GT(seen.size(), 40u);
  std::ranges::sort(seen);
  EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
}

TEST(SmallEdits, BeginInTheFunctionThatFails) {
  const std::string source = "int g(int a) { return a + 1; }\nint f(int a) { return g(a) + 2; }\n";
  const std::vector<SmallEdit> edits = small_edits(Code(source), "f");
  ASSERT_FALSE(edits.empty());
  EXPECT_GT(edits.front().first, source.find("int f"));
  EXPECT_LT(edits.back().first, source.find("int f"));
}

TEST(SmallEdits, OfASourceWhoseBracketsDoNotMatchAreNone) {
  EXPECT_TRUE(small_edits(Code("void f() { g(1; }"), "f").empty());
  EXPECT_TRUE(small_edits(Code(""), "f").empty());
}

TEST(SmallEdits, OfASourceThatIsNoCppStayInTheSource) {
  const std::string source =
      "std::vector<float> g(int& a);\ntemplate <int N> auto f(const float* x, float (&out)[N]) {\n"
      "  if (x[0] < 1 && N > 2) return -g(1, 2.f);\n  for (auto& [a, b] : map) { do { a *= ~b; } while (!a); "
      "}\n"
      "  const auto each = [&](int i) mutable -> float { switch (i) { case 1: break; } };\n}\n";
  std::size_t begin = 0;
  for (const Token& token : tokens_of(source)) {
    const std::string before = source.substr(0, begin);
    const std::string after = source.substr(begin += token.text.size());
    if (!token.is_code()) continue;
    for (const std::string& part :
         {before, after, before + after, before + token.text + ' ' + token.text + after}) {
      for (const SmallEdit& edit : small_edits(Code(part), "f")) ASSERT_LE(edit.last, part.size()) << part;
    }
  }
}

TEST(SmallEdits, OutsideFunctionsAreOfWhatAVariableIsSetTo) {
  const std::string wrong = "namespace a {\nconstexpr float least = std::numeric_limits<float>::min();\n}\n";
  const std::string right =
      "namespace a {\nconstexpr float least = std::numeric_limits<float>::lowest();\n}\n";
  EXPECT_EQ(line_of_edit(wrong, right), 2);
}

TEST(SmallEditsOfWords, ComeFirstInLinesThatTheCheckNamed) {
  const std::string source = in_a_function("float delta = x[0] + x[1];\nout[0] = x[0] + x[1];");
  const auto line_of_first = [&](const std::set<std::string>& words) {
    const SmallEdit first = small_edits(Code(source), "f", words).front();
    return std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(first.first), '\n') + 1;
  };
  EXPECT_EQ(line_of_first({}), 4) << "a statement that may be left out";
  EXPECT_EQ(line_of_first({"delta", "look"}), 3);
}

TEST(SmallEditsOfWords, AreNotLedByANameOfManyLines) {
  std::string body = "out[0] = 1;";
  for (int i = 0; i < 9; ++i) body += "\nout[1] = rank;";
  const std::string source = in_a_function(body);
  EXPECT_EQ(small_edits(Code(source), "f", {"rank"}).front().first,
            small_edits(Code(source), "f").front().first);
}

}  // namespace
}  // namespace course::program
