#include "grader/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "grader/beside.hpp"
#include "text/text_file.hpp"
#include "text/utf8.hpp"

namespace course::program::grader {

using Json = nlohmann::ordered_json;

namespace {

int max_points_of(const Report& report, bool skipped) {
  int sum = 0;
  for (const LessonGrade& grade : report.lessons) {
    if ((grade.lesson_status.status == Status::Skipped) == skipped)
      sum += grade.lesson_status.lesson->max_points();
  }
  return sum;
}

std::string lesson_text(const LessonStatus& status) {
  const LessonInfo& lesson = *status.lesson;
  const bool simulated = lesson.needs_gpu() && status.status != Status::Skipped;
  std::string text = fmt::format("lesson {} {}{}: {}, {} of {} points\n", lesson.id, lesson.name,
                                 simulated ? " on the simulated GPU" : "", to_string(status.status),
                                 status.points(), lesson.max_points());
  for (const TaskStatus& task : status.tasks) {
    text += fmt::format("  {:<6} {}.{} {}: {} of {} points\n", to_string(task.status), lesson.id,
                        task.task->id, task.task->name, task.points(), task.task->points);
    for (const std::string& line : lines_of(presentable(task.diagnosis))) text += "         " + line + "\n";
  }
  return text;
}

Json tests_json(const LessonGrade& grade) {
  Json tests = Json::array();
  for (const auto& [name, result] : grade.tests) {
    tests.push_back({{"name", grade.lesson_status.lesson->tag() + "." + name},
                     {"hidden", name.ends_with(hidden_suffix)},
                     {"status", to_string(result.status)},
                     {"text", result.text},
                     {"mistakes", result.mistakes}});
  }
  return tests;
}

/// What a report of one lesson says beside its status.
void add_grade(Json& lesson, const LessonGrade& grade) {
  lesson["tests"] = tests_json(grade);
  lesson["complete"] = !grade.failed;
  lesson["seconds"] = grade.seconds;
  lesson["files_hash"] = grade.files_hash;
  lesson["terms"] = to_json(grade.terms);
  lesson["commit"] = commit_json(grade.commit);
  for (std::size_t i = 0; i < grade.lesson_status.tasks.size(); ++i) {
    lesson["tasks"][i]["told"] = diagnosis_of(grade, grade.lesson_status.tasks[i]);
    if (grade.lesson_status.missing) lesson["tasks"][i]["missing"] = true;
  }
}

/// The numbers of a report that follow from its lessons.
void add_sums(Json& report) {
  int points = 0, max_points = 0, skipped_max_points = 0;
  bool complete = true;
  double seconds = 0;
  std::vector<std::string> hashes;
  for (const Json& lesson : report.at("lessons")) {
    const bool skipped = lesson.at("status") == to_string(Status::Skipped);
    points += lesson.at("points").get<int>();
    (skipped ? skipped_max_points : max_points) += lesson.at("max_points").get<int>();
    complete = complete && lesson.at("complete").get<bool>();
    seconds += lesson.at("seconds").get<double>();
    hashes.push_back(lesson.at("files_hash"));
  }
  report.update({{"complete", complete},
                 {"points", points},
                 {"max_points", max_points},
                 {"skipped_max_points", skipped_max_points},
                 {"seconds", seconds},
                 {"files_hash", content_hash(hashes)}});
}

/// What a task's status takes its diagnosis from: the first test that failed, else the first that is still to
/// do.
const TaskTest* telling_test(const std::vector<TaskTest>& tests) {
  for (const Status status : {Status::Failed, Status::Todo}) {
    const auto found = std::ranges::find(tests, status, &TaskTest::status);
    if (found != tests.end()) return &*found;
  }
  return nullptr;
}

/// What there is to say of a test on hidden inputs.
std::string without_judges_words(const LessonInfo& lesson, const TestResult& result) {
  std::string text = "fails on hidden inputs";
  for (const MistakeInfo& mistake : lesson.mistakes) {
    if (std::ranges::find(result.mistakes, mistake.id) != result.mistakes.end())
      text += "\n" + looks_like(mistake.what);
  }
  return text;
}

/// "not passed on 2, 3 ranks (played on 1, 2, 3)" and a line break; empty for a task on one rank.
std::string failing_ranks(const std::vector<TaskTest>& tests) {
  std::set<int> all, failing;
  for (const TaskTest& test : tests) {
    all.insert(test.ranks);
    if (test.status != Status::Passed) failing.insert(test.ranks);
  }
  if (failing.empty() || all.contains(0)) return "";
  return fmt::format("not passed on {} rank{} (played on {})\n", fmt::join(failing, ", "),
                     failing == std::set{1} ? "" : "s", fmt::join(all, ", "));
}

}  // namespace

std::uint64_t GradingManifest::seed_of(const LessonInfo& lesson) const {
  const auto own = seeds.find(lesson.id);
  return own == seeds.end() ? seed : own->second;
}

bool GradingManifest::decides_as(const GradingManifest& other) const {
  const auto decisive = [](const GradingManifest& terms) {
    return std::tie(terms.seed, terms.isolation, terms.judges, terms.compiler, terms.scope);
  };
  return decisive(*this) == decisive(other);
}

std::string Report::files_hash() const {
  std::vector<std::string> hashes;
  for (const LessonGrade& grade : lessons) hashes.push_back(grade.files_hash);
  return content_hash(hashes);
}

bool Report::is_complete() const {
  return std::ranges::none_of(lessons, &LessonGrade::failed);
}

int Report::points() const {
  int sum = 0;
  for (const LessonGrade& grade : lessons) sum += grade.lesson_status.points();
  return sum;
}

int Report::max_points() const {
  return max_points_of(*this, false);
}

int Report::skipped_max_points() const {
  return max_points_of(*this, true);
}

Json to_json(const GradingManifest& manifest) {
  return {{"seed", manifest.seed},         {"isolation", to_string(manifest.isolation)},
          {"commit", manifest.commit},     {"judges", manifest.judges},
          {"compiler", manifest.compiler}, {"scope", manifest.scope}};
}

GradingManifest manifest_from(const Json& json) {
  return {json.at("seed"),     isolation_named(json.at("isolation")),
          json.at("commit"),   json.at("judges"),
          json.at("compiler"), json.at("scope")};
}

Json commit_json(const std::optional<LastCommit>& commit) {
  if (!commit) return nullptr;
  return {{"id", commit->id},
          {"date", commit->date},
          {"seconds", commit->seconds},
          {"changed_since", commit->changed_since},
          {"cut_off", commit->cut_off}};
}

std::string text_report(const Report& report) {
  std::string text;
  for (const LessonGrade& grade : report.lessons) text += lesson_text(grade.lesson_status);
  text += fmt::format("{}: {} of {} points", report.submission, report.points(), report.max_points());
  if (report.skipped_max_points() > 0)
    text += fmt::format("; {} points could not be graded on this machine", report.skipped_max_points());
  if (!report.edits.paths.empty()) text += "\n" + presentable(edits_in_words(report.edits));
  return text + fmt::format("\ngraded in {:.1f} s with seed {}, isolation {}, commit {}, {}\n",
                            report.seconds, report.manifest.seed, to_string(report.manifest.isolation),
                            report.manifest.commit, report.manifest.compiler);
}

std::string json_report(const Report& report) {
  std::vector<LessonStatus> lesson_statuses;
  for (const LessonGrade& grade : report.lessons) lesson_statuses.push_back(grade.lesson_status);
  Json json = Json::parse(report_json(lesson_statuses));
  for (std::size_t i = 0; i < report.lessons.size(); ++i) add_grade(json["lessons"][i], report.lessons[i]);
  json["submission"] = report.submission;
  add_sums(json);
  json["terms"] = to_json(report.manifest);
  json["edited_beside"] = report.edits.paths;
  json["edits_are_certain"] = report.edits.are_certain;
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Edits edits_of(const Json& report) {
  return {report.value("edited_beside", std::vector<std::string>{}), report.value("edits_are_certain", true)};
}

Json merged(const Json& report, const Json& newer) {
  std::map<std::string, Json> lessons;
  for (const Json* each : {&report, &newer}) {
    for (const Json& lesson : each->at("lessons")) lessons[lesson.at("id")] = lesson;
  }
  Json result = newer;
  result["lessons"] = Json::array();
  for (const auto& [id, lesson] : lessons) result["lessons"].push_back(lesson);
  add_sums(result);
  return result;
}

const Json* lesson_in(const Json& report, const std::string& id) {
  for (const Json& lesson : report.at("lessons")) {
    if (lesson.at("id") == id) return &lesson;
  }
  return nullptr;
}

bool is_graded(const Json& lesson) {
  return lesson.at("status") != to_string(Status::Skipped);
}

std::string why_not_graded(const Json& lesson) {
  const Json& tasks = lesson.at("tasks");
  const std::string why = tasks.empty() ? "" : tasks.front().value("diagnosis", "");
  return presentable(why.substr(0, why.find('\n')));
}

Json merged_over_grades(const Json& report, Json newer) {
  for (Json& lesson : newer.at("lessons")) {
    const Json* earlier = lesson_in(report, lesson.at("id"));
    if (is_graded(lesson) || earlier == nullptr || !is_graded(*earlier)) continue;
    if (earlier->at("files_hash") == lesson.at("files_hash")) {
      const std::string why = why_not_graded(lesson);
      lesson = *earlier;
      lesson[kept_because] = why;
    } else {
      lesson["complete"] = false;
    }
  }
  return merged(report, newer);
}

std::string presentable(const std::string& text) {
  const std::string clean = clean_utf8(text);
  std::size_t end = longest_text;
  while (end < clean.size() && (clean[end] & 0xC0) == 0x80) ++end;  // in the midst of a character
  if (end >= clean.size()) return clean;
  return clean.substr(0, end) + fmt::format("\n[cut here: the whole text has {} bytes]", text.size());
}

std::vector<TaskTest> tests_of(const LessonGrade& grade, const TaskInfo& task) {
  std::vector<TaskTest> tests;
  for (const bool hidden : {false, true}) {
    for (const int ranks : task.test_ranks()) {
      const std::string name = test_name(task.id, ranks, hidden);
      const auto played = grade.tests.find(name);
      if (played != grade.tests.end()) tests.push_back({name, ranks, hidden, played->second.status});
    }
  }
  return tests;
}

std::string title_of(const LessonInfo& lesson, const TaskInfo& task) {
  return presentable(fmt::format("{}.{} {}", lesson.id, task.id, task.name));
}

std::string diagnosis_of(const LessonGrade& grade, const TaskStatus& task) {
  if (task.status == Status::Passed) return "";
  const std::vector<TaskTest> tests = tests_of(grade, *task.task);
  const TaskTest* telling = telling_test(tests);
  const bool of_hidden = telling != nullptr && telling->hidden;
  const std::string why =
      of_hidden ? without_judges_words(*grade.lesson_status.lesson, grade.tests.at(telling->name))
                : task.diagnosis;
  return presentable(failing_ranks(tests) + why);
}

}  // namespace course::program::grader
