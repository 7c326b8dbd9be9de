#include "course/handout/handout_pages.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

#include "course/terminal/terminal.hpp"
#include "text/text_file.hpp"
#include "text/wrapped.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

bool holds(const std::vector<LessonInfo>& held, const std::string& id) {
  return std::ranges::find(held, id, &LessonInfo::id) != held.end();
}

/// The lessons' ids in a line's words: "lesson: 05 07 · difficulty: 2".
std::vector<std::string> ids_in(const std::string& text) {
  static const std::regex id(R"(\b[0-9]{2}\b)");
  std::vector<std::string> ids;
  for (std::sregex_iterator found(text.begin(), text.end(), id), end; found != end; ++found)
    ids.push_back(found->str());
  return ids;
}

bool holds_all(const std::vector<LessonInfo>& held, const std::string& ids) {
  return std::ranges::all_of(ids_in(ids), [&](const std::string& id) { return holds(held, id); });
}

bool is_fence(const std::string& line) {
  return line.starts_with("```");
}

bool starts_item(const std::string& line) {
  return line.starts_with("|") || line.starts_with("- ") || line.starts_with("![");
}

/// A row that is a title for those below it.
bool is_title(const std::string& row) {
  return row.starts_with("| | **");
}

std::string without_empty_titles(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string next = i + 1 < lines.size() ? lines[i + 1] : "";
    const bool is_empty = is_title(lines[i]) && (!next.starts_with("|") || is_title(next));
    if (!is_empty) text += lines[i] + "\n";
  }
  return text;
}

/// Replaces each match by what `replacement` makes of it.
template <class Replacement>
std::string replaced(const std::string& text, const std::regex& what, Replacement replacement) {
  std::string result;
  auto rest = text.begin();
  for (std::sregex_iterator found(text.begin(), text.end(), what), end; found != end; ++found) {
    result.append(rest, text.begin() + found->position());
    result += replacement(*found);
    rest = text.begin() + found->position() + found->length();
  }
  return result.append(rest, text.end());
}

/// A page in pieces: what stands between fences of code, and what stands in them, in turn.
std::vector<std::string> pieces_of(const std::string& page) {
  std::vector<std::string> pieces{""};
  for (const std::string& line : lines_of(page)) {
    const bool in_code = pieces.size() % 2 == 0;
    if (is_fence(line) && !in_code) pieces.emplace_back();
    pieces.back() += line + "\n";
    if (is_fence(line) && in_code) pieces.emplace_back();
  }
  return pieces;
}

/// With the empty lines behind each.
std::vector<std::string> paragraphs_of(const std::string& text) {
  std::vector<std::string> paragraphs{""};
  for (const std::string& line : lines_of(text)) {
    if (!line.empty() && paragraphs.back().ends_with("\n\n")) paragraphs.emplace_back();
    if (line.empty() && paragraphs.back().empty())
      paragraphs.back() = "\n";
    else
      paragraphs.back() += line + "\n";
  }
  return paragraphs;
}

/// Not a table, a list or a heading.
bool is_prose(const std::string& paragraph) {
  static const std::regex no_prose(R"((^|\n)(\s|[-*|#>!<$]|[0-9]+\.))");
  return !std::regex_search(paragraph.substr(0, paragraph.find_last_not_of('\n') + 1), no_prose);
}

/// A paragraph with lines as long as its longest.
std::string filled_again(const std::string& paragraph) {
  const std::string words = paragraph.substr(0, paragraph.find_last_not_of('\n') + 1);
  std::size_t longest = 0;
  for (const std::string& line : lines_of(words)) longest = std::max(longest, columns_of(line));
  std::string text;
  std::size_t column = 0;
  std::istringstream all(words);
  for (std::string word; all >> word;) {
    const bool fits = column + 1 + columns_of(word) <= longest;
    if (column > 0) text += fits ? " " : "\n";
    column = columns_of(word) + (column > 0 && fits ? column + 1 : 0);
    text += word;
  }
  return text + paragraph.substr(words.size());
}

}  // namespace

std::string without_instructors_parts(const std::string& name, const std::string& page,
                                      const std::vector<LessonInfo>& held) {
  static const std::string with_lessons = "<!-- in a handout with lessons ";
  std::string text;
  bool in_part = false, leaving_out = false;
  for (const std::string& line : lines_of(page)) {
    const bool begins = line == "<!-- not in a handout -->" || line.starts_with(with_lessons);
    if (!begins && line != "<!-- in a handout, too -->") {
      if (!leaving_out) text += line + "\n";
      continue;
    }
    if (begins == in_part) throw std::invalid_argument(name + ": " + line + " stands without its other");
    in_part = begins;
    leaving_out = begins && !(line.starts_with(with_lessons) && holds_all(held, line));
  }
  if (in_part) throw std::invalid_argument(name + ": a part for some handouts has no end");
  return text;
}

std::string without_dead_items(const std::string& page,
                               const std::function<bool(const std::string&)>& exists) {
  static const std::regex link(R"(\]\(([^)#:]+)(#[^)]*)?\))");
  std::vector<std::string> kept;
  bool leaving_out = false;
  for (const std::string& line : lines_of(page)) {
    const bool continues_item = line.starts_with("  ");  // as those of an item after its first
    if (!leaving_out || !continues_item) {
      leaving_out = false;
      for (std::sregex_iterator found(line.begin(), line.end(), link), end; found != end; ++found)
        leaving_out = leaving_out || (starts_item(line) && !exists((*found)[1]));
    }
    if (!leaving_out) kept.push_back(line);
  }
  return without_empty_titles(kept);
}

