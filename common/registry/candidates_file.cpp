#include "registry/candidates_file.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <regex>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "text/text_file.hpp"

namespace course {

namespace {

constexpr std::string_view heading = "## ";
constexpr std::string_view fence = "```";

[[noreturn]] void fail(int line, const std::string& problem) {
  throw std::runtime_error("line " + std::to_string(line) + ": " + problem);
}

/// "one + other" is the id "one+other".
std::string id_of(const std::string& title, int line) {
  static const std::regex expected("[a-z][a-z0-9_]*( \\+ [a-z][a-z0-9_]*)?");
  if (!std::regex_match(title, expected))
    fail(line,
         "the heading '" + title + "' is no id; expected one like v_left_behind, or two with ' + ' between");
  std::string id;
  std::ranges::remove_copy(title, std::back_inserter(id), ' ');
  return id;
}

/// The edits of a fence's lines, as a diff has them: "-old", "+new", " both", and "@@" between two edits.
std::vector<Edit> edits_of(const std::vector<std::string>& lines, int first_line) {
  std::vector<Edit> edits(1);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    const char sign = line.empty() ? ' ' : line[0];
    const std::string text = line.empty() ? "\n" : line.substr(1) + "\n";
    if (line == "@@") {
      edits.emplace_back();
    } else if (sign == ' ' || sign == '-' || sign == '+') {
      if (sign != '+') edits.back().before += text;
      if (sign != '-') edits.back().after += text;
    } else {
      fail(first_line + static_cast<int>(i),
           "'" + line + "' begins with none of '-', '+' and ' ', and is no '@@' between two edits");
    }
  }
  if (std::ranges::any_of(edits, [](const Edit& edit) { return edit.before.empty(); }))
    fail(first_line, "an edit has no old text to be found by");
  return edits;
}

/// A form from the line of its fence, "```diff", "```diff python" or "```cpp", and the lines inside.
Form form_of(const std::string& opening, const std::vector<std::string>& inside, int line) {
  const std::string info = opening.substr(fence.size());
  Form form{.python = info == "diff python", .line = line, .edits = {}, .file = {}};
  if (form.python || info == "diff") {
    form.edits = edits_of(inside, line + 1);
  } else if (info == "cpp") {
    for (const std::string& text : inside) form.file += text + "\n";
  } else {
    fail(line, "'" + opening + "' opens no form; expected ```diff, ```diff python or ```cpp");
  }
  return form;
}

/// A word in an edit, "$tile", and what is to stand there; empty: there is none.
struct Constant {
  std::string word, value;
};

/// What opens the form without its constants, and these: "```diff tile = 8, 16" has the constants tile = 8
/// and tile = 16, of which each makes a form.
std::pair<std::string, std::vector<Constant>> constants_of(const std::string& opening, int line) {
  static const std::regex listed("(```(?:diff|cpp|diff python)) ([a-z_]+) = (.+)");
  std::smatch parts;
  if (!std::regex_match(opening, parts, listed)) return {opening, {Constant{}}};
  std::vector<Constant> constants;
  for (const std::string& value : split(parts[3], ',')) {
    const std::size_t first = value.find_first_not_of(' ');
    if (first == std::string::npos) fail(line, "'" + opening + "' has an empty constant");
    constants.push_back({"$" + parts[2].str(), value.substr(first)});
  }
  return {parts[1], constants};
}

std::vector<std::string> with_constant(const Constant& constant,
                                       std::vector<std::string>::const_iterator line,
                                       std::vector<std::string>::const_iterator end) {
  std::vector<std::string> lines(line, end);
  if (constant.word.empty()) return lines;
  for (std::string& text : lines) {
    for (std::size_t at = 0; (at = text.find(constant.word, at)) != std::string::npos;)
      text.replace(at, constant.word.size(), constant.value);
  }
  return lines;
}

/// How often whole lines occur.
int occurrences(const std::string& text, const std::string& lines) {
  int count = 0;
  for (std::size_t at = text.find(lines); at != std::string::npos; at = text.find(lines, at + 1))
    count += at == 0 || text[at - 1] == '\n';
  return count;
}

std::string first_line(const std::string& lines) {
  const std::size_t end = lines.find('\n');
  return lines.substr(0, end) + (end + 1 < lines.size() ? " ..." : "");
}

/// How many characters have to be put in, left out or replaced to make one line of the other.
std::size_t difference(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t replaced = diagonal + (one[i] != other[j] ? 1 : 0);
      diagonal = std::exchange(row[j + 1], std::min({row[j + 1] + 1, row[j] + 1, replaced}));
    }
  }
  return row.back();
}

/// Of lines that a text does not have: the first that is not in it, and the line of the text that comes
/// nearest to that one.
std::string nearest_line(const std::string& text, const std::string& lines) {
  const std::vector<std::string> all = lines_of(text), wanted = lines_of(lines);
  const auto missing = std::ranges::find_if(
      wanted, [&](const std::string& line) { return std::ranges::count(all, line) == 0; });
  if (missing == wanted.end()) return "; it has each of them, and not in this order one after another";
  const auto nearest =
      std::ranges::min_element(all, {}, [&](const std::string& line) { return difference(line, *missing); });
  if (nearest == all.end()) return "";
  return "; nearest to '" + *missing + "' is its line " + std::to_string(nearest - all.begin() + 1) + ", '" +
         *nearest + "'";
}

