#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "runner/subprocess.hpp"

// ctest's tests and their labels, by which ./course test, editors and scripts choose them. A line of
// tests.tsv has a name, its labels and, where a machine may lack it, what the test needs: then it is compared
// only where that is.

namespace course::ledger {

namespace {

struct Recorded {
  std::set<std::string> labels;
  std::string needs;
};

std::set<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  std::set<std::string> found;
  for (std::string word; words >> word;) found.insert(word);
  return found;
}

std::map<std::string, Recorded> read_names(const std::string& path) {
  std::ifstream file(path);
  std::map<std::string, Recorded> tests;
  for (std::string line; std::getline(file, line);) {
    std::istringstream columns(line);
    std::string name, labels, needs;
    std::getline(columns, name, '\t');
    std::getline(columns, labels, '\t');
    std::getline(columns, needs);
    tests[name] = {words_of(labels), needs};
  }
  return tests;
}

std::map<std::string, std::set<std::string>> registered() {
  const Captured said = capture({.argv = {CTEST, "--test-dir", BUILD, "--show-only=json-v1"}});
  std::map<std::string, std::set<std::string>> tests;
  const nlohmann::json listed = nlohmann::json::parse(said.output.substr(said.output.find("{\n")));
  for (const nlohmann::json& test : listed.at("tests")) {
    std::set<std::string>& labels = tests[test.at("name")];
    for (const nlohmann::json& property : test.at("properties"))
      if (property.at("name") == "LABELS") labels = property.at("value").get<std::set<std::string>>();
  }
  return tests;
}

void write_names(const std::string& path, const std::map<std::string, Recorded>& before) {
  std::ofstream file(path);
  for (const auto& [name, labels] : registered()) {
    const auto known = before.find(name);
    const std::string needs = known != before.end()       ? known->second.needs
                              : labels.contains("python") ? "python"
                                                          : "";
    std::string line = name + '\t';
    for (const std::string& label : labels) line += (line.back() == '\t' ? "" : " ") + label;
    file << line << (needs.empty() ? "" : '\t' + needs) << '\n';
  }
}

TEST(Names, OfTestsAndTheirLabelsAreStillThere) {
  const std::map<std::string, Recorded> recorded = read_names(TESTS_TSV);
  if (std::getenv("COURSE_RECORD_LEDGER") != nullptr) return write_names(TESTS_TSV, recorded);
  ASSERT_GT(recorded.size(), 0u) << TESTS_TSV;
  const std::set<std::string> had = words_of(HAD);
  const std::map<std::string, std::set<std::string>> now = registered();
  std::map<std::string, int> left_out;
  for (const auto& [name, test] : recorded) {
    if (!test.needs.empty() && !had.contains(test.needs)) {
      ++left_out[test.needs];
      continue;
    }
    const auto found = now.find(name);
    if (found == now.end()) {
      ADD_FAILURE() << "ctest has no test " << name << " any more";
      continue;
    }
    for (const std::string& label : test.labels)
      EXPECT_TRUE(found->second.contains(label)) << name << " has lost its label " << label;
  }
  for (const auto& [needs, count] : left_out)
    std::printf("not compared, since this machine has no %s: %d tests\n", needs.c_str(), count);
}

}  // namespace

}  // namespace course::ledger
