#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "runner/subprocess.hpp"

// ctest's tests and their labels, by which ./course test, editors and scripts choose them. A line of
// tests.tsv has a name, its labels and, where a machine may lack it, what the test needs: then it is compared
// only where that is. Of a lesson it has skeleton.lessonNN and what the others do not have; the tests of its
// submissions follow from verdicts/lessonNN.tsv.

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

/// "mutant" and ".one_block_short.2" of mutant.one_block_short.2; the skeleton has no second part.
std::pair<std::string, std::string> parts_of(const std::string& entry) {
  static const std::string without_a_name = "unnamed_unnamed";  // the forms of a section ## unnamed
  if (entry.starts_with(without_a_name)) return {"unnamed", ".unnamed" + entry.substr(without_a_name.size())};
  const std::size_t dot = std::min(entry.find('.'), entry.size());
  return {entry.substr(0, dot), entry.substr(dot)};
}

/// Names in which a combination is written as in verdicts/, where '+' is "_and_".
std::string as_recorded(std::string name) {
  for (std::size_t at = name.find('+'); at != std::string::npos; at = name.find('+'))
    name.replace(at, 1, "_and_");
  return name;
}

/// The tests of a lesson that follow from its verdicts: those of its graded tests and of its submissions.
void add_tests_of(const std::string& lesson, const std::string& needs,
                  std::map<std::string, Recorded>& tests) {
  const std::string path = LEDGER "/verdicts/" + lesson + ".tsv";
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  std::string first, rest;
  std::getline(file >> first, rest);
  ASSERT_EQ(first, "public") << path;
  const auto add = [&](const std::string& name, std::set<std::string> labels, const std::string& needed) {
    labels.insert(lesson);
    tests[name] = {labels, needed};
  };
  const bool has_ranks = rest.find(".ranks") != std::string::npos;
  const auto graded = [&](const std::string& label) {
    return has_ranks ? std::set<std::string>{label, "mpi"} : std::set{label};
  };
  for (const std::string& test : words_of(rest)) {
    add(lesson + "." + test, graded("student"), needs);
    add("solution." + lesson + "." + test, graded("solution"), needs);
  }
  add(lesson + ".build", {"student"}, needs);
  const std::map<std::string, std::set<std::string>> sets{
      {"answers", {"slow"}}, {"given", {"course"}}, {"mistakes", {"course", "mutant"}}, {"seeds", {"seeds"}}};
  for (const auto& [set, labels] : sets) add("candidates." + lesson + "." + set, labels, needs);
  for (std::string line; std::getline(file, line);) {
    const auto [kind, id] = parts_of(line.substr(0, line.find('\t')));
    if (kind == "hidden" || kind == "skeleton") continue;
    const std::string name = kind + "." + lesson + id;
    if (kind == "answer" || kind == "corpus") {
      add(name, {"slow"}, needs);
      add(kind + "." + lesson + ".build", {"slow"}, needs);
      if (kind == "corpus") add("candidates." + lesson + ".corpus", {"slow"}, needs);
    } else if (kind == "python") {
      add(name, {"course", "python"}, "python");
    } else if (id.find_last_of('.') == 0 || id.empty()) {  // else a further form, which few builds have
      add(name, id.empty() ? std::set{kind} : std::set<std::string>{"course", kind}, needs);
      add("seeds." + name, {"seeds"}, needs);
    }
  }
}

/// With the tests that follow from verdicts.
std::map<std::string, Recorded> with_submissions(std::map<std::string, Recorded> tests) {
  static const std::string skeleton = "skeleton.";
  const std::map<std::string, Recorded> listed = tests;
  for (const auto& [name, test] : listed) {
    if (name.starts_with(skeleton)) add_tests_of(name.substr(skeleton.size()), test.needs, tests);
  }
  return tests;
}

/// Whether the test is one of a lesson's that verdicts tell of, or will when they are recorded, or records.
bool is_of_submission(const std::string& name) {
  static const std::regex of_submission(
      R"((seeds\.)?(mutant|unnamed|record|variant|combination|solution|answer|corpus|python|candidates)\.lesson\d\d.*|lesson\d\d\..*)");
  return std::regex_match(name, of_submission);
}

std::map<std::string, std::set<std::string>> registered() {
  const Captured said = capture({.argv = {CTEST, "--test-dir", BUILD, "--show-only=json-v1"}});
  std::map<std::string, std::set<std::string>> tests;
  const nlohmann::json listed = nlohmann::json::parse(said.output.substr(said.output.find("{\n")));
  for (const nlohmann::json& test : listed.at("tests")) {
    std::set<std::string>& labels = tests[as_recorded(test.at("name"))];
    for (const nlohmann::json& property : test.at("properties"))
      if (property.at("name") == "LABELS") labels = property.at("value").get<std::set<std::string>>();
  }
  return tests;
}

/// Records the names that follow from no verdicts: all, or of one lesson, "lesson05". What this machine lacks
/// stays as it is.
void write_names(const std::string& path, const std::map<std::string, Recorded>& before,
                 const std::string& which) {
  const auto is_recorded = [&](const std::set<std::string>& labels) {
    return !which.starts_with("lesson") || labels.contains(which);
  };
  const std::set<std::string> had = words_of(HAD);
  std::map<std::string, Recorded> after = before;
  std::erase_if(after, [&](const auto& test) {
    return is_recorded(test.second.labels) && (test.second.needs.empty() || had.contains(test.second.needs));
  });
  for (const auto& [name, labels] : registered()) {
    if (is_of_submission(name) || !is_recorded(labels)) continue;
    const auto known = before.find(name);
    const std::string needs = known != before.end()       ? known->second.needs
                              : labels.contains("python") ? "python"
                                                          : "";
    after[name] = {labels, needs};
  }
  std::ofstream file(path);
  for (const auto& [name, test] : after) {
    std::string line = name + '\t';
    for (const std::string& label : test.labels) line += (line.back() == '\t' ? "" : " ") + label;
    file << line << (test.needs.empty() ? "" : '\t' + test.needs) << '\n';
  }
}

TEST(Names, OfTestsAndTheirLabelsAreStillThere) {
  const std::map<std::string, Recorded> recorded = read_names(TESTS_TSV);
  if (const char* which = std::getenv("COURSE_RECORD_LEDGER")) return write_names(TESTS_TSV, recorded, which);
  ASSERT_GT(recorded.size(), 0u) << TESTS_TSV;
  const std::map<std::string, Recorded> expected = with_submissions(recorded);
  const std::set<std::string> had = words_of(HAD);
  const std::map<std::string, std::set<std::string>> now = registered();
  std::map<std::string, int> left_out;
  for (const auto& [name, test] : expected) {
    if (!test.needs.empty() && !had.contains(test.needs)) {
      ++left_out[test.needs];
      continue;
    }
    const auto found = now.find(name);
    if (found == now.end()) {
      ADD_FAILURE() << "ctest has no test " << name << " any more; if that is on purpose, "
                    << (is_of_submission(name)
                            ? "./course test --lesson NN --record writes it down"
                            : "COURSE_RECORD_LEDGER=1 ctest -R '^ledger\\.parts$' writes it down");
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
