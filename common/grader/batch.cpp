#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <nlohmann/json.hpp>
#include <thread>

#include "course/terminal/terminal.hpp"
#include "grader/grade_command.hpp"
#include "grader/submission.hpp"
#include "protocol/errors.hpp"
#include "runner/descriptor.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::program::grader {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

namespace {

/// A grader has limits for all that it waits for; this is for what nobody thought of.
constexpr std::chrono::minutes longest_grading{30};
constexpr std::chrono::milliseconds look_interval{50};

/// A submission and where its results lie.
struct Item {
  std::string name;
  fs::path folder;
  fs::path result;
  fs::path log;
  std::string files_hash;
};

std::optional<Json> read_json(const fs::path& path) {
  if (!fs::exists(path)) return std::nullopt;
  return Json::parse(read_text(path), nullptr, false);
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

  const Item& item;
  Process process;
  Clock::time_point begin = Clock::now();
};

/// For a CSV file; a spreadsheet takes a text that begins with = + - @ for a formula.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  if (!text.empty() && std::string("=+-@").find(text[0]) != std::string::npos) result += "'";
  for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + "\"";
}

/// "05.2: ..." for the first task that is not passed.
std::string first_diagnosis(const Json& result) {
  for (const Json& lesson : result["lessons"]) {
    for (const Json& task : lesson["tasks"]) {
      if (task["status"] == "passed") continue;
      const std::string diagnosis = task["diagnosis"];
      return fmt::format("{}.{}: {}", lesson["id"].get<std::string>(), task["id"].get<std::string>(),
                         diagnosis.substr(0, diagnosis.find('\n')));
    }
  }
  return "";
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
  Batch(const Checkout& checkout, const GradeOptions& options, const GradingManifest& manifest)
      : checkout_(checkout),
        options_(options),
        manifest_(manifest),
        results_(options.output.value_or(fs::absolute(*options.submissions).lexically_normal().string() +
                                         ".grades")),
        reports_(results_ / "reports") {
    fs::create_directories(reports_);
    keep_seed();
    collect_items();
  }

  int run() {
    std::vector<const Item*> waiting;
    for (const Item& item : items_) {
      if (!is_graded(item)) waiting.push_back(&item);
    }
    const std::size_t known = items_.size() - waiting.size();
    if (known > 0) complain(fmt::format("already graded in {}: {}", results_.string(), known));
    play(waiting);
    write_table();
    const bool complete = std::ranges::all_of(items_, [&](const Item& item) { return is_graded(item); });
    return complete ? succeeded : failed;
  }

 private:
  void keep_seed() {
    const fs::path path = results_ / "run.json";
    const std::optional<Json> kept = read_json(path);
    if (!options_.seed && kept && kept->contains("seed")) manifest_.seed = (*kept)["seed"];
    write_text(path, to_json(manifest_).dump(2) + "\n");
  }

  void collect_items() {
    for (const fs::directory_entry& entry : fs::directory_iterator(*options_.submissions)) {
      const std::string name = entry.path().filename();
      if (!fs::is_directory(entry.symlink_status()) || name.starts_with('.')) {
        complain("not graded: " + presentable(name) + " is not a folder, or is hidden");
        continue;
      }
      items_.push_back({name, entry.path(), reports_ / (name + ".json"), reports_ / (name + ".log"),
                        files_hash(entry.path(), checkout_.lessons)});
    }
    if (items_.empty())
      throw UsageError("--submissions: there is no folder in " + options_.submissions->string());
    std::ranges::sort(items_, {}, &Item::name);
  }

  /// Whether its result is of these files and this manifest.
  bool is_graded(const Item& item) const {
    const std::optional<Json> result = read_json(item.result);
    try {
      return result && result->at("complete") && result->at("files_hash") == item.files_hash &&
             manifest_from(result->at("terms")) == manifest_;
    } catch (const std::exception&) {
      return false;
    }
  }

  std::size_t jobs() const {
    if (options_.jobs > 0) return static_cast<std::size_t>(options_.jobs);
    return std::max(1u, std::thread::hardware_concurrency() / 2);
  }

  void play(const std::vector<const Item*>& waiting) {
    ProgressLine progress;
    std::list<Worker> workers;
    std::size_t started = 0, ended = 0;
    while (ended < waiting.size()) {
      for (; workers.size() < jobs() && started < waiting.size(); ++started) {
        fs::remove(waiting[started]->result);
        workers.emplace_back(*waiting[started], command(*waiting[started]));
      }
      progress.show(progress_text(ended, waiting.size(), workers, progress.seconds()));
      std::this_thread::sleep_for(look_interval);
      ended += workers.remove_if([](Worker& worker) { return worker.has_ended(); });
    }
  }

  std::vector<std::string> command(const Item& item) const {
    std::vector<std::string> words{fs::read_symlink("/proc/self/exe"), "grade"};
    for (const LessonInfo& lesson : checkout_.lessons) words.push_back(lesson.id);
    words.insert(words.end(),
                 {"--prepared", "--submission", item.folder, "--format", "json", "--output", item.result,
                  "--seed", std::to_string(manifest_.seed), "--isolation", to_string(manifest_.isolation)});
    if (options_.points) words.insert(words.end(), {"--points", *options_.points});
    return words;
  }

  /// One line a submission, also as grades.csv.
  void write_table() const {
    const auto& lessons = checkout_.lessons;
    std::string csv = "submission,points,max_points," +
                      joined(
                          lessons, [](const LessonInfo& lesson) { return lesson.tag(); }, ",") +
                      ",note\n";
    std::string text = fmt::format(
        "\n{:<32} {:>7} {:>7} {}\n", "submission", "points", "of",
        joined(
            lessons, [](const LessonInfo& lesson) { return fmt::format("{:>5}", lesson.id); }, " "));
    for (const Item& item : items_) add_row(item, csv, text);
    write_text(results_ / "grades.csv", csv);
    fmt::print("{}\nreports and grades.csv are in {}\n", text, results_.string());
  }

  /// A submission without a result has no points, and says why.
  void add_row(const Item& item, std::string& csv, std::string& text) const {
    const std::optional<Json> result = read_json(item.result);
    const bool graded = result && !result->is_discarded();
    const std::string log = ": see " + item.log.filename().string();
    const std::string note = !graded                  ? "not graded" + log
                             : !(*result)["complete"] ? "not graded in full" + log
                                                      : presentable(first_diagnosis(*result));
    int points = 0, max_points = 0;
    std::vector<int> of_lessons;
    for (std::size_t i = 0; i < checkout_.lessons.size(); ++i) {
      of_lessons.push_back(graded ? (*result)["lessons"][i]["points"].get<int>() : 0);
      points += of_lessons.back();
      max_points += checkout_.lessons[i].max_points();
    }
    if (graded) max_points = (*result)["max_points"];  // of what could be graded
    csv += fmt::format("{},{},{},{},{}\n", quoted(item.name), points, max_points, fmt::join(of_lessons, ","),
                       quoted(note));
    text += fmt::format("{:<32} {:>7} {:>7} {:>5}  {}\n", item.name, points, max_points,
                        fmt::join(of_lessons, " "), note.substr(0, 100));
  }

  const Checkout& checkout_;
  const GradeOptions& options_;
  GradingManifest manifest_;
  fs::path results_;
  fs::path reports_;  ///< in a folder of their own: a submission may have any name
  std::vector<Item> items_;
};

}  // namespace

int grade_all(const Checkout& checkout, const GradeOptions& options, const GradingManifest& manifest) {
  if (!fs::is_directory(*options.submissions))
    throw UsageError("--submissions: " + options.submissions->string() + " is not a folder");
  return Batch(checkout, options, manifest).run();
}

}  // namespace course::program::grader
