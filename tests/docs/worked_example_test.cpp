// Holds every number of the course's worked example that a page prints against the float64 reference.
//
// Directly below numbers of the example (a table, a line, a formula, a picture's texts) a page says what they
// are, in a comment of one line that readers do not see:
//
//   <!-- worked: o 3 6 2 10 -->
//
// that is, NAME and values. `names()` below has the names. A name stands for rows, those of query 1 and query
// 2 or of keys 1 to 4, and the values are the rows' values, row after row: of all rows, or of some that
// follow one another (of query 2 alone, say). A value is written 3, -0.884, -5/4 or log8. A decimal is
// compared as far as it is written; all else is exact. Where the example has a unit (log 2 for s, m, lse and
// dk, 1/sqrt(2) for dq), a value may be in that unit or not. Blank lines and other such comments may stand
// between; then come the lines that are not blank, and each value must be found in them, as often as the
// comment has it: as a number, a fraction (5/4, \tfrac54, \frac{5}{4}) or a logarithm (log 8, \log 8).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "reference/reference.hpp"
#include "text/text_file.hpp"

namespace course {

namespace {

namespace fs = std::filesystem;

struct Expected {
  double value = 0;
  double unit = 1;  ///< a page may print value / unit
};

/// The rows of a name, each as long as the first one.
using Rows = std::vector<std::vector<Expected>>;

/// What may be written for a name: one kind of rows, or several.
using Names = std::map<std::string, std::vector<Rows>>;

constexpr Index queries = 2;
constexpr Index keys = 4;
constexpr Index head_dim = 2;

Rows rows_of(const Tensor64& tensor, Index count, double unit = 1) {
  Rows rows(static_cast<std::size_t>(count));
  const Index width = tensor.size() / count;
  for (Index i = 0; i < tensor.size(); ++i)
    rows[static_cast<std::size_t>(i / width)].push_back({tensor[i], unit});
  return rows;
}

/// The rows of a beside those of b.
Rows beside(Rows a, const Rows& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i].insert(a[i].end(), b[i].begin(), b[i].end());
  return a;
}

/// Keys and values first to last of the example.
Tensor64 part_of(const Tensor64& rows, Index first, Index last) {
  return {{1, last - first, head_dim},
          {rows.values().begin() + first * head_dim, rows.values().begin() + last * head_dim}};
}

/// Everything that the reference computes of two queries over some keys, and what lessons derive from that.
struct Example {
  Example(const Tensor64& q, const Tensor64& k, const Tensor64& v)
      : s({q.extent(1), k.extent(1)}),
        exp(s),
        m({q.extent(1)}, -INFINITY),
        l(m),
        sum(m),
        unnormalised({q.extent(1), head_dim}) {
    for (Index i = 0; i < q.extent(1); ++i) {
      for (Index j = 0; j < k.extent(1); ++j) {
        double dot = 0;
        for (Index c = 0; c < head_dim; ++c) dot += q[i * head_dim + c] * k[j * head_dim + c];
        const double score = dot / std::sqrt(static_cast<double>(head_dim));
        s[i * k.extent(1) + j] = score;
        exp[i * k.extent(1) + j] = std::exp(score);
        m[i] = std::max(m[i], score);
      }
    }
    softmax = reference::softmax(s);
    attention = reference::attention(q, k, v);
    for (Index i = 0; i < q.extent(1); ++i) {
      l[i] = std::exp(softmax.lse[i] - m[i]);
      sum[i] = std::exp(softmax.lse[i]);
      for (Index c = 0; c < head_dim; ++c) {
        unnormalised[i * head_dim + c] = l[i] * attention.o[i * head_dim + c];
      }
    }
  }

