#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "copied_course.hpp"
#include "course/handout/handout_content.hpp"
#include "text/text_file.hpp"
#include "text/tokenizer.hpp"

// No handout holds a passage of an answer, under whatever names: four statements in a row with the calls,
// operators and numbers that four statements of a solution have. No page quotes three lines in a row of one,
// word for word, whatever stands between them, such as a debugger's prompt. What comes near to an answer all
// the same is named, with the reason, in the table of docs/instructor.md: the one list, for this test and for
// instructors.

namespace course::program {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t passage_statements = 4;
/// A shorter line, such as "return sum;", says too little.
constexpr std::size_t least_line = 12;
/// Fewer calls, or calls, operators and numbers, say too little: any loop has them.
constexpr int least_calls = 2;
constexpr std::size_t least_signs = 8;

struct Statement {
  int line = 0;
  std::vector<std::string> signs = {};
  int calls = 0;
};

/// Calls that lessons are about, by names that no student chooses.
bool is_telling_call(const std::string& word) {
  static const std::set<std::string> names{
      "exp",      "expf",      "log",        "logf",         "sqrt",         "rsqrtf", "max",
      "min",      "fmaxf",     "fminf",      "maximum",      "clamp",        "dot",    "axpy",
      "scal",     "gemm",      "transposed", "exponentiate", "accumulate",   "finish", "inner_product",
      "reduce",   "transform", "fill",       "fill_n",       "copy",         "copy_n", "max_element",
      "exchange", "swap",      "isinf",      "atomicAdd",    "between_tiles"};
  return names.contains(word) || word.starts_with("MPI_") || word.starts_with("nccl") ||
         word.starts_with("cuda") || word.starts_with("__s");
}

bool is_control(const std::string& word) {
  static const std::set<std::string> words{"if", "for", "while", "do", "return", "else", "break", "continue"};
  return words.contains(word);
}

/// What is left of a source without names, types and brackets; statements that have nothing left are none.
std::vector<Statement> statements_of(const std::string& text) {
  std::vector<Statement> all{{}};
  int depth = 0;
  const auto end = [&] {
    if (!all.back().signs.empty()) all.emplace_back();
  };
  for (const Token& token : tokens_of(text)) {
    if (!token.is_code()) continue;
    Statement& last = all.back();
    const bool telling = token.kind == Token::Kind::Word && is_telling_call(token.text);
    if (token.is("(")) ++depth;
    if (token.is(")")) depth = std::max(0, depth - 1);
    if (token.is("{") || token.is("}") || (token.is(";") && depth == 0)) {
      end();
    } else if (telling || is_control(token.text) || token.kind == Token::Kind::Number ||
               (token.kind == Token::Kind::Mark &&
                std::string("+-*/%=<>!&|?").find(token.text) != std::string::npos)) {
      if (last.signs.empty()) last.line = token.line;
      last.signs.push_back(token.kind == Token::Kind::Number ? "#" : token.text);
      last.calls += telling;
    }
  }
  end();
  all.pop_back();
  return all;
}

/// A passage of a text, by what is left of it, and the line where it begins.
std::multimap<std::string, int> passages_of(const std::string& text) {
  const std::vector<Statement> statements = statements_of(text);
  std::multimap<std::string, int> passages;
  for (std::size_t first = 0; first + passage_statements <= statements.size(); ++first) {
    std::string passage;
    std::size_t signs = 0;
    int calls = 0;
    for (std::size_t i = first; i < first + passage_statements; ++i) {
      for (const std::string& sign : statements[i].signs) passage += sign + " ";
      passage += "; ";
      signs += statements[i].signs.size();
      calls += statements[i].calls;
    }
    if (calls >= least_calls && signs >= least_signs) passages.emplace(passage, statements[first].line);
  }
  return passages;
}

/// What a student is to write: a solution's marked regions, with empty lines in place of the others.
std::string marked_regions(const std::string& solution) {
  std::string text;
  bool inside = false;
  for (const std::string& line : lines_of(solution)) {
    const std::size_t mark = line.find_first_not_of(' ');
    const std::string sign = mark == std::string::npos ? "" : line.substr(mark, 3);
    if (sign == "//>" || sign == "//<") inside = sign == "//>";
    text += (inside && !sign.starts_with("//") ? line : "") + "\n";
  }
  return text;
}

/// A line of code as a page quotes it, without blanks around it and the number that gdb or a compiler puts
/// before it; empty where it says little.
std::string quoted_code(const std::string& line) {
  static const std::regex quoted(R"(^[ \t]*(?:[0-9]+[ \t]+(?:\|[ \t]*)?)?(.*?)[ \t]*$)");
  std::smatch found;
  std::regex_match(line, found, quoted);
  const std::string code = found[1];
  return code.size() < least_line || code.starts_with("//") ? "" : code;
}

constexpr std::size_t quoted_lines = 3;

/// Lines in a row, in one text.
std::string row_of_lines(const std::vector<std::string>& lines, std::size_t first) {
  std::string row;
  for (std::size_t i = first; i < first + quoted_lines; ++i) row += lines[i] + "\n";
  return row;
}

/// Where the passages of the solutions are, as "lesson 04, line 33", by passage.
class Answers {
 public:
  void add(const LessonInfo& lesson, const std::string& solution) {
    for (const auto& [passage, line] : passages_of(marked_regions(solution)))
      places_.emplace(passage, std::pair(lesson.id, line));
    std::vector<std::string> lines;
    for (const std::string& line : lines_of(marked_regions(solution))) {
      if (const std::string code = quoted_code(line); !code.empty()) lines.push_back(code);
    }
    Quotable& quotable = quotable_[lesson.id];
    quotable.lines.insert(lines.begin(), lines.end());
    for (std::size_t first = 0; first + quoted_lines <= lines.size(); ++first)
      quotable.rows.insert(row_of_lines(lines, first));
  }

