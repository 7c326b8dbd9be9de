#include "course/selftest/corpus_table.hpp"

#include <fmt/core.h>

#include <fstream>
#include <optional>
#include <stdexcept>

namespace course::program {

namespace fs = std::filesystem;

namespace {

std::string tests_of(const LessonInfo& lesson, const std::string& side) {
  return "corpus." + lesson.tag() + "." + side + ".";
}

/// The rating among the comments that an answer begins with; nullopt where nobody has rated it.
std::optional<bool> rating_in(const fs::path& answer) {
  constexpr std::string_view comment = "// ", rating = "// rating: ";
  std::ifstream text(answer);
  for (std::string line; std::getline(text, line) && line.starts_with(comment);) {
    if (!line.starts_with(rating)) continue;
    const std::string word = line.substr(rating.size());
    if (word == "led" || word == "not led") return word == "led";
    throw std::runtime_error(
        fmt::format("{} is rated '{}', expected 'led' or 'not led'", answer.string(), word));
  }
  return std::nullopt;
}

/// What came of a lesson's answers. The judge's words for them are those of check_expectation().
struct Counts {
  int right = 0, passed = 0;
  int wrong = 0, failed = 0, named = 0, led = 0, not_led = 0, misnamed = 0;

  void add_right(const TestRow& row) {
    ++right;
    passed += row.output.find("\nas expected: pass\n") != std::string::npos;
  }

  void add_wrong(const TestRow& row, std::optional<bool> rating) {
    ++wrong;
    if (row.output.find("\nas expected: fails") == std::string::npos) return;
    ++failed;
    const bool is_named = row.output.find(", and is named\n") != std::string::npos;
    named += is_named;
    misnamed += row.output.find(", and is misnamed ") != std::string::npos;
    if (is_named) rating = true;
    led += rating == true;
    not_led += rating == false;
  }
};

}  // namespace

std::map<std::string, bool> corpus_ratings(const fs::path& root, const std::vector<LessonInfo>& lessons) {
  std::map<std::string, bool> ratings;
  for (const LessonInfo& lesson : lessons) {
    const fs::path folder = root / "tests" / "corpus" / lesson.tag() / "wrong";
    if (!fs::exists(folder)) continue;
    for (const fs::directory_entry& answer : fs::directory_iterator(folder)) {
      const std::optional<bool> rating = rating_in(answer.path());
      if (rating) ratings[tests_of(lesson, "wrong") + answer.path().stem().string()] = *rating;
    }
  }
  return ratings;
}

std::string corpus_table(const std::vector<LessonInfo>& lessons, const std::vector<TestRow>& rows,
                         const std::map<std::string, bool>& ratings) {
  constexpr const char* line = "{:<26} {:>7} {:>6} {:>6} {:>6} {:>5} {:>5} {:>7} {:>8}\n";
  std::string text;
  for (const LessonInfo& lesson : lessons) {
    Counts counts;
    for (const TestRow& row : rows) {
      const auto rating = ratings.find(row.name);
      if (row.name.starts_with(tests_of(lesson, "right"))) counts.add_right(row);
      if (row.name.starts_with(tests_of(lesson, "wrong")))
        counts.add_wrong(row, rating == ratings.end() ? std::nullopt : std::optional(rating->second));
    }
    if (counts.right + counts.wrong == 0) continue;
    text += fmt::format(line, lesson.id + " " + lesson.name, counts.right, counts.passed, counts.wrong,
                        counts.failed, counts.named, counts.led, counts.not_led, counts.misnamed);
  }
  if (text.empty()) return "";
  return fmt::format(line, "corpus", "right", "passed", "wrong", "failed", "named", "led", "not led",
                     "misnamed") +
         text;
}

}  // namespace course::program
