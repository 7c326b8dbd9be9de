#include "judge/candidates/ledger.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "runner/descriptor.hpp"

namespace course {

namespace {

std::string recorded_as(const TestVerdict& verdict) {
  if (verdict.status == TestVerdict::Status::Passed) return "passed";
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

void write(const std::filesystem::path& file, const Ledger& ledger) {
  std::ofstream text(file);
  for (const auto& [submission, verdicts] : ledger) {
    std::vector<std::pair<std::string, std::string>> lines;
    for (const auto& [test, verdict] : verdicts) {
      auto line = std::ranges::find(lines, verdict, &std::pair<std::string, std::string>::first);
      if (line == lines.end()) line = lines.insert(lines.end(), {verdict, ""});
      line->second += (line->second.empty() ? "" : " ") + test;
    }
    for (const auto& [verdict, tests] : lines) text << submission << '\t' << verdict << '\t' << tests << '\n';
  }
  text.close();
  if (!text) throw std::runtime_error("cannot write " + file.string());
}

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

Ledger read_ledger(const std::filesystem::path& file) {
  Ledger ledger;
  if (!std::filesystem::exists(file)) return ledger;
  std::ifstream text(file);
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    const std::string place = fmt::format("{}:{}", file.string(), ++number);
    const std::vector<std::string> columns = split(line, '\t');
    if (columns.size() != 3 || std::ranges::count(columns, "") > 0) {
      throw std::runtime_error(fmt::format(
          "{}: expected a submission, a verdict and tests with tabs between them: {}", place, line));
    }
    for (const std::string& test : split(columns[2], ' ')) {
      if (!ledger[columns[0]].emplace(test, columns[1]).second)
        throw std::runtime_error(fmt::format("{}: {} has test {} a second time", place, columns[0], test));
    }
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
