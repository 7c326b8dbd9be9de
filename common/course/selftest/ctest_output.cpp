#include "course/selftest/ctest_output.hpp"

#include <cstdio>
#include <cstdlib>

namespace course::program {

namespace {

using Outcome = TestRow::Outcome;

/// The last line of a text that is not empty: where a test that skips itself says why.
std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return "it did not say why";
  const std::size_t start = text.rfind('\n', end);
  return text.substr(start == std::string::npos ? 0 : start + 1,
                     end - (start == std::string::npos ? 0 : start + 1) + 1);
}

/// "***Timeout  12.30 sec" or "   Passed    0.25 sec", as it stands after the dots.
TestRow row_of(const std::string& name, const std::string& ending) {
  TestRow row;
  row.name = name;
  const std::size_t end = ending.find(" sec");
  const std::size_t number = end == std::string::npos ? end : ending.rfind(' ', end - 1);
  if (number != std::string::npos) row.seconds = std::atof(ending.c_str() + number);
  const std::size_t word = ending.find_first_not_of(" *");
  const std::size_t word_end = ending.find_last_not_of(' ', number);
  if (word != std::string::npos && word_end != std::string::npos)
    row.reason = ending.substr(word, word_end - word + 1);
  if (ending.find("***") == std::string::npos) {
    row.outcome = row.reason == "Passed" ? Outcome::Passed : Outcome::Failed;
  } else {
    row.outcome = row.reason == "Skipped" ? Outcome::Skipped : Outcome::Failed;
  }
  return row;
}

/// What ctest itself writes in a test's name before the test says anything.
bool is_preamble(const std::string& text) {
  for (const char* start : {"Test command: ", "Working Directory: ", "Test timeout computed to be: "}) {
    if (text.starts_with(start)) return true;
  }
  return false;
}

}  // namespace

std::optional<TestRow> CtestOutput::add(const std::string& line) {
  int done = 0;
  int total = 0;
  int id = 0;
  int length = 0;
  char name[256];
  if (std::sscanf(line.c_str(), " %d/%d Test #%d: %255s%n", &done, &total, &id, name, &length) == 4) {
    // A long name leaves no blank before what follows the dots.
    std::string ending = line.substr(static_cast<std::size_t>(length));
    std::string word = name;
    if (const std::size_t stars = word.find("***"); stars != std::string::npos) {
      ending = word.substr(stars) + ending;
      word.resize(stars);
    }
    word.resize(word.find_last_not_of('.') + 1);
    if (const std::size_t dots = ending.find_first_not_of(" ."); dots != std::string::npos)
      ending = ending.substr(dots);
    TestRow row = row_of(word, ending);
    row.output = std::move(outputs_[id]);
    outputs_.erase(id);
    if (row.outcome == Outcome::Skipped) row.reason = last_line(row.output);
    return row;
  }
  if (std::sscanf(line.c_str(), " Start %d: %n", &id, &length) == 1 && length > 0) {
    started_ = id;
  } else if (length = 0; std::sscanf(line.c_str(), "%d: %n", &id, &length) == 1 && length > 0) {
    const std::string text = line.substr(line.find(": ") + 2);
    if (!is_preamble(text)) outputs_[id] += text + "\n";
  } else if (started_ != 0 && line.find("not find executable") != std::string::npos) {
    outputs_[started_] += line + "\n";
  }
  return std::nullopt;
}

}  // namespace course::program
