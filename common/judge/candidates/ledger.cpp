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
#include <vector>

#include "runner/descriptor.hpp"

namespace course {

namespace {

std::string verdict_text(const TestVerdict& verdict) {
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

}  // namespace

Ledger::Ledger(std::filesystem::path file)
    : file_(std::move(file)), has_lesson_(std::filesystem::exists(file_)) {
  if (!has_lesson_) return;
  std::ifstream text(file_);
  int number = 0;
  for (std::string line; std::getline(text, line);) read_line(line, ++number);
  if (!text.eof()) throw std::runtime_error("cannot read " + file_.string());
}

void Ledger::read_line(const std::string& line, int number) {
  std::istringstream columns(line);
  std::string submission, verdict, tests;
  std::getline(columns, submission, '\t');
  std::getline(columns, verdict, '\t');
  std::getline(columns, tests);
  if (submission.empty() || verdict.empty() || tests.empty()) {
    throw std::runtime_error(
        fmt::format("{}:{}: expected a submission, a verdict and tests with tabs between them: {}",
                    file_.string(), number, line));
  }
  std::istringstream names(tests);
  for (std::string name; names >> name;) {
    if (!submissions_[submission].emplace(name, verdict).second)
      throw std::runtime_error(
          fmt::format("{}:{}: {} has test {} a second time", file_.string(), number, submission, name));
  }
}

std::string Ledger::differences(const std::string& submission, const JudgedRound& round,
                                bool complete) const {
  const auto found = submissions_.find(submission);
  Verdicts missing = found == submissions_.end() ? Verdicts{} : found->second;
  std::string text;
  for (std::size_t i = 0; i < round.tests.size(); ++i) {
    const std::string name = round.tests[i]->name();
    const std::string verdict = verdict_text(round.verdicts[i]);
    const auto recorded = missing.extract(name);
    if (recorded.empty()) {
      text += fmt::format("  {}: the ledger does not have it, and it came out as: {}\n", name, verdict);
    } else if (!admits(recorded.mapped(), verdict)) {
      text +=
          fmt::format("  {}: the ledger has: {}, and it came out as: {}\n", name, recorded.mapped(), verdict);
    }
  }
  if (!complete) return text;
  for (const auto& [name, verdict] : missing)
    text += fmt::format("  {}: the ledger has: {}, and it was not played\n", name, verdict);
  return text;
}

void Ledger::record(const std::filesystem::path& file, const std::string& submission,
                    const JudgedRound& round, bool complete) {
  const Descriptor lock = locked(file);
  Ledger ledger(file);
  Verdicts& verdicts = ledger.submissions_[submission];
  const Verdicts before = verdicts;
  if (complete) verdicts.clear();
  for (std::size_t i = 0; i < round.tests.size(); ++i) {
    const std::string name = round.tests[i]->name();
    const std::string verdict = verdict_text(round.verdicts[i]);
    const auto recorded = before.find(name);
    verdicts[name] =
        recorded != before.end() && admits(recorded->second, verdict) ? recorded->second : verdict;
  }
  ledger.write();
}

void Ledger::write() const {
  std::ofstream text(file_);
  for (const auto& [submission, verdicts] : submissions_) {
    std::vector<std::pair<std::string, std::string>> lines;
    for (const auto& [test, verdict] : verdicts) {
      auto line = std::ranges::find(lines, verdict, &std::pair<std::string, std::string>::first);
      if (line == lines.end()) line = lines.insert(lines.end(), {verdict, ""});
      line->second += (line->second.empty() ? "" : " ") + test;
    }
    for (const auto& [verdict, tests] : lines) text << submission << '\t' << verdict << '\t' << tests << '\n';
  }
  text.close();
  if (!text) throw std::runtime_error("cannot write " + file_.string());
}

}  // namespace course
