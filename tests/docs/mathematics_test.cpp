// Holds the formulas of every page against what GitHub's Markdown does to them before its mathematics sees
// them. GitHub reads what stands between dollars as text first: a backslash before a punctuation mark goes
// (`\,` becomes a comma, `\{` a brace that is not shown, `\\` no new line), `*` and some `_` begin emphasis,
// `<b` begins a tag, `[a](b)` is a link. The site and a terminal show such a formula as it was meant, so that
// nobody notices. Plain blanks, \quad, or a fence ```math do instead.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "text/text_file.hpp"

namespace course {

namespace {

namespace fs = std::filesystem;

bool is_blank(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

bool is_punctuation(char c) {
  return std::ispunct(static_cast<unsigned char>(c)) != 0;
}

/// What Markdown reads as one run of text: a paragraph, an item, a heading or a row of a table.
struct Block {
  int line;  ///< of its first
  std::string text;
};

/// The blocks of a page, without its fences.
std::vector<Block> blocks_of(const std::string& page) {
  static const std::regex fence(" *(```|~~~).*"), begins(" *(#|\\||[-*+] |[0-9]+[.)] |<).*");
  std::vector<Block> blocks;
  bool fenced = false, open = false;
  int number = 0;
  for (const std::string& line : lines_of(page)) {
    ++number;
    const bool is_fence = std::regex_match(line, fence);
    if (is_fence) fenced = !fenced;
    if (is_fence || fenced || line.find_first_not_of(' ') == std::string::npos) {
      open = false;
      continue;
    }
    if (!open || std::regex_match(line, begins)) blocks.push_back({number, ""});
    open = true;
    blocks.back().text += line + "\n";
  }
  return blocks;
}

/// The text with as many letters in the place of code, comments and what they hide. `$`...`$`, which GitHub
/// leaves as it is, is code to Markdown.
std::string without_code(std::string text) {
  static const std::regex hidden("\\$`[^`]*`\\$|``.+?``|`[^`]*`|<!--[^]*?-->");
  std::string shown = text;
  for (std::sregex_iterator found(text.begin(), text.end(), hidden), end; found != end; ++found)
    shown.replace(static_cast<std::size_t>(found->position()), static_cast<std::size_t>(found->length()),
                  static_cast<std::size_t>(found->length()), 'x');
  return shown;
}

struct Formula {
  std::size_t first, last;  ///< of the block: what stands between the dollars
  bool display;
};

std::vector<Formula> formulas_of(const std::string& block) {
  static const std::regex dollars(R"(\$\$([^]*?)\$\$|\$([^$]*)\$)");
  std::vector<Formula> all;
  for (std::sregex_iterator found(block.begin(), block.end(), dollars), end; found != end; ++found) {
    const bool display = (*found)[1].matched;
    const auto first = static_cast<std::size_t>(found->position(display ? 1 : 2));
    all.push_back({first, first + static_cast<std::size_t>(found->length(display ? 1 : 2)), display});
  }
  return all;
}

/// Whether the underscore at `i` can begin emphasis, and whether it can end one: CommonMark 0.31,
/// section 6.2.
struct Underscore {
  bool begins, ends;
};

Underscore underscore_at(const std::string& text, std::size_t i) {
  const char before = i > 0 ? text[i - 1] : ' ', after = i + 1 < text.size() ? text[i + 1] : ' ';
  const bool left =
      !is_blank(after) && (!is_punctuation(after) || is_blank(before) || is_punctuation(before));
  const bool right =
      !is_blank(before) && (!is_punctuation(before) || is_blank(after) || is_punctuation(after));
  return {left && (!right || is_punctuation(before)), right && (!left || is_punctuation(after))};
}

/// The place of an underscore that begins emphasis which another ends, with a formula's own at one end at
/// least.
std::size_t emphasis_in(const std::string& text, const std::vector<Formula>& formulas) {
  const auto in_formula = [&](std::size_t i) {
    return std::ranges::any_of(formulas, [&](const Formula& one) { return one.first <= i && i < one.last; });
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_' || !underscore_at(text, i).begins) continue;
    for (std::size_t j = i + 1; j < text.size(); ++j) {
      if (text[j] == '_' && underscore_at(text, j).ends && (in_formula(i) || in_formula(j))) return i;
    }
  }
  return std::string::npos;
}

/// What a formula may not hold, wherever its underscores stand.
struct Refused {
  std::regex pattern;
  const char* why;
};
const std::array refused{
    Refused{std::regex(R"(\\[!-/:-@\[-`{-~])"), "GitHub takes the backslash away before a punctuation mark"},
    Refused{std::regex(R"(\*)"), "GitHub may read * as emphasis: \\cdot, \\ast"},
    Refused{std::regex(R"(~)"), "GitHub may read ~ as struck out"},
    Refused{std::regex(R"(<[A-Za-z/!?])"),
            "GitHub reads < before a letter as a tag: leave a blank behind it"},
    Refused{std::regex(R"(\][(])"), "GitHub reads [..](..) as a link: leave a blank between"},
    Refused{std::regex(R"(\\(operatorname|newcommand|def|DeclareMathOperator)\b)"),
            "GitHub allows no such macro: \\mathrm"},
    Refused{std::regex(R"(`)"), "GitHub reads ` as code"}};

/// What GitHub would break in a page: "LINE: why: the formula".
std::vector<std::string> broken_on_github(const std::string& page) {
  std::vector<std::string> found;
  for (const Block& block : blocks_of(page)) {
    const std::string text = without_code(block.text);
    const std::vector<Formula> formulas = formulas_of(text);
    const auto say = [&](std::size_t at, const std::string& why, const std::string& what) {
      const auto line =
          block.line + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      found.push_back(std::to_string(line) + ": " + why + ": " + what);
    };
    for (const Formula& formula : formulas) {
      const std::string inside = text.substr(formula.first, formula.last - formula.first);
      for (const auto& [pattern, why] : refused) {
        if (std::smatch match; std::regex_search(inside, match, pattern))
          say(formula.first + static_cast<std::size_t>(match.position()), why, inside);
      }
      if (formula.display) continue;
      const char before = formula.first > 1 ? text[formula.first - 2] : ' ', after = text[formula.last + 1];
      if (inside.find('\n') != std::string::npos || inside.empty() || is_blank(inside.front()) ||
          is_blank(inside.back()))
        say(formula.first, "GitHub wants a formula on one line, without blanks at its ends", inside);
      if (std::isalnum(static_cast<unsigned char>(before)) != 0 ||
          std::isalnum(static_cast<unsigned char>(after)) != 0)
        say(formula.first, "GitHub sees no formula in dollars beside a letter or a digit", inside);
    }
    if (const std::size_t at = emphasis_in(text, formulas); at != std::string::npos)
      say(at,
          "GitHub reads two underscores as emphasis, this one behind a punctuation mark and one after it: "
          "\\mathrm{lse_i}",
          text.substr(at > 12 ? at - 12 : 0, 40));
  }
  return found;
}

TEST(Mathematics, ThatGitHubBreaksIsFound) {
  for (const char* page : {R"($a\,b$)",
                           R"($a\;b$)",
                           R"($\{1\}$)",
                           R"($\%$)",
                           R"($a\_b$)",
                           R"($\|x\|$)",
                           "$$a \\\\\nb$$",
                           R"($$\begin{aligned} a &= b \\ c &= d \end{aligned}$$)",
                           R"($a^*$)",
                           R"($a * b * c$)",
                           R"($\newcommand{\a}{b}$)",
                           R"($\operatorname{min}$)",
                           R"($a <b$)",
                           R"($[a](b)$)",
                           R"($a~b$)",
                           R"($\mathrm{lse}_i = \log \sum_j e^{s_{ij}}$)",
                           R"($+_{E}$ and $c +_{E} d$)",
                           R"(- $(a)_i$ goes to $s_{ij}$)",
                           "_so $s_{ij}$ is_ ",
                           "$a\nb$",
                           "$ a$",
                           "$a$b",
                           "2$a$",
                           "| a | $\\mathrm{x}_i$ | $s_{ij}$ |",
                           "words $a_i$\nand $b\\,c$"}) {
    EXPECT_EQ(broken_on_github(page).size(), 1u) << page;
  }
  EXPECT_EQ(broken_on_github("# A\n\nwords\nand $b\\,c$").at(0).substr(0, 2), "4:");
}

TEST(Mathematics, ThatGitHubShowsIsLeftAlone) {
  for (const char* page :
       {R"($p_{ij} = e^{s_{ij} - \mathrm{lse_i}}$ and $s_{ij}$)", R"($a \quad b \qquad c$, $\sqrt d$)",
        R"($`a\,b`$)", R"(`$a\,b$`)", "```math\na \\\\ b\\,c\n```", "    \n```\n$a\\,b$\n```",
        R"($$\Bigl( a \Bigr) \ b$$)", R"($a < b$, $[a] (b)$)", "- $\\mathrm{x}_i$\n- $s_{ij}$",
        "| $\\mathrm{x}_i$ |\n| --- |\n| $s_{ij}$ |", "*words* and $a$ and *words*", "$$a =\nb$$",
        "<!-- $a\\,b$ -->", "1 $a$, ($b$): $c$. \"$d$\""}) {
    EXPECT_EQ(broken_on_github(page), std::vector<std::string>()) << page;
  }
}

TEST(Mathematics, OfEveryPageIsShownByGitHub) {
  const fs::path root = COURSE_ROOT;
  std::vector<fs::path> pages{root / "README.md"};
  for (const char* folder : {"docs", "lessons", "solutions", "tests", "common"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() == ".md") pages.push_back(entry.path());
    }
  }
  std::size_t formulas = 0;
  for (const fs::path& page : pages) {
    const std::string text = read_text(page);
    for (const Block& block : blocks_of(text)) formulas += formulas_of(without_code(block.text)).size();
    for (const std::string& what : broken_on_github(text))
      ADD_FAILURE() << fs::relative(page, root).string() << ":" << what;
  }
  EXPECT_GT(formulas, 1000u) << "the pages' formulas are no longer found";
}

}  // namespace

}  // namespace course
