#include "course/selftest/test_plan.hpp"

#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "runner/subprocess.hpp"

namespace course::program {

std::vector<std::string> TestFilter::ctest_arguments() const {
  std::vector<std::string> arguments;
  for (const std::string& label : all_of) arguments.insert(arguments.end(), {"-L", label});
  if (!none_of.empty()) arguments.insert(arguments.end(), {"-LE", none_of});
  return arguments;
}

std::vector<std::string> list_tests(const std::filesystem::path& tree, const TestFilter& filter) {
  std::vector<std::string> command{"ctest", "--test-dir", tree, "--show-only=json-v1"};
  const std::vector<std::string> arguments = filter.ctest_arguments();
  command.insert(command.end(), arguments.begin(), arguments.end());
  const Captured said = capture({.argv = command});
  const std::size_t start = said.output.find("{\n");
  const std::size_t end = said.output.rfind("\n}");
  if (said.exit.code != 0 || start == std::string::npos || end == std::string::npos) {
    throw std::runtime_error("ctest cannot list the tests of " + tree.string() + ":\n" + said.output);
  }
  std::vector<std::string> names;
  const nlohmann::json listed = nlohmann::json::parse(said.output.substr(start, end + 2 - start));
  for (const nlohmann::json& test : listed.at("tests")) names.push_back(test.at("name"));
  return names;
}

Estimate::Estimate(std::vector<std::string> tests, std::map<std::string, double> costs) {
  for (const std::string& test : tests) {
    const auto known = costs.find(test);
    waiting_[test] = known == costs.end() ? -1 : known->second;
  }
}

void Estimate::finished(const std::string& test, double seconds) {
  waiting_.erase(test);
  finished_seconds_ += seconds;
  ++finished_count_;
}

double Estimate::left(double elapsed) const {
  constexpr int enough = 5;
  if (finished_count_ < enough || finished_seconds_ <= 0) return -1;
  const double average = finished_seconds_ / finished_count_;
  double work = 0;
  for (const auto& [test, cost] : waiting_) work += cost < 0 ? average : cost;
  return elapsed * work / finished_seconds_;
}

std::map<std::string, double> parse_costs(const std::string& text) {
  std::map<std::string, double> costs;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && line != "---";) {
    std::istringstream words(line);
    std::string test;
    int runs = 0;
    double seconds = 0;
    if (words >> test >> runs >> seconds && runs > 0) costs[test] = seconds;
  }
  return costs;
}

}  // namespace course::program