const CandidateSection& section_of(const std::vector<CandidateSection>& all, const std::string& id) {
  const auto found = std::ranges::find(all, id, &CandidateSection::id);
  if (found == all.end()) throw std::runtime_error("there is no section " + id);
  return *found;
}

/// The one that is so-manieth, from 1.
Form form_numbered(const CandidateSection& section, std::size_t number, bool python) {
  const std::vector<Form> forms = section.forms_in(python);
  if (number >= 1 && number <= forms.size()) return forms[number - 1];
  fail(section.line, section.id + " has no form " + std::to_string(number) + (python ? " in Python" : ""));
}

}  // namespace

std::vector<Form> CandidateSection::forms_in(bool python) const {
  std::vector<Form> some;
  std::ranges::copy_if(forms, std::back_inserter(some),
                       [&](const Form& form) { return form.python == python; });
  return some;
}

std::vector<CandidateSection> parse_candidates(const std::string& markdown) {
  static const std::regex field("- (tasks|by|what|exposed by): (.*\\S)");
  static const std::regex refused("- [a-z ]+:.*|\\s+(```|~~~).*|~~~.*|.*\r");
  std::vector<CandidateSection> sections;
  const std::vector<std::string> lines = lines_of(markdown);
  for (auto line = lines.begin(); line != lines.end(); ++line) {
    const int number = static_cast<int>(line - lines.begin()) + 1;
    std::smatch parts;
    if (line->starts_with(heading)) {
      const std::string id = id_of(line->substr(heading.size()), number);
      if (std::ranges::count(sections, id, &CandidateSection::id) > 0) fail(number, "there is another " + id);
      sections.push_back({.id = id, .line = number, .fields = {}, .forms = {}});
    } else if (line->starts_with(fence)) {
      const auto end = std::find(line + 1, lines.end(), fence);
      if (sections.empty()) fail(number, "a form stands before the first heading");
      if (end == lines.end()) fail(number, "the fence is not closed");
      const auto [info, constants] = constants_of(*line, number);
      for (const Constant& constant : constants)
        sections.back().forms.push_back(form_of(info, with_constant(constant, line + 1, end), number));
      line = end;
    } else if (!sections.empty() && std::regex_match(*line, parts, field)) {
      if (!sections.back().fields.emplace(parts[1], parts[2]).second)
        fail(number, sections.back().id + " has this field already: " + parts[1].str());
    } else if (std::regex_match(*line, refused)) {
      fail(number,
           "'" + *line + "' is neither a field (tasks, by, what, exposed by) in one line nor a fence of ```");
    }
  }
  return sections;
}

std::vector<CandidateSection> read_candidates(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return {};
  try {
    return parse_candidates(read_text(path));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path.string() + ": " + error.what());
  }
}

std::string candidate_text(const std::string& solution, const Form& form) {
  if (form.edits.empty()) return form.file;
  std::map<std::size_t, const Edit*> places;
  for (const Edit& edit : form.edits) {
    if (const int count = occurrences(solution, edit.before); count != 1) {
      fail(form.line, "the solution has these lines " + std::to_string(count) + " times, expected once: " +
                          first_line(edit.before) + (count == 0 ? nearest_line(solution, edit.before) : ""));
    }
    const std::size_t at = solution.starts_with(edit.before) ? 0 : solution.find("\n" + edit.before) + 1;
    if (!places.emplace(at, &edit).second) fail(form.line, "two edits are of the same lines");
  }
  std::string text;
  std::size_t done = 0;
  for (const auto& [at, edit] : places) {
    if (at < done) fail(form.line, "two edits are of the same lines");
    text += solution.substr(done, at - done) + edit->after;
    done = at + edit->before.size();
  }
  return text + solution.substr(done);
}

std::string candidate_source(const std::string& solution, const std::vector<CandidateSection>& all,
                             const std::string& id, std::size_t form, bool python) {
  const CandidateSection& section = section_of(all, id);
  const std::size_t plus = id.find('+');
  if (plus == std::string::npos) return candidate_text(solution, form_numbered(section, form, python));
  const std::string once = candidate_source(solution, all, id.substr(0, plus), 1, python);
  const Form second = section.forms.empty() ? form_numbered(section_of(all, id.substr(plus + 1)), 1, python)
                                            : form_numbered(section, form, python);
  if (second.edits.empty())
    fail(second.line,
         "a whole file would be all of " + id + "; expected edits, of what its first mistake makes");
  return candidate_text(once, second);
}

std::string without_forms(const std::string& markdown) {
  std::string text;
  bool inside = false, combination = false;
  for (const std::string& line : lines_of(markdown)) {
    if (line.starts_with(heading))
      combination = line.find('+') != std::string::npos || line.substr(heading.size()) == unnamed_section;
    const bool is_fence = line.starts_with(fence);
    const bool second_blank = line.empty() && text.ends_with("\n\n");
    if (!is_fence && !inside && !combination && !second_blank) text += line + "\n";
    inside = inside != is_fence;
  }
  return text.ends_with("\n\n") ? text.substr(0, text.size() - 1) : text;
}

}  // namespace course