  Tensor64 s, exp, m, l, sum, unnormalised;
  reference::Softmax<double> softmax;
  reference::Attention<double> attention;
};

const Names& names() {
  static const Names all = [] {
    const double log2 = std::log(2.0);
    const double root = std::sqrt(2.0);
    const double a = root * log2;
    const Tensor64 q({1, queries, head_dim}, {a, 0, 0, a});
    const Tensor64 k({1, keys, head_dim}, {0, 1, 1, 1, 2, 2, 0, 3});
    const Tensor64 v({1, keys, head_dim}, {8, 0, 0, 8, 4, 4, 0, 16});
    const Tensor64 d_o({1, queries, head_dim}, {1, 1, 1, 0});
    const Example whole(q, k, v);
    Names names;
    names["s"] = {rows_of(whole.s, queries, log2)};       // scaled scores
    names["exp"] = {rows_of(whole.exp, queries)};         // e^s
    names["sum"] = {rows_of(whole.sum, queries)};         // the sum of these: l, had m been 0
    names["p"] = {rows_of(whole.softmax.p, queries)};     // weights
    names["m"] = {rows_of(whole.m, queries, log2)};       // the row's maximum
    names["l"] = {rows_of(whole.l, queries)};             // the sum of e^(s - m)
    names["O"] = {rows_of(whole.unnormalised, queries)};  // the sum of e^(s - m) v
    names["o"] = {rows_of(whole.attention.o, queries)};   // O / l
    names["lse"] = {rows_of(whole.attention.lse, queries, log2)};

    // Keys 1 and 2, keys 3 and 4: "m l O", "l O", "o lse", or "m l O o lse" of each query.
    for (const auto& [name, first] : {std::pair{"block1", Index{0}}, {"block2", Index{2}}}) {
      const Example block(q, part_of(k, first, first + 2), part_of(v, first, first + 2));
      const Rows m = rows_of(block.m, queries, log2);
      const Rows l_and_o = beside(rows_of(block.l, queries), rows_of(block.unnormalised, queries));
      const Rows done =
          beside(rows_of(block.attention.o, queries), rows_of(block.attention.lse, queries, log2));
      names[name] = {beside(m, l_and_o), l_and_o, done, beside(beside(m, l_and_o), done)};
    }

    // Backwards, without a gradient of lse.
    Tensor64 dp({queries, keys});
    Tensor64 delta({queries});
    Tensor64 ds({queries, keys});
    for (Index i = 0; i < queries; ++i) {
      for (Index c = 0; c < head_dim; ++c)
        delta[i] += d_o[i * head_dim + c] * whole.attention.o[i * head_dim + c];
      for (Index j = 0; j < keys; ++j) {
        double& product = dp[i * keys + j];
        for (Index c = 0; c < head_dim; ++c) product += d_o[i * head_dim + c] * v[j * head_dim + c];
        ds[i * keys + j] = whole.softmax.p[i * keys + j] * (product - delta[i]);
      }
    }
    names["dp"] = {rows_of(dp, queries)};
    names["D"] = {rows_of(delta, queries)};
    names["ds"] = {rows_of(ds, queries)};
    const auto gradients = reference::attention_gradients(q, k, v, d_o);
    names["dv"] = {rows_of(gradients.dv, keys)};
    names["dk"] = {rows_of(gradients.dk, keys, log2)};
    names["dq"] = {rows_of(gradients.dq, queries, 1 / root)};
    // The shares of rank 0, which owns query 1, and of rank 1, which owns query 2.
    for (Index rank = 0; rank < 2; ++rank) {
      const Tensor64 own({1, 1, head_dim}, {q[2 * rank], q[2 * rank + 1]});
      const Tensor64 own_d_o({1, 1, head_dim}, {d_o[2 * rank], d_o[2 * rank + 1]});
      const auto share = reference::attention_gradients(own, k, v, own_d_o);
      names["dk_rank" + std::to_string(rank)] = {rows_of(share.dk, keys, log2)};
      names["dv_rank" + std::to_string(rank)] = {rows_of(share.dv, keys)};
    }
    return names;
  }();
  return all;
}

/// A value as it is written.
struct Written {
  double value = 0;
  double tolerance = 1e-9;
};

std::optional<Written> value_of(const std::string& text) {
  static const std::regex form(R"((log)?(-?\d+)(\.\d+)?(?:/(\d+))?)");
  std::smatch found;
  if (!std::regex_match(text, found, form)) return {};
  Written written{std::stod(found[2].str() + found[3].str())};
  if (found[3].matched) written.tolerance = 0.5000001 * std::pow(10.0, 1.0 - found[3].length());
  if (found[4].matched) written.value /= std::stod(found[4].str());
  if (found[1].matched) written.value = std::log(written.value);
  return written;
}

bool is_right(const Written& written, const Expected& expected) {
  return std::abs(written.value - expected.value) <= written.tolerance ||
         std::abs(written.value - expected.value / expected.unit) <= written.tolerance;
}

/// Whether the values are those of rows that follow one another.
bool are_right(const std::vector<Written>& values, const Rows& rows) {
  const std::size_t width = rows[0].size();
  if (values.empty() || values.size() % width != 0) return false;
  const std::size_t count = values.size() / width;
  for (std::size_t first = 0; first + count <= rows.size(); ++first) {
    bool right = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      right = right && is_right(values[i], rows[first + i / width][i % width]);
    }
    if (right) return true;
  }
  return false;
}

