#include <algorithm>
#include <array>
#include <regex>
#include <set>
#include <sstream>

#include "course/quiz/quiz.hpp"
#include "course/terminal/terminal.hpp"
#include "protocol/errors.hpp"
#include "text/text_file.hpp"
#include "text/wrapped.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

/// The parts of an answer, in their order.
constexpr std::array<std::pair<const char*, std::string Question::*>, 3> answer_parts{
    {{"**In a line.**", &Question::line},
     {"**On the whiteboard.**", &Question::whiteboard},
     {"**And then?**", &Question::follow_up_answer}}};

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \n") == std::string::npos;
}

/// Reads a page line by line.
class QuestionPage {
 public:
  explicit QuestionPage(std::string name) : name_(std::move(name)) {}

  void take(const std::string& line) {
    ++number_;
    if (line.starts_with("## ")) {
      finish();
      started_at_ = number_;
      Question& question = questions_.emplace_back();
      question.topic = fs::path(name_).stem().string();
      question.text = line.substr(3);
    } else if (started_at_ == 0 || line.starts_with("<details") || line.starts_with("</details")) {
      // what stands before the first question, and what folds an answer on a code host
    } else if (line.starts_with("lesson: ")) {
      take_tags(line);
    } else {
      take_answer(line);
    }
  }

  std::vector<Question> finished() {
    finish();
    return std::move(questions_);
  }

 private:
  [[noreturn]] void complain_at(int line, const std::string& what) const {
    throw UsageError(name_ + ":" + std::to_string(line) + ": " + what);
  }

  void take_tags(const std::string& line) {
    static const std::regex tags(
        "lesson: ([0-9]{2}(?: [0-9]{2})*) · difficulty: ([123])( · classic)? · id: ([a-z0-9-]+)");
    std::smatch found;
    if (!std::regex_match(line, found, tags))
      complain_at(
          number_,
          "expected 'lesson: 05 07 · difficulty: 2 · id: some-name', with '· classic' before the id or "
          "without, and got '" +
              line + "'");
    Question& question = questions_.back();
    if (!question.id.empty()) complain_at(number_, "a second line of tags for one question");
    const std::string lessons = found[1];
    for (std::size_t at = 0; at < lessons.size(); at += 3) question.lessons.push_back(lessons.substr(at, 2));
    question.difficulty = std::stoi(found[2]);
    question.is_classic = found[3].matched;
    question.id = found[4];
  }

  void take_answer(const std::string& line) {
    std::string text = line;
    for (std::size_t i = 0; i < answer_parts.size(); ++i) {
      const std::string mark = answer_parts[i].first;
      if (!line.starts_with(mark)) continue;
      if (i != parts_begun_) complain_at(number_, mark + " is out of its order");
      ++parts_begun_;
      text = line.substr(std::min(line.size(), mark.size() + 1));
    }
    if (parts_begun_ > 0)
      questions_.back().*answer_parts[parts_begun_ - 1].second += text + "\n";
    else if (!line.empty())
      complain_at(number_, "expected " + std::string(answer_parts[0].first) + " and got '" + line + "'");
  }

  void finish() {
    if (started_at_ == 0) return;
    Question& question = questions_.back();
    const std::string lacks = "the question '" + question.text + "' has no ";
    if (question.id.empty()) complain_at(started_at_, lacks + "line of tags ('lesson: ...')");
    for (const auto& [mark, part] : answer_parts) {
      if (is_blank(question.*part)) complain_at(started_at_, lacks + mark);
    }
    split_follow_up(question, lacks);
    parts_begun_ = 0;
  }

  /// What stands behind its mark is a question and, in a paragraph of its own, the answer.
  void split_follow_up(Question& question, const std::string& lacks) const {
    const std::string whole = question.follow_up_answer;
    const std::size_t end = std::min(whole.find("\n\n"), whole.size());
    question.follow_up = whole.substr(0, end);
    question.follow_up_answer = whole.substr(end);
    if (!question.follow_up.starts_with("*") || !question.follow_up.ends_with("*"))
      complain_at(started_at_, lacks + "*question in stars* after **And then?**");
    if (is_blank(question.follow_up_answer))
      complain_at(started_at_, lacks + "answer below the question after **And then?**");
    question.follow_up_answer.erase(0, question.follow_up_answer.find_first_not_of('\n'));
  }

  std::string name_;
  int number_ = 0;
  int started_at_ = 0;           ///< the line of the question; 0 before the first
  std::size_t parts_begun_ = 0;  ///< of its answer
  std::vector<Question> questions_;
};

