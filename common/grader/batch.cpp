#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "course/build/file_lock.hpp"
#include "course/terminal/terminal.hpp"
#include "grader/beside.hpp"
#include "grader/deadline.hpp"
#include "grader/grade_command.hpp"
#include "grader/readable.hpp"
#include "grader/roster.hpp"
#include "grader/submission.hpp"
#include "protocol/errors.hpp"
#include "runner/descriptor.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"
#include "text/utf8.hpp"

namespace course::program::grader {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

namespace {

/// A grader has limits for all that it waits for; this is for what nobody thought of.
constexpr std::chrono::minutes longest_grading{30};
constexpr std::chrono::milliseconds look_interval{50};
constexpr const char* of_a_macs_archive = "__MACOSX";  ///< a folder that it adds to what it packs
constexpr const char* between_reasons = " | ";

/// A submission and where its results lie.
struct Item {
  std::string name;
  fs::path folder;  ///< empty for a student of the roster who handed in nothing
  fs::path result;
  fs::path part;  ///< what its grader writes, until that is merged into the result
  fs::path log;
  std::map<std::string, std::string> files_hashes = {};  ///< by lesson id
  std::vector<std::string> stale = {};                   ///< the ids of lessons to grade
};

/// Nothing where there is none, or half of one.
std::optional<Json> read_json(const fs::path& path) {
  if (!fs::exists(path)) return std::nullopt;
  Json json = Json::parse(read_text(path), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  return json;
}

/// Writes a text unless the file has it: a report that says the same stays the file that it was.
void write_changed(const fs::path& path, const std::string& text) {
  if (!fs::exists(path) || read_text(path) != text) write_text(path, text);
}

bool is_alike(const Json& value, const Json& other) {
  return value.type() == other.type() || (value.is_number() && other.is_number());
}

/// Whether an object has all fields of another, with values of their types.
bool is_shaped_as(const Json& object, const Json& shape) {
  if (!object.is_object()) return false;
  for (const auto& [key, value] : shape.items()) {
    if (!object.contains(key) || !is_alike(object.at(key), value)) return false;
  }
  return true;
}

bool are_terms(const Json& terms) {
  try {
    manifest_from(terms);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

bool is_whole_task(const Json& task) {
  static const Json shape = {{"id", ""}, {"name", ""}, {"status", ""}, {"points", 0}, {"max_points", 0}};
  return is_shaped_as(task, shape) && (task["status"] == "passed" || is_shaped_as(task, {{"diagnosis", ""}}));
}

/// Whether a report's entry for a lesson has what is read of it.
bool is_whole(const Json& lesson) {
  static const Json shape = {{"id", ""},         {"name", ""},      {"status", ""},
                             {"points", 0},      {"max_points", 0}, {"complete", true},
                             {"files_hash", ""}, {"seconds", 0},    {"tasks", Json::array()}};
  static const Json commit_shape = {{"id", ""}, {"date", ""}, {"seconds", 0}, {"changed_since", true}};
  return is_shaped_as(lesson, shape) && are_terms(lesson.value("terms", Json())) &&
         std::ranges::all_of(lesson["tasks"], is_whole_task) &&
         (is_shaped_as(lesson, {{"commit", nullptr}}) ||
          is_shaped_as(lesson.value("commit", Json()), commit_shape));
}

/// What a report of an older version of the course says of all lessons, for one of them.
Json with_terms(const Json& report, Json lesson) {
  if (lesson.is_object() && !lesson.contains("terms"))
    lesson.update({{"complete", report.value("complete", false)},
                   {"seconds", 0},
                   {"files_hash", ""},
                   {"terms", report.value("terms", Json())},
                   {"commit", nullptr}});
  return lesson;
}

/// A report, perhaps of another version of the course. It has no entry for a lesson of which it lacks
/// anything: such a lesson is still to be graded.
std::optional<Json> read_report(const fs::path& path) {
  std::optional<Json> report = read_json(path);
  if (!report || !is_shaped_as(*report, {{"submission", ""}, {"lessons", Json::array()}}))
    return std::nullopt;
  Json lessons = Json::array();
  for (const Json& entry : (*report)["lessons"]) {
    if (Json lesson = with_terms(*report, entry); is_whole(lesson)) lessons.push_back(lesson);
  }
  (*report)["lessons"] = lessons;
  return merged({{"lessons", Json::array()}}, *report);
}

/// Its entry for a lesson; null where it has none.
const Json* entry_of(const std::optional<Json>& report, const std::string& id) {
  return report ? lesson_in(*report, id) : nullptr;
}

/// An empty file for what a grader prints.
Descriptor opened(const fs::path& log) {
  write_text(log, "");
  return Descriptor(open(log.c_str(), O_WRONLY | O_CLOEXEC));
}

/// A grader at work on one item.
struct Worker {
  Worker(const Item& its_item, const std::vector<std::string>& words)
      : item(its_item), process({.argv = words}, opened(item.log).get()) {}

  bool has_ended() {
    if (Clock::now() - begin > longest_grading) ::kill(process.pid(), SIGKILL);
    return process.poll().has_value();
  }

  /// How it ended, and the last that it printed.
  std::string ending() {
    const Exit exit = process.poll().value_or(Exit{});
    const std::vector<std::string> printed = lines_of(read_text(item.log));
    return (exit.signal != 0 ? fmt::format("the grader was ended by signal {}", exit.signal)
                             : fmt::format("the grader ended with exit code {}", exit.code)) +
           (printed.empty() ? "" : ": " + printed.back());
  }

  const Item& item;
  Process process;
  Clock::time_point begin = Clock::now();
};

/// "05.2: ..." for the tasks that are not passed; those of a lesson that are so for one reason together.
std::vector<std::string> diagnoses(const Json& result) {
  std::vector<std::string> all;
  for (const Json& lesson : result.at("lessons")) {
    std::vector<std::pair<std::string, std::string>> reasons;  // and the tasks
    for (const Json& task : lesson.at("tasks")) {
      if (task.at("status") == "passed") continue;
      const std::string diagnosis = task.at("diagnosis");
      const std::string reason = presentable(diagnosis.substr(0, diagnosis.find('\n')));
      const std::string name = lesson.at("id").get<std::string>() + "." + task.at("id").get<std::string>();
      const auto same = std::ranges::find(reasons, reason, &std::pair<std::string, std::string>::first);
      if (same == reasons.end())
        reasons.emplace_back(reason, name);
      else
        same->second += ", " + name;
    }
    for (const auto& [reason, tasks] : reasons) all.push_back(tasks + ": " + reason);
  }
  return all;
}

std::string progress_text(std::size_t ended, std::size_t all, const std::list<Worker>& workers,
                          double seconds) {
  constexpr std::size_t width = 20;
  std::string bar;
  for (std::size_t i = 0; i < width; ++i) bar += i * all < ended * width ? "█" : "·";
  std::string text = fmt::format("grading {} {} of {}, {}", bar, ended, all, duration(seconds));
  if (ended > 0) {
    const double left = seconds * static_cast<double>(all - ended) / static_cast<double>(ended);
    text += fmt::format(", about {} left", duration(left));
  }
  for (const Worker& worker : workers) text += "; " + worker.item.name;
  return text;
}

/// One run over a folder of submissions.
class Batch {
 public:
  Batch(const Checkout& checkout, const std::vector<LessonInfo>& asked, const GradeOptions& options,
        const GradingManifest& manifest)
      : checkout_(checkout),
        asked_(asked),
        options_(options),
        manifest_(manifest),
        results_(results_folder(options)),
        reports_(results_ / "reports"),
        parts_(results_ / "parts") {
    // What is wrong with them is said before anything is written.
    if (options.roster) ids_ = read_roster(*options.roster);
    if (options.due) {
      deadline_from(*options.due);
      for (const LessonInfo& lesson : asked_) due_[lesson.id] = *options.due;
    }
    const std::vector<fs::path> folders = submission_folders();
    // Reports of others are nothing for submitted code to read.
    if (fs::create_directories(results_)) fs::permissions(results_, fs::perms::owner_all);
    for (const fs::path& folder : {reports_, parts_}) fs::create_directories(folder);
    lock_.emplace(results_ / ".lock", "another ./course grade to finish with " + results_.string());
    recall_run();
    for (const LessonInfo& lesson : asked_) terms_[lesson.id] = terms_of(checkout_, lesson, manifest_);
    collect_items(folders);
    write_run();
    if (!options_.points_text.empty()) write_changed(results_ / points_file, options_.points_text);
  }

  int run() {
    for (const Item& item : items_) {
      say_left_out(item);
      take_part(item);  // of a run that was interrupted
    }
    std::vector<const Item*> waiting;
    std::size_t known = 0;
    for (Item& item : items_) {
      if (item.folder.empty()) continue;
      item.stale = stale_lessons(item);
      if (item.stale.empty())
        ++known;
      else
        waiting.push_back(&item);
    }
    if (known > 0) complain(fmt::format("already graded in {}: {}", results_.string(), known));
    play_or_stop(waiting);
    forget_unused_seeds();
    write_reports();
    say_other_points();
    write_table();
    fs::remove_all(parts_);  // of an interrupted run, too, and of submissions that are gone
    const bool complete = std::ranges::all_of(items_, [&](const Item& item) { return is_settled(item); });
    return complete ? succeeded : failed;
  }

 private:
  /// The seeds and the deadlines of lessons and the roster stay those of an earlier run unless others are
  /// given. A lesson without a seed gets this run's.
  void recall_run() {
    const std::optional<Json> kept = read_json(results_ / run_file);
    if (kept) earlier_seeds_ = manifest_.seeds = seeds_in(*kept);
    for (const LessonInfo& lesson : asked_) {
      if (options_.seed) manifest_.seeds[lesson.id] = *options_.seed;
      manifest_.seeds.try_emplace(lesson.id, manifest_.seed);
    }
    manifest_.seed = manifest_.seed_of(asked_.front());
    if (!options_.roster && kept && kept->contains("roster")) ids_ = (*kept)["roster"];
    if (kept && kept->contains("due")) {
      std::map<std::string, std::string> earlier = (*kept)["due"];
      due_.merge(earlier);
    }
  }

  void write_run() const {
    Json run = to_json(manifest_);
    run.erase("seed");
    run["seeds"] = manifest_.seeds;
    run["due"] = due_;
    run["roster"] = ids_;
    write_text(results_ / run_file, run.dump(2) + "\n");
  }

  bool was_graded_with(const std::string& id, std::uint64_t seed) const {
    return std::ranges::any_of(items_, [&](const Item& item) {
      const std::optional<Json> report = read_report(item.result);
      const Json* entry = entry_of(report, id);
      return entry != nullptr && is_graded(*entry) && entry->at("terms").at("seed") == seed;
    });
  }

  /// A seed that nobody was graded with, where the machine failed, is not a lesson's: it has its earlier one,
  /// or none.
  void forget_unused_seeds() {
    for (const auto& [id, terms] : terms_) {
      if (was_graded_with(id, terms.seed)) continue;
      manifest_.seeds.erase(id);
      const auto earlier = earlier_seeds_.find(id);
      if (earlier != earlier_seeds_.end() && was_graded_with(id, earlier->second))
        manifest_.seeds.insert(*earlier);
    }
    write_run();
  }

  /// By lesson; an older version of the course kept one for all.
  std::map<std::string, std::uint64_t> seeds_in(const Json& run) const {
    if (run.contains("seeds")) return run["seeds"];
    std::map<std::string, std::uint64_t> seeds;
    for (const LessonInfo& lesson : checkout_.lessons) {
      if (run.contains("seed")) seeds[lesson.id] = run["seed"];
    }
    return seeds;
  }

  static const char* why_passed_over(const fs::directory_entry& entry, const std::string& name) {
    if (name.starts_with('.')) return "hidden";
    return fs::is_directory(entry.symlink_status()) ? "a Mac's" : "no folder";
  }

  /// Says what else lies among the submissions. Throws UsageError where there are none.
  std::vector<fs::path> submission_folders() const {
    std::vector<fs::path> folders;
    std::vector<std::string> passed_over;
    for (const fs::directory_entry& entry : fs::directory_iterator(*options_.submissions)) {
      const std::string name = entry.path().filename();
      if (fs::is_directory(entry.symlink_status()) && !name.starts_with('.') && name != of_a_macs_archive)
        folders.push_back(entry.path());
      else
        passed_over.push_back(presentable(name) + " (" + why_passed_over(entry, name) + ")");
    }
    std::ranges::sort(folders);
    std::ranges::sort(passed_over);
    if (!passed_over.empty()) complain("not graded: " + joined(passed_over));
    if (folders.empty())
      throw UsageError("--submissions: there is no folder in " + options_.submissions->string());
    return folders;
  }

  void collect_items(const std::vector<fs::path>& folders) {
    std::vector<std::string> unknown, absent;
    for (const fs::path& folder : folders) {
      const std::string name = folder.filename();
      items_.push_back(item_of(name, folder));
      if (!ids_.empty() && !ids_.contains(name)) unknown.push_back(presentable(name));
    }
    if (!unknown.empty()) complain("not in the roster: " + joined(unknown));
    for (const auto& [name, id] : ids_) {
      if (std::ranges::find(items_, name, &Item::name) != items_.end()) continue;
      items_.push_back({name, {}, {}, {}, {}});
      absent.push_back(presentable(name));
    }
    // A name may look like that of a folder and be written with other characters, as on a Mac.
    if (!absent.empty()) complain("in the roster, and no folder of that name: " + joined(absent));
    std::ranges::sort(items_, {}, &Item::name);
  }

  Item item_of(const std::string& name, const fs::path& folder) const {
    Item item{name, folder, reports_ / (name + ".json"), parts_ / (name + ".json"),
              reports_ / (name + ".log")};
    for (const LessonInfo& lesson : checkout_.lessons)
      item.files_hashes[lesson.id] = files_hash(take(folder, lesson));
    return item;
  }

  /// The asked lessons whose entry in the result is not of these files and on these terms.
  std::vector<std::string> stale_lessons(const Item& item) const {
    const std::optional<Json> report = read_report(item.result);
    std::vector<std::string> stale;
    for (const LessonInfo& lesson : asked_) {
      const Json* entry = entry_of(report, lesson.id);
      if (entry == nullptr || !entry->at("complete") || !is_of_these_files(*entry, item) ||
          !manifest_from(entry->at("terms")).decides_as(terms_.at(lesson.id)))
        stale.push_back(lesson.id);
    }
    return stale;
  }

  /// Whether its row has all that it can have: every lesson asked for now is graded on these terms, and no
  /// lesson at all was left without its grade by a machine that failed.
  bool is_settled(const Item& item) const {
    if (item.folder.empty()) return true;
    const std::optional<Json> report = read_report(item.result);
    return report && report->at("complete") && stale_lessons(item).empty() &&
           std::ranges::none_of(report->at("lessons"),
                                [](const Json& lesson) { return lesson.contains(kept_because); });
  }

  static bool is_of_these_files(const Json& entry, const Item& item) {
    const auto hash = item.files_hashes.find(entry.at("id"));
    return hash == item.files_hashes.end() || entry.at("files_hash") == hash->second;
  }

  std::size_t jobs() const {
    if (options_.jobs > 0) return static_cast<std::size_t>(options_.jobs);
    return std::max(1u, std::thread::hardware_concurrency() / 2);
  }

  void play_or_stop(const std::vector<const Item*>& waiting) {
    const Interruptible interruptible;
    try {
      play(waiting);
    } catch (const Interrupted&) {
      complain("interrupted; what was graded is kept in " + results_.string() +
               ", and the same command goes on");
      throw;
    }
  }

  void play(const std::vector<const Item*>& waiting) {
    ProgressLine progress;
    std::list<Worker> workers;
    std::size_t started = 0, ended = 0;
    while (ended < waiting.size()) {
      for (; workers.size() < jobs() && started < waiting.size(); ++started)
        workers.emplace_back(*waiting[started], command(*waiting[started]));
      progress.show(progress_text(ended, waiting.size(), workers, progress.seconds()));
      pause_for(look_interval);
      ended += workers.remove_if([this](Worker& worker) {
        if (!worker.has_ended()) return false;
        if (!take_part(worker.item)) take_in(worker.item, part_of_failure(worker.item, worker.ending()));
        return true;
      });
    }
  }

  std::vector<std::string> command(const Item& item) const {
    std::vector<std::string> words{fs::read_symlink("/proc/self/exe"), "grade"};
    words.insert(words.end(), item.stale.begin(), item.stale.end());
    words.insert(words.end(),
                 {"--prepared", "--submission", item.folder, "--format", "json", "--output", item.part,
                  "--seed", std::to_string(manifest_.seed), "--isolation", to_string(manifest_.isolation)});
    for (const std::string& id : item.stale)
      words.insert(words.end(), {"--lesson-seed", id, std::to_string(manifest_.seeds.at(id))});
    if (options_.points) words.insert(words.end(), {"--points", results_ / points_file});
    return words;
  }

  /// Says what of an earlier report read_report leaves out.
  static void say_left_out(const Item& item) {
    const std::optional<Json> whole = read_report(item.result), all = read_json(item.result);
    if (!whole && fs::exists(item.result))
      complain(fmt::format("{}: {} is no report, and counts as none", presentable(item.name),
                           item.result.filename().string()));
    std::vector<std::string> left_out;
    for (const Json& lesson : whole ? all->at("lessons") : Json::array()) {
      const std::string id = is_shaped_as(lesson, {{"id", ""}}) ? lesson.at("id") : Json("without id");
      if (entry_of(whole, id) == nullptr) left_out.push_back(presentable(id));
    }
    if (!left_out.empty())
      complain(fmt::format("{}: the report lacks something of lesson {}, which counts as not graded",
                           presentable(item.name), joined(left_out)));
  }

  /// Puts what a grader wrote into the submission's result. Returns whether it wrote anything.
  static bool take_part(const Item& item) {
    const std::optional<Json> part = read_report(item.part);
    if (part) take_in(item, *part);
    fs::remove(item.part);
    return part.has_value();
  }

  static void take_in(const Item& item, const Json& part) {
    const std::optional<Json> earlier = read_report(item.result);
    write_text(item.result, dumped(earlier ? merged_over_grades(*earlier, part) : part));
  }

  /// What stands for the report of a grader that wrote none.
  Json part_of_failure(const Item& item, const std::string& why) const {
    Report report{item.name, manifest_, {}};
    for (const LessonInfo& lesson : asked_) {
      if (std::ranges::find(item.stale, lesson.id) == item.stale.end()) continue;
      report.lessons.push_back({.lesson_status = lesson_status_as_a_whole(
                                    lesson, Status::Skipped, "cannot grade on this machine: " + why),
                                .failed = true,
                                .terms = terms_.at(lesson.id),
                                .files_hash = item.files_hashes.at(lesson.id)});
    }
    if (const std::optional<Json> earlier = read_report(item.result)) report.edits = edits_of(*earlier);
    return Json::parse(json_report(report));
  }

  static std::string dumped(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }

  // ---- what is written of it ----

  /// The lessons that were asked for, and those that the results have from earlier runs.
  std::vector<LessonInfo> shown_lessons() const {
    std::set<std::string> ids;
    for (const LessonInfo& lesson : asked_) ids.insert(lesson.id);
    for (const Item& item : items_) {
      if (const std::optional<Json> report = read_report(item.result)) {
        for (const Json& lesson : report->at("lessons")) ids.insert(lesson.at("id").get<std::string>());
      }
    }
    std::vector<LessonInfo> shown = checkout_.lessons;
    std::erase_if(shown, [&](const LessonInfo& lesson) { return !ids.contains(lesson.id); });
    return shown;
  }

  /// Whether its commit is only where the history of a shallow clone begins.
  static bool is_cut_off(const Json& lesson) {
    const Json& commit = lesson.at("commit");
    return !commit.is_null() && commit.value("cut_off", false);
  }

  /// What a clone says that may have been made full since; the grade is the same.
  void look_again(const Item& item, Json& lesson) const {
    const auto known =
        std::ranges::find(checkout_.lessons, lesson.at("id").get<std::string>(), &LessonInfo::id);
    if (!is_cut_off(lesson) || known == checkout_.lessons.end() || !is_of_these_files(lesson, item)) return;
    try {
      lesson["commit"] = commit_json(last_commit(item.folder, take(item.folder, *known)));
    } catch (const std::exception& error) {
      complain(presentable(item.name) + ": its clone was not looked at again: " + error.what());
    }
  }

  /// How late a lesson was handed in; null where that is not known.
  Json late_hours(const Json& lesson) const {
    const auto due = due_.find(lesson.at("id"));
    const Json& commit = lesson.at("commit");
    if (due == due_.end() || commit.is_null() || commit.at("changed_since") || is_cut_off(lesson))
      return nullptr;
    return hours_late(deadline_from(due->second), commit.at("seconds"));
  }

  /// Each report with the student's id and lateness, and in the forms for reading.
  void write_reports() const {
    for (const Item& item : items_) {
      std::optional<Json> report = read_report(item.result);
      if (!report) continue;
      if (const auto id = ids_.find(item.name); id != ids_.end()) (*report)["id"] = id->second;
      const std::vector<std::string> stale = stale_lessons(item);
      for (Json& lesson : report->at("lessons")) {
        const std::string id = lesson.at("id");
        if (terms_.contains(id) && std::ranges::find(stale, id) == stale.end()) lesson.erase(kept_because);
        look_again(item, lesson);
        lesson["late_hours"] = late_hours(lesson);
      }
      write_changed(item.result, dumped(*report));
      write_changed(reports_ / (item.name + ".html"), html_report(*report, checkout_));
      write_changed(reports_ / (item.name + ".md"), markdown_report(*report, checkout_));
      if (const Edits edits = edits_of(*report); !edits.paths.empty())
        complain(presentable(item.name) + ": " + edits_in_words(edits));
      say_outdated(item, *report);
      for (const Json& lesson : report->at("lessons")) say_ungraded(item, lesson);
    }
  }

  static void say_ungraded(const Item& item, const Json& lesson) {
    const std::string name = presentable(item.name) + ": ";
    if (lesson.contains(kept_because)) complain(name + in_words_kept(lesson));
    if (!lesson.at("complete"))
      complain(name + "not graded: " + lesson.at("id").get<std::string>() + ": " + why_not_graded(lesson));
  }

  static std::string in_words_kept(const Json& lesson) {
    return lesson.at("id").get<std::string>() +
           ": graded before and kept; now: " + lesson.at(kept_because).get<std::string>();
  }

  /// Says which lessons, not asked for now, were graded with other files than there are.
  void say_outdated(const Item& item, const Json& report) const {
    std::vector<std::string> outdated;
    for (const Json& lesson : report.at("lessons")) {
      const bool known = lesson.at("files_hash") != "";
      if (known && !terms_.contains(lesson.at("id")) && !is_of_these_files(lesson, item))
        outdated.push_back(lesson.at("id"));
    }
    if (!outdated.empty())
      complain(
          fmt::format("{}: handed in anew since it was graded: {}; ./course grade {} --submissions ... "
                      "grades that",
                      presentable(item.name), joined(outdated), joined(outdated, {}, " ")));
  }

  /// Says which lessons, not asked for now, were graded when their tasks had other points.
  void say_other_points() const {
    std::set<std::string> changed;
    for (const Item& item : items_) {
      const std::optional<Json> report = read_report(item.result);
      for (const LessonInfo& lesson : checkout_.lessons) {
        const Json* entry = terms_.contains(lesson.id) ? nullptr : entry_of(report, lesson.id);
        if (entry != nullptr && is_graded(*entry) && entry->at("terms").at("scope") != scope_of(lesson))
          changed.insert(lesson.id);
      }
    }
    if (!changed.empty())
      complain(fmt::format("points of lesson {} changed; ./course grade {} --submissions ... applies them",
                           joined(changed), joined(changed, {}, " ")));
  }

  /// One line a submission, also as grades.csv.
  void write_table() const {
    const std::vector<LessonInfo> lessons = shown_lessons();
    std::vector<std::string> kept;
    std::string csv = "submission,points,max_points";
    std::string text = fmt::format("\n{:<32} {:>7} {:>7}", "submission", "points", "of");
    for (const LessonInfo& lesson : lessons) {
      csv += "," + lesson.tag();
      text += fmt::format(" {:>5}", lesson.id);
      if (!terms_.contains(lesson.id)) kept.push_back(lesson.id);
    }
    csv += ",note,id,edited_beside";
    for (const LessonInfo& lesson : lessons) {
      for (const TaskInfo& task : lesson.tasks) csv += fmt::format(",{}.{}", lesson.id, task.id);
      csv += fmt::format(",{0}_commit,{0}_handed_in,{0}_late_hours", lesson.id);
    }
    csv += "\n";
    text += "\n";
    for (const Item& item : items_) add_row(item, lessons, csv, text);
    write_text(results_ / "grades.csv", csv);
    if (!kept.empty()) text += "\nkept from earlier runs: " + joined(kept) + "\n";
    fmt::print("{}\nreports and grades.csv are in {}\n", text, results_.string());
  }

  /// What else there is to say of a lesson than why its tasks are not passed.
  static void add_remarks(const Json& lesson, std::vector<std::string>& notes) {
    if (lesson.contains(kept_because)) notes.push_back(in_words_kept(lesson));
    if (is_cut_off(lesson))
      notes.push_back(lesson.at("id").get<std::string>() +
                      ": when it was handed in is not known, since the clone is shallow: git fetch "
                      "--unshallow makes it full");
  }

  /// What could not be graded is said first.
  static std::string note_of(const Item& item, const std::optional<Json>& report,
                             const std::vector<LessonInfo>& lessons) {
    const std::string log = ": see " + item.log.filename().string();
    if (item.folder.empty()) return "nothing handed in";
    if (!report) return "not graded" + log;
    std::vector<std::string> notes;
    if (!report->at("complete"))
      notes.push_back(
          (std::ranges::any_of(report->at("lessons"), is_graded) ? "not graded in full" : "not graded") +
          log);
    for (const Json& lesson : report->at("lessons")) add_remarks(lesson, notes);
    for (const LessonInfo& lesson : lessons) {
      if (entry_of(report, lesson.id) == nullptr) notes.push_back(lesson.id + ": not graded yet");
    }
    for (const std::string& diagnosis : diagnoses(*report)) notes.push_back(diagnosis);
    return joined(notes, {}, between_reasons);
  }

  /// A row's points in a lesson, of how many. Without points: it was not graded, which is not 0.
  struct Cell {
    std::optional<int> points;
    int max_points = 0;
  };

  static Cell cell_of(const Item& item, const LessonInfo& lesson, const Json* entry) {
    if (item.folder.empty()) return {0, lesson.max_points()};
    if (entry == nullptr || !is_graded(*entry)) return {};
    return {entry->at("points"), entry->at("max_points")};
  }

  static std::string number_or(const std::optional<int>& number, const std::string& otherwise) {
    return number ? std::to_string(*number) : otherwise;
  }

  void add_row(const Item& item, const std::vector<LessonInfo>& lessons, std::string& csv,
               std::string& text) const {
    const std::optional<Json> report = read_report(item.result);
    const std::string note = note_of(item, report, lessons), name = presentable(item.name);
    std::optional<int> points;
    int max_points = 0;
    std::string of_lessons, of_tasks, columns;
    for (const LessonInfo& lesson : lessons) {
      const Json* entry = entry_of(report, lesson.id);
      const Cell cell = cell_of(item, lesson, entry);
      if (cell.points) points = points.value_or(0) + *cell.points;
      max_points += cell.max_points;
      of_lessons += "," + number_or(cell.points, "");
      columns += fmt::format(" {:>5}", number_or(cell.points, "-"));
      of_tasks += task_fields(lesson, entry);
    }
    const auto id = ids_.find(item.name);
    const Edits edits = report ? edits_of(*report) : Edits{};
    csv += fmt::format("{},{},{}{},{},{},{}{}\n", csv_field(name), number_or(points, ""), max_points,
                       of_lessons, csv_field(note), csv_field(id == ids_.end() ? "" : id->second),
                       csv_field(presentable(edits_for_table(edits))), of_tasks);
    text += fmt::format("{:<32} {:>7} {:>7}{}  {}\n", name, number_or(points, "-"), max_points, columns,
                        shortened(note.substr(0, note.find(between_reasons))));
  }

  /// Cut between two words, which is shown.
  static std::string shortened(const std::string& text) {
    constexpr std::size_t longest = 100;
    if (text.size() <= longest) return text;
    const std::size_t blank = text.rfind(' ', longest);
    return clean_utf8(text.substr(0, blank == std::string::npos ? longest : blank), "") + " …";
  }

  /// The column edited_beside names all files; it says where they may be an older handout's.
  static std::string edits_for_table(const Edits& edits) {
    return (edits.are_certain ? "" : "differs from today's course: ") + joined(edits.paths);
  }

  /// The columns of a lesson's tasks, and when it was handed in.
  std::string task_fields(const LessonInfo& lesson, const Json* entry) const {
    std::string fields;
    for (const TaskInfo& task : lesson.tasks) {
      fields += ",";
      if (entry == nullptr || !is_graded(*entry)) continue;
      for (const Json& graded : entry->at("tasks")) {
        if (graded.at("id") == task.id) fields += std::to_string(graded.at("points").get<int>());
      }
    }
    if (entry == nullptr || entry->at("commit").is_null()) return fields + ",,,";
    const Json& commit = entry->at("commit");
    const Json late = late_hours(*entry);
    const std::string more = is_cut_off(*entry) ? "-shallow" : commit.at("changed_since") ? "-changed" : "";
    return fields + fmt::format(",{}{},{},{}", commit.at("id").get<std::string>(), more,
                                is_cut_off(*entry) ? "" : commit.at("date").get<std::string>(),
                                late.is_null() ? "" : fmt::format("{}", late.get<double>()));
  }

  const Checkout& checkout_;
  const std::vector<LessonInfo>& asked_;
  const GradeOptions& options_;
  GradingManifest manifest_;
  fs::path results_;
  fs::path reports_;  ///< in a folder of their own: a submission may have any name
  fs::path parts_;
  std::optional<FileLock> lock_;
  std::map<std::string, std::uint64_t> earlier_seeds_;  ///< by lesson
  std::map<std::string, std::string> ids_;              ///< by submission
  std::map<std::string, std::string> due_;              ///< by lesson
  std::map<std::string, GradingManifest> terms_;        ///< by lesson that was asked for
  std::vector<Item> items_;
};

}  // namespace

int grade_all(const Checkout& checkout, const std::vector<LessonInfo>& lessons, const GradeOptions& options,
              const GradingManifest& manifest) {
  return Batch(checkout, lessons, options, manifest).run();
}

}  // namespace course::program::grader