std::string to_text(const std::vector<Rows>& kinds) {
  std::string text;
  for (const Rows& rows : kinds) {
    if (!text.empty()) text += ", or";
    for (const auto& row : rows) {
      for (const Expected& expected : row) {
        std::ostringstream number;
        number << " " << expected.value;
        if (expected.unit != 1) number << " (" << expected.value / expected.unit << ")";
        text += number.str();
      }
      text += ";";
    }
  }
  return text;
}

/// A line of a page as plain text: without tags, fractions and logarithms written as in a comment.
std::string plain(std::string line) {
  static const std::vector<std::pair<std::regex, std::string>> rules{
      {std::regex("</?[a-z][^>]*>"), " "},
      {std::regex("−"), "-"},
      {std::regex(R"(\\[dt]?frac\s*\{(\d+)\}\s*\{(\d+)\})"), " $1/$2 "},
      {std::regex(R"(\\[dt]?frac\s*(\d)\s*(\d))"), " $1/$2 "},
      {std::regex(R"(-\s+(\d+/\d))"), "-$1"},  // of a fraction that had its own command
      {std::regex("¼"), "1/4"},
      {std::regex("½"), "1/2"},
      {std::regex("¾"), "3/4"},
      {std::regex("⅛"), "1/8"},
      {std::regex("⅜"), "3/8"},
      {std::regex("⅝"), "5/8"},
      {std::regex("⅞"), "7/8"},
      {std::regex(R"(\\?log\s*)"), "log"},
  };
  for (const auto& [from, to] : rules) line = std::regex_replace(line, from, to);
  return line;
}

/// The numbers of a text, a logarithm as itself and as its argument.
std::vector<double> numbers_in(const std::string& text) {
  static const std::regex form(R"((?:log)?-?\d+(?:\.\d+)?(?:/\d+)?)");
  std::vector<double> numbers;
  for (std::sregex_iterator it(text.begin(), text.end(), form), end; it != end; ++it) {
    const std::string number = it->str();
    numbers.push_back(value_of(number)->value);
    if (number.starts_with("log")) numbers.push_back(value_of(number.substr(3))->value);
  }
  return numbers;
}

bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t") == std::string::npos;
}

bool is_comment(const std::string& line) {
  return line.find("<!-- worked") != std::string::npos;
}

std::string shown_above(const std::vector<std::string>& lines, std::size_t comment) {
  std::size_t end = comment;
  while (end > 0 && (is_blank(lines[end - 1]) || is_comment(lines[end - 1]))) --end;
  std::size_t begin = end;
  while (begin > 0 && !is_blank(lines[begin - 1]) && !is_comment(lines[begin - 1])) --begin;
  std::string text;
  for (std::size_t i = begin; i < end; ++i) text += plain(lines[i]) + "\n";
  return text;
}

