#include "course/selftest/test_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "course/terminal/live_progress.hpp"
#include "course/terminal/terminal.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace {

using Outcome = TestRow::Outcome;

auto count(const std::vector<TestRow>& rows, Outcome outcome) {
  return std::ranges::count(rows, outcome, &TestRow::outcome);
}

/// The rows of a lesson's mutants, variants or combinations, played with one seed or with several, by id.
std::map<std::string, TestRow> rows_of(const std::vector<TestRow>& rows, const std::string& kind,
                                       const LessonInfo& lesson) {
  const std::string prefix = kind + "." + lesson.tag() + ".";
  std::map<std::string, TestRow> found;
  for (const TestRow& row : rows) {
    for (const std::string& start : {prefix, "seeds." + prefix}) {
      if (row.name.starts_with(start)) found[row.name.substr(start.size())] = row;
    }
  }
  return found;
}

std::string passed_of_all(const std::map<std::string, TestRow>& rows) {
  const auto passed =
      std::ranges::count_if(rows, [](const auto& row) { return row.second.outcome == Outcome::Passed; });
  return rows.empty() ? "-" : fmt::format("{} of {}", passed, rows.size());
}

/// Where a test that skips itself says why.
std::string last_line(const std::string& text) {
  std::string last = "it did not say why";
  for (const std::string& line : lines_of(text)) {
    if (line.find_first_not_of(' ') != std::string::npos) last = line;
  }
  return last;
}

/// ctest's words for an order.
std::vector<std::string> ctest(const TestOrder& order, const std::vector<std::string>& options) {
  std::vector<std::string> command{"ctest", "--test-dir", order.tree};
  command.insert(command.end(), order.filter.begin(), order.filter.end());
  command.insert(command.end(), options.begin(), options.end());
  return command;
}

std::vector<std::string> list_tests(const TestOrder& order) {
  const Captured said = capture({.argv = ctest(order, {"--show-only=json-v1"})});
  const std::size_t start = said.output.find("{\n");
  const std::size_t end = said.output.rfind("\n}");
  if (said.exit.code != 0 || start == std::string::npos || end == std::string::npos)
    throw std::runtime_error("ctest cannot list the tests of " + order.tree.string() + ":\n" + said.output);
  std::vector<std::string> names;
  const nlohmann::json listed = nlohmann::json::parse(said.output.substr(start, end + 2 - start));
  for (const nlohmann::json& test : listed.at("tests")) names.push_back(test.at("name"));
  return names;
}

std::map<std::string, double> known_costs(const std::filesystem::path& tree) {
  const std::filesystem::path file = tree / "Testing" / "Temporary" / "CTestCostData.txt";
  return std::filesystem::exists(file) ? parse_costs(read_text(file)) : std::map<std::string, double>{};
}

}  // namespace

void print_row(const TestRow& row) {
  if (row.outcome == Outcome::Skipped) {
    fmt::print("{}  {}: {}\n", painted("SKIP", Colour::Yellow), row.name, row.reason);
  } else {
    fmt::print("{}  {}   {}, {:.1f} s\n{}", painted("FAIL", Colour::Red), row.name, row.reason, row.seconds,
               row.output);
  }
  std::fflush(stdout);
}

std::string summary(const std::vector<TestRow>& rows) {
  std::vector<TestRow> skipped;
  std::ranges::copy_if(rows, std::back_inserter(skipped),
                       [](const TestRow& row) { return row.outcome == Outcome::Skipped; });
  return fmt::format("{} passed, {} failed, {} skipped{}{}", count(rows, Outcome::Passed),
                     count(rows, Outcome::Failed), skipped.size(), skipped.empty() ? "" : ": ",
                     joined(skipped, &TestRow::name));
}

std::string slowest_tests(std::vector<TestRow> rows, std::size_t how_many) {
  std::ranges::stable_sort(rows, std::greater(), &TestRow::seconds);
  rows.resize(std::min(rows.size(), how_many));
  std::string text;
  for (const TestRow& row : rows) text += fmt::format("{:>8.1f} s  {}\n", row.seconds, row.name);
  return text;
}

std::string test_table(const std::vector<LessonInfo>& lessons, const std::vector<TestRow>& rows) {
  constexpr const char* line = "{:<26} {:>7} {:>6} {:>5} {:>20} {:>9} {:>12}\n";
  std::string text;
  for (const LessonInfo& lesson : lessons) {
    const auto mutants = rows_of(rows, "mutant", lesson);
    const auto variants = rows_of(rows, "variant", lesson);
    const auto combinations = rows_of(rows, "combination", lesson);
    if (mutants.empty() && variants.empty() && combinations.empty()) continue;
    int named = 0, failed = 0, by_answer = 0;
    for (const auto& [id, row] : mutants) {
      const bool is_named = row.outcome == Outcome::Passed;
      named += is_named;
      // The judge's words for a mutant that failed under no name or a wrong one.
      failed += is_named || row.output.find("it should be named") != std::string::npos;
      // A further form's id ends in its number.
      by_answer += is_named && lesson.mistake(id.substr(0, id.find('.'))).by == "answer";
    }
    text += fmt::format(line, lesson.id + " " + lesson.name, mutants.size(), failed, named,
                        fmt::format("{}/{}", by_answer, named - by_answer), passed_of_all(variants),
                        passed_of_all(combinations));
  }
  if (text.empty()) return "";
  return fmt::format(line, "lesson", "mutants", "failed", "named", "by answer/instrument", "variants",
                     "combinations") +
         text;
}