  /// What a page quotes of the answers word for word, by lesson.
  std::map<std::string, std::vector<std::string>> quoted_in(const std::string& page) const {
    std::map<std::string, std::vector<std::string>> found;
    for (const auto& [lesson, quotable] : quotable_) {
      std::vector<std::string> lines;
      for (const std::string& line : lines_of(page)) {
        if (const std::string code = quoted_code(line); quotable.lines.contains(code)) lines.push_back(code);
      }
      for (std::size_t first = 0; first + quoted_lines <= lines.size(); ++first) {
        const std::string row = row_of_lines(lines, first);
        if (quotable.rows.contains(row)) found[lesson].push_back(row);
      }
    }
    return found;
  }

  /// "LINE as lesson 04's LINE" of each passage of an answer in a text, by lesson.
  std::map<std::string, std::vector<std::string>> found_in(const std::string& text) const {
    std::map<std::string, std::vector<std::string>> found;
    for (const auto& [passage, line] : passages_of(text)) {
      const auto [first, last] = places_.equal_range(passage);
      for (auto place = first; place != last; ++place) {
        const auto& [lesson, solution_line] = place->second;
        found[lesson].push_back(
            fmt::format("line {} as line {} of the solution: {}", line, solution_line, passage));
      }
    }
    return found;
  }

 private:
  struct Quotable {
    std::set<std::string> lines = {};
    std::set<std::string> rows = {};
  };

  std::multimap<std::string, std::pair<std::string, int>> places_;
  std::map<std::string, Quotable> quotable_;
};

/// A text as its code is to be read. What a shell's quotes hold may be an answer, which no quotes make a
/// string.
std::string code_in(std::string text, const fs::path& file) {
  if (file.extension() == ".sh")
    std::ranges::replace_if(
        text, [](char c) { return c == '\'' || c == '"'; }, ' ');
  return text;
}

/// A row of the table: | `file` | lessons | passages of | why |. Most rows come near in what they compute,
/// and hold no passage: they excuse nothing.
struct Exception {
  std::string file;
  std::vector<std::string> lessons;  ///< of whose answers it holds passages
};

std::vector<Exception> exceptions_in(const std::string& page) {
  static const std::regex row(
      R"(^\| `([^`]+)` \| (?:[0-9]{2}(?:, )?)+ \| ((?:[0-9]{2}(?:, )?)+|none) \| .+ \|$)"),
      id("[0-9]{2}");
  std::vector<Exception> exceptions;
  for (const std::string& line : lines_of(page)) {
    std::smatch found;
    if (!std::regex_match(line, found, row)) continue;
    const std::string lessons = found[2];
    exceptions.push_back({found[1], {}});
    for (std::sregex_iterator each(lessons.begin(), lessons.end(), id), end; each != end; ++each)
      exceptions.back().lessons.push_back(each->str());
  }
  return exceptions;
}

class Handouts : public testing::Test {
 protected:
  void SetUp() override {
    if (!copied_.obstacle.empty()) GTEST_SKIP() << copied_.obstacle;
    for (const LessonInfo& lesson : course_.lessons) {
      for (const std::string& file : lesson.files)
        answers_.add(lesson, read_text(course_.root / Checkout::solution_file(lesson, file)));
    }
    exceptions_ = exceptions_in(read_text(course_.root / "docs" / "instructor.md"));
  }

  bool is_excepted(const std::string& file, const std::string& lesson) const {
    return std::ranges::any_of(exceptions_, [&](const Exception& exception) {
      return exception.file == file &&
             std::ranges::find(exception.lessons, lesson) != exception.lessons.end();
    });
  }