/// What is wrong with a page, a line for each finding; adds the names that it has comments of.
std::vector<std::string> findings(const std::string& page, std::vector<std::string>& found_names) {
  static const std::regex form(R"(<!-- worked: (\w+)((?: \S+)+) -->)");
  const std::vector<std::string> lines = lines_of(page);
  std::vector<std::string> wrong;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!is_comment(lines[i])) continue;
    const auto report = [&](const std::string& what) {
      wrong.push_back("line " + std::to_string(i + 1) + ": " + lines[i] + "\n  " + what);
    };
    std::smatch comment;
    if (!std::regex_search(lines[i], comment, form)) {
      report("is to be of the form <!-- worked: NAME value value ... -->");
      continue;
    }
    const std::string name = comment[1];
    if (!names().contains(name)) {
      std::string known;
      for (const auto& [other, rows] : names()) known += " " + other;
      report("no such name; there are" + known);
      continue;
    }
    found_names.push_back(name);

    const std::vector<double> shown = numbers_in(shown_above(lines, i));
    std::vector<Written> values;
    std::istringstream words(comment[2]);
    for (std::string word; words >> word;) {
      const std::optional<Written> value = value_of(word);
      if (!value) {
        report(word + " is no number, fraction or logarithm");
        break;
      }
      values.push_back(*value);
      const auto is_value = [&](double x) { return std::abs(x - value->value) < 1e-9; };
      const auto times = std::ranges::count_if(values, [&](const Written& v) { return is_value(v.value); });
      if (std::ranges::count_if(shown, is_value) < times) {
        report("the lines above do not have " + word +
               (times > 1 ? " " + std::to_string(times) + " times" : ""));
      }
    }
    const std::vector<Rows>& kinds = names().at(name);
    if (std::ranges::none_of(kinds, [&](const Rows& rows) { return are_right(values, rows); })) {
      report("the reference has" + to_text(kinds));
    }
  }
  return wrong;
}

std::vector<fs::path> pages() {
  std::vector<fs::path> all;
  for (const char* folder : {"docs", "lessons"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(COURSE_ROOT) / folder)) {
      const fs::path extension = entry.path().extension();
      if (extension == ".md" || extension == ".svg") all.push_back(entry.path());
    }
  }
  std::ranges::sort(all);
  return all;
}

TEST(WorkedExample, PagesPrintWhatTheReferenceComputes) {
  int comments = 0;
  for (const fs::path& page : pages()) {
    std::vector<std::string> found;
    for (const std::string& finding : findings(read_text(page), found)) {
      ADD_FAILURE() << fs::relative(page, COURSE_ROOT).string() << ", " << finding;
    }
    comments += static_cast<int>(found.size());
    if (!found.empty()) std::cout << fs::relative(page, COURSE_ROOT).string() << ": " << found.size() << "\n";
  }
  EXPECT_GE(comments, 15);
}

/// The example is carried from the primer through these chapters.
TEST(WorkedExample, EveryChapterShowsItsSteps) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> steps{
      {"docs/primers/attention.md", {"s", "exp", "sum", "p", "lse", "o"}},
      {"lessons/01_safe_softmax/README.md", {"m", "l", "p", "lse"}},
      {"lessons/02_online_softmax/README.md", {"block1", "block2", "O", "o", "lse"}},
      {"lessons/04_blockwise_attention/README.md", {"block1", "block2", "O", "o", "lse"}},
      {"lessons/05_ring_attention/README.md", {"block1", "block2", "O", "o"}},
      {"lessons/06_attention_backward/README.md", {"dp", "D", "ds", "dv", "dq", "dk"}},
      {"lessons/07_ring_backward/README.md", {"dv", "dq", "dk"}}};
  for (const auto& [page, names] : steps) {
    std::vector<std::string> found;
    findings(read_text(fs::path(COURSE_ROOT) / page), found);
    for (const std::string& name : names) {
      EXPECT_GT(std::ranges::count(found, name), 0) << page << ": " << name;
    }
  }
}