std::string without_dead_links(const std::string& page,
                               const std::function<bool(const std::string&)>& exists) {
  // A link's words may go over a line's end, and hold code in brackets of its own.
  static const std::regex link(R"((!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s#:]+)(#[^)\s]*)?\))");
  const auto mended = [&](const std::string& paragraph) {
    const std::string text = replaced(paragraph, link, [&](const std::smatch& found) {
      if (exists(found[3])) return found.str();
      return found[1].length() > 0 ? std::string() : found[2].str();
    });
    return text == paragraph || !is_prose(paragraph) ? text : filled_again(text);
  };
  const std::vector<std::string> pieces = pieces_of(page);
  std::string text;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool is_code = i % 2 == 1;
    for (const std::string& paragraph : paragraphs_of(pieces[i]))
      text += is_code ? paragraph : mended(paragraph);
  }
  return text;
}

std::string with_held_lessons(const std::string& page, const std::vector<LessonInfo>& all,
                              const std::vector<LessonInfo>& held) {
  static const std::regex graded(R"(\b(grade )([0-9]{2}(?: [0-9]{2})*)\b)"),
      named(
          R"((\b(?:check|drill|hint|locate|quiz|release|reset|show|trace) |\breplay lesson|-L lesson)([0-9]{2})(\.[0-9])?)"),
      first_named(R"(([Ll]esson )([0-9]{2}))"), file(R"(lessons/([0-9]{2})_[a-z_]+/[a-z_]+\.(cpp|cu))");
  const LessonInfo& first = held.front();
  const auto other = [&](const std::string& id) {
    return std::ranges::find(all, id, &LessonInfo::id) != all.end() && !holds(held, id);
  };
  const auto first_instead = [&](const std::smatch& found) {
    if (!other(found[2])) return found.str();
    return found[1].str() + first.id + (found[3].matched ? "." + first.tasks.front().id : "");
  };
  const auto held_alone = [&](const std::smatch& found) {
    std::vector<std::string> ids = ids_in(found[2]);
    std::erase_if(ids, other);
    return found[1].str() + (ids.empty() ? first.id : joined(ids, {}, " "));
  };
  std::string text;
  bool of_first = false, in_code = false;
  for (std::string line : lines_of(page)) {
    if (line.starts_with("## ")) of_first = line == "## A first lesson";
    if (is_fence(line)) in_code = !in_code;
    // What a command has printed is an example, of whatever lesson.
    if (!line.starts_with("FAIL") && !line.starts_with("      ")) {
      const std::string with_commands = replaced(replaced(line, named, first_instead), graded, held_alone);
      const bool is_commented = in_code && with_commands != line;  // "./course check 05  # grade lesson 05"
      line = with_commands;
      if (of_first || is_commented) line = replaced(line, first_named, first_instead);
      if (!in_code)
        line = replaced(line, file, [&](const std::smatch& found) {
          return other(found[1]) ? "lessons/" + first.folder() + "/" + first.files.front() : found.str();
        });
    }
    text += line + "\n";
  }
  return text;
}

std::optional<std::string> with_questions_of(const std::string& page, const std::vector<LessonInfo>& held) {
  std::vector<std::string> parts{""};  // what stands before the first question, and the questions
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("## ")) parts.emplace_back();
    parts.back() += line + "\n";
  }
  const auto needs_another = [&](const std::string& question) {
    const std::vector<std::string> lines = lines_of(question);
    const auto tags =
        std::ranges::find_if(lines, [](const std::string& line) { return line.starts_with("lesson: "); });
    return tags != lines.end() && !holds_all(held, tags->substr(0, tags->find("·")));
  };
  const std::size_t had = parts.size();
  parts.erase(std::remove_if(parts.begin() + 1, parts.end(), needs_another), parts.end());
  if (had > 1 && parts.size() == 1) return std::nullopt;
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

std::string with_questions_counted(const std::string& page, const fs::path& folder) {
  static const std::regex row(R"(^(\| \[.*\]\(([a-z-]+\.md)\) \| )[0-9]+( \|)$)"),
      sum(R"(^(\| in all \| )[0-9]+( \|)$)");
  std::string text;
  std::size_t all = 0;
  for (const std::string& line : lines_of(page)) {
    std::smatch found;
    if (std::regex_match(line, found, row)) {
      const std::vector<std::string> lines = lines_of(read_text(folder / found[2].str()));
      const std::size_t questions =
          std::ranges::count_if(lines, [](const std::string& each) { return each.starts_with("lesson: "); });
      all += questions;
      text += found[1].str() + std::to_string(questions) + found[3].str() + "\n";
    } else if (std::regex_match(line, found, sum)) {
      text += found[1].str() + std::to_string(all) + found[2].str() + "\n";
    } else {
      text += line + "\n";
    }
  }
  return text;
}

std::vector<std::string> lessons_built_on(const std::string& registry, const std::vector<LessonInfo>& held) {
  const nlohmann::json lessons = nlohmann::json::parse(registry).at("lessons");
  std::set<std::string> needed;
  std::vector<std::string> missing;
  // A lesson builds on earlier ones.
  for (auto lesson = lessons.rbegin(); lesson != lessons.rend(); ++lesson) {
    const std::string id = lesson->at("id");
    if (!holds(held, id) && !needed.contains(id)) continue;
    if (!holds(held, id)) missing.insert(missing.begin(), id);
    for (const std::string other : lesson->at("builds_on")) needed.insert(other);
  }
  return missing;
}

}  // namespace course::program