std::vector<TestRow> run_tests(const TestOrder& order) {
  const std::vector<std::string> tests = list_tests(order);
  Estimate estimate(tests, known_costs(order.tree));
  CtestOutput output;
  std::vector<TestRow> rows;
  LiveProgress progress("tests");
  const auto show_progress = [&](const std::string& last) {
    const std::string counts =
        fmt::format("tests: {} of {}, {} failed", rows.size(), tests.size(), count(rows, Outcome::Failed));
    progress.show([=](double elapsed) {
      const double left = estimate.left(elapsed);
      return fmt::format("{}, {}{}{}", counts, duration(elapsed),
                         left >= 0 ? ", about " + duration(left) + " left" : "",
                         last.empty() ? "" : "; " + last);
    });
  };
  const auto keep = [&](TestRow row) {
    row.name = order.prefix + row.name;
    if (row.outcome != Outcome::Passed) {
      progress.clear();
      print_row(row);
    }
    rows.push_back(std::move(row));
    show_progress(rows.back().name);
  };
  show_progress("");
  run({.argv = ctest(order, {"-V", "-j", std::to_string(order.jobs)})}, [&](const std::string& line) {
    const std::optional<TestRow> row = output.add(line);
    if (!row) return;
    estimate.finished(row->name, row->seconds);
    keep(*row);
  });
  for (const auto& [test, cost] : estimate.waiting())
    keep({Outcome::Failed, test, "ctest ended before it", "", 0});
  return rows;
}

std::optional<TestRow> CtestOutput::add(const std::string& line) {
  // "a.b ......   Passed    0.25 sec", "c.d ....***Timeout  12.30 sec"; a long name leaves no blank and no
  // dots.
  static const std::regex ending(R"((\S+?) ?\.*( {2,}|\*\*\*)(.+?) +([0-9.]+) sec.*)");
  int id = 0, length = 0;
  if (std::sscanf(line.c_str(), " %*d/%*d Test #%d: %n", &id, &length) == 1 && length > 0) {
    std::smatch found;
    const std::string rest = line.substr(static_cast<std::size_t>(length));
    if (!std::regex_match(rest, found, ending)) return std::nullopt;
    TestRow row{Outcome::Failed, found[1], found[3], std::move(outputs_[id]), std::stod(found[4])};
    outputs_.erase(id);
    const bool starred = found[2] == "***";
    if (!starred && row.reason == "Passed") row.outcome = Outcome::Passed;
    if (starred && row.reason == "Skipped") {
      row.outcome = Outcome::Skipped;
      row.reason = last_line(row.output);
    }
    return row;
  }
  length = 0;
  if (std::sscanf(line.c_str(), " Start %d: %n", &id, &length) == 1 && length > 0) {
    started_ = id;
  } else if (length = 0; std::sscanf(line.c_str(), "%d: %n", &id, &length) == 1 && length > 0) {
    const std::string text = line.substr(line.find(": ") + 2);
    // What ctest itself writes in a test's name before the test says anything.
    const bool is_preamble = text.starts_with("Test command: ") || text.starts_with("Working Directory: ") ||
                             text.starts_with("Test timeout computed to be: ");
    if (!is_preamble) outputs_[id] += text + "\n";
  } else if (started_ != 0 && line.find("not find executable") != std::string::npos) {
    outputs_[started_] += line + "\n";
  }
  return std::nullopt;
}

std::map<std::string, double> parse_costs(const std::string& text) {
  std::map<std::string, double> costs;
  std::istringstream words(text);
  std::string test;
  int runs = 0;
  double seconds = 0;
  while (words >> test && test != "---" && words >> runs >> seconds) {
    if (runs > 0) costs[test] = seconds;
  }
  return costs;
}

namespace {
std::string kind_of(const std::string& test) {
  return test.substr(0, test.find('.'));
}
}  // namespace

Estimate::Estimate(const std::vector<std::string>& tests, const std::map<std::string, double>& costs) {
  for (const std::string& test : tests) {
    const auto known = costs.find(test);
    waiting_[test] = known == costs.end() ? std::nullopt : std::optional(known->second);
  }
}

void Estimate::finished(const std::string& test, double seconds) {
  waiting_.erase(test);
  for (Kind* const kind : {&finished_[kind_of(test)], &all_}) {
    kind->seconds += seconds;
    ++kind->count;
  }
}

double Estimate::left(double elapsed) const {
  constexpr int enough = 5;
  constexpr double little_s = 0.25;
  if (all_.count < enough || all_.seconds <= 0) return -1;
  double work = 0;
  for (const auto& [test, cost] : waiting_) {
    const auto kind = finished_.find(kind_of(test));
    work += cost.value_or(kind == finished_.end() ? little_s : kind->second.seconds / kind->second.count);
  }
  return elapsed * work / all_.seconds;
}

}  // namespace course::program