/// Each of these pages is right but for one thing, if any.
std::string finding_of(const std::string& page) {
  std::vector<std::string> found;
  const std::vector<std::string> all = findings(page, found);
  return all.size() == 1 ? all[0] : std::to_string(all.size()) + " findings";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(WorkedExample, WhatIsRightPasses) {
  for (const char* page : {
           "$o_1 = (3, 6)$ and $o_2 = (2, 10)$\n<!-- worked: o 3 6 2 10 -->\n",
           "| | 2 | 10 |\n\n<!-- worked: o 2 10 -->\n",  // query 2 alone
           "$$p_1 = \\tfrac18, \\frac{1}{4}, ½, 0.125$$\n\n<!-- worked: p 1/8 1/4 1/2 0.125 -->\n",
           "$m = 2 \\log 2$, $\\mathrm{lse} = \\log 8 \\approx 2.079$\n<!-- worked: lse log8 -->\n<!-- "
           "worked: lse 2.079 -->\n"
           "<!-- worked: m 2 -->\n",
           "dq₁ = (−5/4, 5/4)/√2 ≈ (−0.884, 0.884)\n<!-- worked: dq -5/4 5/4 -->\n<!-- worked: dq -0.884 "
           "0.884 -->\n",
           "dk₃ = log 2 · (−1/2, 1/2)\n<!-- worked: dk -1/2 1/2 -->\n",
           "$-\\tfrac12$ and 0 of rank 0\n<!-- worked: dk_rank0 -1/2 0 -->\n",
           "m = log 2, l = 3/2, O = (4, 8), o = (8/3, 16/3), lse = log 3\n<!-- worked: block1 log2 3/2 4 8 "
           "-->\n"
           "<!-- worked: block1 3/2 4 8 -->\n<!-- worked: block1 8/3 16/3 log3 -->\n",
           "<text x=\"3\">2</text>\n<text x=\"4\">10</text>\n<!-- worked: o 2 10 -->\n",
       }) {
    EXPECT_EQ(finding_of(page), "0 findings") << page;
  }
}

TEST(WorkedExample, WhatIsWrongIsFound) {
  const std::string right = "o = (3, 6)\n";
  EXPECT_TRUE(has(finding_of("o = (3, 7)\n<!-- worked: o 3 7 -->\n"), "the reference has 3 6; 2 10;"));
  EXPECT_TRUE(has(finding_of("o = (3, 7)\n<!-- worked: o 3 6 -->\n"), "the lines above do not have 6"));
  EXPECT_TRUE(has(finding_of("6\n\no = (3, 7)\n<!-- worked: o 3 6 -->\n"), "the lines above do not have 6"));
  EXPECT_TRUE(
      has(finding_of("1/8 1/4 1/2 1/9\n<!-- worked: p 1/8 1/4 1/2 1/8 -->\n"), "do not have 1/8 2 times"));
  EXPECT_TRUE(has(finding_of("ds = 1/8\n<!-- worked: D 1/8 -->\n"), "the reference has 9; 2;"));
  EXPECT_TRUE(has(finding_of("−0.883 0.884\n<!-- worked: dq -0.883 0.884 -->\n"), "the reference has"));
  EXPECT_TRUE(has(finding_of("5/4 5/4\n<!-- worked: dq -5/4 5/4 -->\n"), "the lines above do not have -5/4"));
  EXPECT_TRUE(has(finding_of(right + "<!-- worked: output 3 6 -->\n"), "no such name"));
  EXPECT_TRUE(has(finding_of(right + "<!-- worked o 3 6 -->\n"), "is to be of the form"));
  EXPECT_TRUE(has(finding_of(right + "<!-- worked: o 3 -->\n"), "the reference has"));
  EXPECT_TRUE(has(finding_of(right + "<!-- worked: o 3 six -->\n"), "2 findings"));
  EXPECT_TRUE(has(finding_of("<text y=\"10\">2</text>\n<!-- worked: o 2 10 -->\n"),
                  "the lines above do not have 10"));
}

}  // namespace

}  // namespace course