  /// Fails for every passage of an answer in a handout of these lessons. A text is looked at once.
  void look_through(const std::vector<LessonInfo>& lessons) {
    const TemporaryFolder handout;
    write_handout(course_, lessons, handout.path());
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(handout.path())) {
      static const std::set<fs::path> sources{".cpp", ".hpp", ".h", ".cu", ".py", ".md", ".js", ".sh"};
      if (!entry.is_regular_file() || !sources.contains(entry.path().extension())) continue;
      const std::string file = fs::relative(entry.path(), handout.path()), text = read_text(entry.path());
      if (!seen_.insert(file + content_hash({text})).second) continue;
      for (const auto& [lesson, places] : answers_.found_in(code_in(text, file))) {
        if (is_excepted(file, lesson)) continue;
        ADD_FAILURE() << file << " holds " << places.size() << " passages of lesson " << lesson
                      << "'s answer, and docs/instructor.md does not name it:\n  " << places.front();
      }
      if (entry.path().extension() != ".md") continue;
      for (const auto& [lesson, quotes] : answers_.quoted_in(text))
        ADD_FAILURE() << file << " quotes lesson " << lesson << "'s answer:\n" << quotes.front();
    }
  }

  const CopiedCourse copied_;
  const Checkout& course_ = copied_.course;
  Answers answers_;
  std::vector<Exception> exceptions_;
  std::set<std::string> seen_;
};

TEST_F(Handouts, HoldNoPassageOfAnAnswer) {
  look_through(course_.lessons);
  for (const LessonInfo& lesson : course_.lessons) look_through({lesson});
}

TEST_F(Handouts, HoldWhatTheInstructorIsToldComesNear) {
  ASSERT_FALSE(exceptions_.empty()) << "docs/instructor.md has no table of what comes near to an answer";
  const TemporaryFolder handout;
  write_handout(course_, course_.lessons, handout.path());
  for (const Exception& exception : exceptions_) {
    const fs::path file = handout.path() / exception.file;
    ASSERT_TRUE(fs::exists(file)) << exception.file;
    const auto found = answers_.found_in(read_text(file));
    for (const std::string& lesson : exception.lessons)
      EXPECT_TRUE(found.contains(lesson)) << "docs/instructor.md excuses " << exception.file << " for lesson "
                                          << lesson << ", of whose answer it holds no passage";
  }
}

/// A player's block once had lesson 06's products between names of its own, in another layout.
TEST_F(Handouts, WouldBeSeenToHoldAnAnswerUnderOtherNames) {
  const std::string excerpt = R"(
  void ragged(Index head, const Tile& tile) {
    gemm(factor, queries(query_rows),
         transposed(keys(key_rows)), 0.0f, weights);
    gemm(1.0f, queries(upstream), transposed(keys(values)), 0.0f, slopes);
    for (Index row = 0; row < tile.height; ++row) {
      const Index query = tile.first + row;
      look_at(query);
    }
  })";
  EXPECT_EQ(answers_.found_in(excerpt).count("06"), 1U);
  EXPECT_TRUE(
      answers_.found_in("for (int i = 0; i < n; ++i) x[i] = std::max(x[i], y); a = b; c = d;").empty());
}

/// A test's sed script once wrote a whole function of lesson 01.
TEST_F(Handouts, WouldBeSeenToHoldAnAnswerInAShellScript) {
  const std::string script =
      "sed -e '/^namespace/a float largest(Row row) { float top = low; for (float x : row) top = "
      "std::max(top, x); "
      "return top; }' -e 's/throw.*/for (Index r = 0; r < x.rows(); ++r) { const float top = "
      "maximum(x.row(r)); "
      "float sum = 0; if (top != low) { for (float s : x.row(r)) sum += std::exp(s - top); } }/' given";
  EXPECT_EQ(answers_.found_in(code_in(script, "test.sh")).count("01"), 1U);
  EXPECT_TRUE(answers_.found_in(script).empty());
}

/// docs/student.md once showed six lines of lesson 03's answer as gdb steps through them.
TEST_F(Handouts, WouldBeSeenToQuoteAnAnswer) {
  const std::string listing =
      "58\t  const int rank = rank_in(comm);\n(gdb) next\n"
      "59\t  const int world_size = size_of(comm);\n(gdb) next\n"
      "60\t  const int next = (rank + 1) % world_size;\n(gdb) print rank\n$1 = 2\n";
  EXPECT_EQ(answers_.quoted_in(listing).count("03"), 1U);
  EXPECT_TRUE(answers_.quoted_in(listing.substr(0, listing.find("60"))).empty());
}

}  // namespace
}  // namespace course::program
