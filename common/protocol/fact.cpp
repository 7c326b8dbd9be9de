#include "protocol/fact.hpp"

#include <charconv>
#include <concepts>
#include <cstring>
#include <map>

#include "protocol/fact_fields.hpp"
#include "protocol/status_page.hpp"
#include "text/text_file.hpp"

namespace course {

namespace {

constexpr char between_marks = ',';

std::string in_words(const std::string& value) {
  return value;
}

template <std::integral Number>
std::string in_words(Number value) {
  return std::to_string(value);
}

std::string in_words(const std::vector<std::string>& marks) {
  std::string all;
  for (const std::string& mark : marks) all += (all.empty() ? "" : std::string(1, between_marks)) + mark;
  return all;
}

void take(const std::string& words, std::string& value) {
  value = words;
}

/// Leaves the value as it is where the words are no number.
template <std::integral Number>
void take(const std::string& words, Number& value) {
  std::from_chars(words.data(), words.data() + words.size(), value);
}

void take(const std::string& words, std::vector<std::string>& marks) {
  marks = split(words, between_marks);
}

/// Without what divides a page's lines and cells.
std::string in_a_cell(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return text;
}

}  // namespace

std::string line_of_page(const Fact& fact) {
  std::string line = fact.kind + "\t" + in_a_cell(fact.text);
  std::map<std::string, std::string> unset;
  const Fact nothing{};
  visit_fields(nothing, [&](const char* name, const auto& value) { unset[name] = in_words(value); });
  visit_fields(fact, [&](const char* name, const auto& value) {
    const std::string words = in_words(value);
    if (words != unset.at(name)) line += std::string("\t") + name + "=" + in_a_cell(words);
  });
  return line;
}

void append_fact(RankStatus& page, const Fact& fact) {
  const std::string line = line_of_page(fact) + '\n';
  const std::size_t used = strnlen(page.facts, sizeof page.facts);
  if (used + line.size() < sizeof page.facts) std::memcpy(page.facts + used, line.c_str(), line.size() + 1);
}

std::optional<Fact> fact_in_line(const std::string& line) {
  const std::vector<std::string> cells = split(line, '\t');
  if (cells.size() < 2) return std::nullopt;
  Fact fact{cells[0], cells[1]};
  for (std::size_t i = 2; i < cells.size(); ++i) {
    const std::size_t equals = cells[i].find('=');
    if (equals == std::string::npos) continue;
    visit_fields(fact, [&](const char* name, auto& value) {
      if (cells[i].compare(0, equals, name) == 0) take(cells[i].substr(equals + 1), value);
    });
  }
  return fact;
}

}  // namespace course
