#include "course/selftest/test_table.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace course::program {

namespace {

struct Tally {
  int all = 0;
  int passed = 0;
  std::string text() const { return all == 0 ? "-" : fmt::format("{} of {}", passed, all); }
};

struct LessonTally {
  Tally mutants;
  int failed = 0;  ///< by the judge, under whatever name
  int by_answer = 0;
  int by_instrument = 0;
  Tally variants;
  Tally combinations;
  bool empty() const { return mutants.all + variants.all + combinations.all == 0; }
};

void add_mutant(LessonTally& tally, const LessonInfo& lesson, const std::string& id, const TestRow& row) {
  const bool named = row.outcome == TestRow::Outcome::Passed;
  ++tally.mutants.all;
  tally.mutants.passed += named;
  // The judge's words for a mutant that failed under no name or a wrong one.
  tally.failed += named || row.output.find("it should be named") != std::string::npos;
  if (!named) return;
  (lesson.mistake(id).by == "answer" ? tally.by_answer : tally.by_instrument) += 1;
}

LessonTally tally_of(const LessonInfo& lesson, const std::vector<TestRow>& rows) {
  LessonTally tally;
  const auto id_of = [&](const TestRow& row, const std::string& kind) {
    for (const std::string& begin : {kind, "seeds." + kind}) {
      const std::string prefix = begin + ".lesson" + lesson.id + ".";
      if (row.name.starts_with(prefix)) return row.name.substr(prefix.size());
    }
    return std::string();
  };
  for (const TestRow& row : rows) {
    const std::string mutant = id_of(row, "mutant");
    if (!mutant.empty()) add_mutant(tally, lesson, mutant, row);
    for (const auto& [kind, counted] :
         {std::pair{"variant", &tally.variants}, std::pair{"combination", &tally.combinations}}) {
      if (id_of(row, kind).empty()) continue;
      ++counted->all;
      counted->passed += row.outcome == TestRow::Outcome::Passed;
    }
  }
  return tally;
}

}  // namespace

std::string test_table(const std::vector<LessonInfo>& lessons, const std::vector<TestRow>& rows) {
  std::string text;
  for (const LessonInfo& lesson : lessons) {
    const LessonTally tally = tally_of(lesson, rows);
    if (tally.empty()) continue;
    text += fmt::format("{:<26} {:>7} {:>6} {:>5} {:>20} {:>9} {:>12}\n", lesson.id + " " + lesson.name,
                        tally.mutants.all, tally.failed, tally.mutants.passed,
                        fmt::format("{}/{}", tally.by_answer, tally.by_instrument), tally.variants.text(),
                        tally.combinations.text());
  }
  if (text.empty()) return "";
  return fmt::format("{:<26} {:>7} {:>6} {:>5} {:>20} {:>9} {:>12}\n", "lesson", "mutants", "failed", "named",
                     "by answer/instrument", "variants", "combinations") +
         text;
}

std::string slowest_tests(std::vector<TestRow> rows, std::size_t how_many) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const TestRow& one, const TestRow& other) { return one.seconds > other.seconds; });
  rows.resize(std::min(rows.size(), how_many));
  std::string text;
  for (const TestRow& row : rows) text += fmt::format("{:>8.1f} s  {}\n", row.seconds, row.name);
  return text;
}

}  // namespace course::program
