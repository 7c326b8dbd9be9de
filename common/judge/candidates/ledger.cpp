#include "judge/candidates/ledger.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "runner/descriptor.hpp"
#include "text/text_file.hpp"

namespace course {

namespace {

constexpr const char* passed = "passed";

using Tests = std::set<std::string>;

std::string recorded_as(const TestVerdict& verdict) {
  if (verdict.status == TestVerdict::Status::Passed) return passed;
  if (verdict.status == TestVerdict::Status::Todo) return "todo";
  if (verdict.mistakes.empty()) return "failed";
  return fmt::format("failed: {}", fmt::join(verdict.mistakes, ", "));
}

/// Whether the verdict is one of those that the ledger has, "passed | failed: deadlock".
bool admits(const std::string& recorded, const std::string& verdict) {
  static const std::string either = " | ";
  return (either + recorded + either).find(either + verdict + either) != std::string::npos;
}

/// Holds the file for this process alone.
Descriptor locked(const std::filesystem::path& file) {
  Descriptor descriptor(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (descriptor.get() < 0 || flock(descriptor.get(), LOCK_EX) != 0)
    throw std::runtime_error(fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
  return descriptor;
}

constexpr std::string_view public_word = "public", hidden_word = "hidden", all_word = "all", none_word = "-";

std::string words(const Tests& tests) {
  return fmt::format("{}", fmt::join(tests, " "));
}

/// A lesson's tests, as the first two lines of its file have them.
struct LessonTests {
  Tests open, hidden;  ///< those that every submission is played in; and right ones, too

  Tests all() const {
    Tests both = open;
    both.insert(hidden.begin(), hidden.end());
    return both;
  }

  /// What a column stands for.
  Tests read(const std::string& column) const {
    if (column == public_word) return open;
    if (column == all_word) return all();
    if (column == none_word) return {};
    const std::vector<std::string> names = split(column, ' ');
    return {names.begin(), names.end()};
  }

  std::string column(const Tests& tests) const {
    return tests == open ? std::string(public_word) : tests == all() ? std::string(all_word) : words(tests);
  }
};

LessonTests tests_in(const Ledger& ledger) {
  LessonTests all;
  for (const auto& [submission, verdicts] : ledger) {
    for (const auto& [test, verdict] : verdicts)
      (test.ends_with(".hidden") ? all.hidden : all.open).insert(test);
  }
  return all;
}

/// The lines of one submission without its name. That it passes the public tests which no other of its lines
/// has is not written down.
std::vector<std::string> lines_to_record(const std::map<std::string, std::string>& verdicts,
                                         const LessonTests& lesson) {
  std::vector<std::pair<std::string, Tests>> by_verdict;
  Tests played;
  for (const auto& [test, verdict] : verdicts) {
    auto same = std::ranges::find(by_verdict, verdict, &std::pair<std::string, Tests>::first);
    if (same == by_verdict.end()) same = by_verdict.insert(by_verdict.end(), {verdict, {}});
    same->second.insert(test);
    played.insert(test);
  }
  const bool rest_passes = played == lesson.open && by_verdict.size() > 1;
  std::vector<std::string> lines;
  for (const auto& [verdict, tests] : by_verdict) {
    if (!rest_passes || verdict != passed) lines.push_back(verdict + '\t' + lesson.column(tests));
  }
  const bool has_passed = std::ranges::count(by_verdict, passed, &std::pair<std::string, Tests>::first) > 0;
  if (played != lesson.open && !has_passed) lines.push_back(fmt::format("{}\t{}", passed, none_word));
  return lines;
}

void write(const std::filesystem::path& file, const Ledger& ledger) {
  std::ofstream text(file);
  const LessonTests lesson = tests_in(ledger);
  for (const auto& [word, tests] : {std::pair{public_word, lesson.open}, {hidden_word, lesson.hidden}})
    text << word << (tests.empty() ? "" : "\t") << words(tests) << '\n';
  for (const auto& [submission, verdicts] : ledger) {
    for (const std::string& line : lines_to_record(verdicts, lesson))
      text << submission << '\t' << line << '\n';
  }
  text.close();
  if (!text) throw std::runtime_error("cannot write " + file.string());
}

}  // namespace

Ledger read_ledger(const std::filesystem::path& file) {
  Ledger ledger;
  if (!std::filesystem::exists(file)) return ledger;
  std::ifstream text(file);
  LessonTests lesson;
  std::set<std::string> whole;  // submissions of which every test is listed
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    const std::string place = fmt::format("{}:{}", file.string(), ++number);
    const std::vector<std::string> columns = split(line, '\t');
    if (number <= 2) {
      const bool is_open = number == 1;
      if (columns.empty() || columns[0] != (is_open ? public_word : hidden_word))
        throw std::runtime_error(fmt::format("{}: expected '{}' and tests with tabs between them: {}", place,
                                             is_open ? public_word : hidden_word, line));
      if (columns.size() > 1) (is_open ? lesson.open : lesson.hidden) = lesson.read(columns[1]);
      continue;
    }
    if (columns.size() != 3 || std::ranges::count(columns, "") > 0) {
      throw std::runtime_error(fmt::format(
          "{}: expected a submission, a verdict and tests with tabs between them: {}", place, line));
    }
    if (columns[1] == passed) whole.insert(columns[0]);
    for (const std::string& test : lesson.read(columns[2])) {
      if (!ledger[columns[0]].emplace(test, columns[1]).second)
        throw std::runtime_error(fmt::format("{}: {} has test {} a second time", place, columns[0], test));
    }
  }
  for (auto& [submission, verdicts] : ledger) {
    if (whole.contains(submission)) continue;
    for (const std::string& test : lesson.open) verdicts.emplace(test, passed);
  }
  if (!text.eof()) throw std::runtime_error("cannot read " + file.string());
  return ledger;
}

std::string differences(const Ledger& ledger, const std::string& submission, const Round& round,
                        const std::set<std::string>& left_out) {
  const auto found = ledger.find(submission);
  std::map<std::string, std::string> missing;
  if (found != ledger.end()) missing = found->second;
  std::string text;
  for (const PlayedTest& test : round.tests) {
    const std::string name = test.test->name();
    const std::string verdict = recorded_as(test.verdict);
    const auto recorded = missing.extract(name);
    // A mutant that reads what is not its own may end its task sooner than it did when it was recorded.
    const bool is_ended = test.verdict.status == TestVerdict::Status::NotPlayed && !recorded.empty() &&
                          !admits(recorded.mapped(), passed);
    if (is_ended) continue;
    if (recorded.empty()) {
      text += fmt::format("  {}: the ledger does not have it, and it came out as: {}\n", name, verdict);
    } else if (!admits(recorded.mapped(), verdict)) {
      text +=
          fmt::format("  {}: the ledger has: {}, and it came out as: {}\n", name, recorded.mapped(), verdict);
    }
  }
  for (const auto& [name, verdict] : missing) {
    if (left_out.contains(name)) continue;
    text += fmt::format("  {}: the ledger has: {}, and it was not played\n", name, verdict);
  }
  return text;
}

void record(const std::filesystem::path& file, const std::string& submission, const Round& round) {
  const Descriptor lock = locked(file);
  Ledger ledger = read_ledger(file);
  const std::map<std::string, std::string> before = std::exchange(ledger[submission], {});
  for (const PlayedTest& test : round.tests) {
    const std::string name = test.test->name();
    const std::string verdict = recorded_as(test.verdict);
    const auto recorded = before.find(name);
    ledger[submission][name] =
        recorded != before.end() && admits(recorded->second, verdict) ? recorded->second : verdict;
  }
  write(file, ledger);
}

}  // namespace course