/// The digits of a whole power set high; any other power stays in brackets.
std::string with_high_digits(const std::string& formula) {
  static const std::regex power(R"(\^(?:\{(-?[0-9]+)\}|([0-9])))");
  static const std::array digits{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text;
  auto rest = formula.begin();
  for (std::sregex_iterator found(formula.begin(), formula.end(), power), end; found != end; ++found) {
    text.append(rest, (*found)[0].first);
    for (const char c : found->str(1) + found->str(2))
      text += c == '-' ? "⁻" : digits.at(static_cast<std::size_t>(c - '0'));
    rest = (*found)[0].second;
  }
  return text.append(rest, formula.end());
}

/// What the pages use of LaTeX as plain text.
std::string without_latex(const std::string& formula) {
  static const std::regex name(R"(\\mathrm\{([^{}]*)\})"), subscript(R"(_\{([^{}]*)\})");
  static const std::pair<const char*, const char*> words[]{
      {"\\cdot", "·"},    {"\\times", "×"},  {"\\circ", "∘"},  {"\\sum", "Σ"},   {"\\sqrt", "√"},
      {"\\ge", "≥"},      {"\\le", "≤"},     {"\\infty", "∞"}, {"\\pm", "±"},    {"\\to", "→"},
      {"\\dots", "…"},    {"\\Theta", "Θ"},  {"\\sigma", "σ"}, {"\\tau", "τ"},   {"\\partial", "∂"},
      {"\\epsilon", "ε"}, {"\\bmod", "mod"}, {"\\log", "log"}, {"\\max", "max"}, {"\\min", "min"},
      {"\\langle", "⟨"},  {"\\rangle", "⟩"}, {"{", "("},       {"}", ")"}};
  std::string text =
      with_high_digits(std::regex_replace(std::regex_replace(formula, name, "$1"), subscript, "_$1"));
  for (const auto& [word, shown] : words) {
    const std::string_view from = word, to = shown;
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  }
  return text;
}

/// The same of every formula in a text.
std::string with_plain_formulas(const std::string& markdown) {
  static const std::regex formula(R"(\$([^$]*)\$)");
  std::string text;
  auto rest = markdown.begin();
  for (std::sregex_iterator found(markdown.begin(), markdown.end(), formula), end; found != end; ++found) {
    text.append(rest, (*found)[0].first);
    text += without_latex((*found)[1]);
    rest = (*found)[0].second;
  }
  return text.append(rest, markdown.end());
}

}  // namespace

std::vector<Question> parse_questions(const std::string& name, const std::string& text) {
  QuestionPage page(name);
  for (const std::string& line : lines_of(text)) page.take(line);
  return page.finished();
}

std::vector<Question> read_questions(const Checkout& checkout) {
  const fs::path folder = fs::path("docs") / "interview";
  std::set<fs::path> pages;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkout.root / folder, none)) {
    const fs::path name = entry.path().filename();
    if (name.extension() == ".md" && name != "README.md" && name != "numbers.md") pages.insert(folder / name);
  }
  std::vector<Question> all;
  std::map<std::string, std::string> page_of;
  for (const fs::path& page : pages) {
    for (Question& question : parse_questions(page.string(), read_text(checkout.root / page))) {
      const auto [other, is_new] = page_of.emplace(question.id, page.string());
      if (!is_new)
        throw UsageError(page.string() + ": the id '" + question.id + "' is taken in " + other->second);
      all.push_back(std::move(question));
    }
  }
  if (all.empty()) throw Unavailable("this checkout has no questions in " + folder.string());
  return all;
}

/// As plain text, which begins with its first line, be it indented code.
static std::string as_plain_text(const std::string& markdown) {
  const std::string plain = plain_text(markdown);
  const std::size_t first = markdown.find_first_not_of('\n');
  return first != std::string::npos && markdown.compare(first, 4, "    ") == 0 ? "    " + plain : plain;
}

std::string readable(const std::string& markdown, std::size_t width) {
  static const std::regex item(" *(-|[0-9]+\\.) .*");
  std::string text, indent = "  ";
  std::size_t column = 0;  // of the line that is being filled; 0: none
  const auto end_line = [&] {
    if (column > 0) text += "\n";
    column = 0;
  };
  for (const std::string& line : lines_of(as_plain_text(with_plain_formulas(markdown)))) {
    std::smatch found;
    if (line.starts_with("    ")) {  // code
      end_line();
      text += line + "\n";
      continue;
    }
    const bool starts_item = std::regex_match(line, found, item);
    if (line.empty() || starts_item) end_line();
    if (line.empty()) text += "\n";
    if (line.empty() || starts_item) indent = "  ";
    std::istringstream words(line);
    for (std::string word; words >> word; column += columns_of(word)) {
      if (column + columns_of(word) + 1 > width) end_line();
      text += column == 0 ? indent : " ";
      column += column == 0 ? indent.size() : 1;
      text += word;
      if (starts_item) indent = "    ";
    }
  }
  end_line();
  return text;
}

}  // namespace course::program
