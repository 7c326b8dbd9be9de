#include "results_shape.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace course::program::grader {

namespace {

using Json = nlohmann::json;
using Rule = std::function<bool(const Json&)>;

Rule one_of(std::set<std::string> values) {
  return [values = std::move(values)](const Json& json) {
    return json.is_string() && values.contains(json.get<std::string>());
  };
}

bool is_score(const Json& json) {
  return json.is_number() && json.get<double>() >= 0;
}
bool is_text(const Json& json) {
  return json.is_string();
}
bool is_object(const Json& json) {
  return json.is_object();
}
bool is_texts(const Json& json) {
  return json.is_array() && std::all_of(json.begin(), json.end(), is_text);
}
bool is_array(const Json& json) {
  return json.is_array();
}

const Rule is_visibility = one_of({"hidden", "after_due_date", "after_published", "visible"});
const Rule is_format = one_of({"text", "html", "simple_format", "md", "ansi"});

const std::map<std::string, Rule>& of_results() {
  static const std::map<std::string, Rule> rules{{"score", is_score},
                                                 {"execution_time", is_score},
                                                 {"output", is_text},
                                                 {"output_format", is_format},
                                                 {"test_output_format", is_format},
                                                 {"test_name_format", is_format},
                                                 {"visibility", is_visibility},
                                                 {"stdout_visibility", is_visibility},
                                                 {"extra_data", is_object},
                                                 {"tests", is_array},
                                                 {"leaderboard", is_array}};
  return rules;
}

const std::map<std::string, Rule>& of_test() {
  static const std::map<std::string, Rule> rules{{"score", is_score},
                                                 {"max_score", is_score},
                                                 {"status", one_of({"passed", "failed"})},
                                                 {"name", is_text},
                                                 {"name_format", is_format},
                                                 {"number", is_text},
                                                 {"output", is_text},
                                                 {"output_format", is_format},
                                                 {"tags", is_texts},
                                                 {"visibility", is_visibility},
                                                 {"extra_data", is_object}};
  return rules;
}

std::string wrong_in(const Json& object, const std::map<std::string, Rule>& rules, const std::string& where) {
  if (!object.is_object()) return where + " is no object";
  for (const auto& [key, value] : object.items()) {
    const auto rule = rules.find(key);
    if (rule == rules.end()) return where + " has the unknown key " + key;
    if (!rule->second(value)) return where + "." + key + " may not be " + value.dump().substr(0, 80);
  }
  return "";
}

}  // namespace

std::string wrong_in_results(const std::string& text) {
  const Json results = Json::parse(text, nullptr, false);
  if (results.is_discarded()) return "no JSON: " + text.substr(0, 80);
  std::string wrong = wrong_in(results, of_results(), "results");
  if (!wrong.empty()) return wrong;
  const Json tests = results.value("tests", Json::array());
  for (const Json& test : tests) {
    if (wrong.empty()) wrong = wrong_in(test, of_test(), "test");
    const double score = test.value("score", 0.0);
    if (wrong.empty() && score > test.value("max_score", score)) wrong = "a score above its max_score";
  }
  if (!wrong.empty()) return wrong;
  return results.contains("score") || !tests.empty() ? "" : "neither a score nor tests";
}

}  // namespace course::program::grader
