#include "grader/batch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "course/terminal/terminal.hpp"
#include "grader/shown_text.hpp"
#include "grader/submission.hpp"
#include "protocol/errors.hpp"
#include "text/text_file.hpp"

namespace course::grader {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using program::Checkout;

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

/// A grader at work on one item.
class Worker {
 public:
  Worker(const Item& item, std::vector<std::string> words) : item_(&item) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, item.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0644);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    const int error = posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::system_error(error, std::generic_category(), "cannot start a grader");
  }

  /// Whether it has ended.
  bool poll() {
    if (std::chrono::steady_clock::now() - begin_ > longest_grading) kill(pid_, SIGKILL);
    return waitpid(pid_, nullptr, WNOHANG) == pid_;
  }
  const Item& item() const { return *item_; }

 private:
  const Item* item_;
  pid_t pid_ = -1;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// One run over a folder of submissions.
class Batch {
 public:
  Batch(const Checkout& checkout, const GradeOptions& options, GradingManifest manifest)
      : checkout_(checkout),
        options_(options),
        manifest_(std::move(manifest)),
        results_(results_folder(options)),
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
    if (known > 0) program::complain(fmt::format("already graded in {}: {}", results_.string(), known));
    play(waiting);
    const std::string table = write_table();
    fmt::print("{}", table);
    const bool complete = std::ranges::all_of(items_, [&](const Item& item) { return is_graded(item); });
    return complete ? succeeded : failed;
  }

 private:
  static fs::path results_folder(const GradeOptions& options) {
    if (options.output) return *options.output;
    return fs::absolute(*options.submissions).lexically_normal().string() + ".grades";
  }

  void keep_seed() {
    const fs::path path = results_ / "run.json";
    const std::optional<Json> kept = read_json(path);
    if (!options_.seed)
      manifest_.seed = kept && kept->contains("seed") ? (*kept)["seed"].get<std::uint64_t>() : drawn_seed();
    write_text(path, to_json(manifest_).dump(2) + "\n");
  }

  void collect_items() {
    for (const fs::directory_entry& entry : fs::directory_iterator(*options_.submissions)) {
      const std::string name = entry.path().filename();
      if (!fs::is_directory(entry.symlink_status()) || name.starts_with('.')) {
        program::complain("not graded: " + presentable(name) + " is not a folder, or is hidden");
        continue;
      }
      items_.push_back({name, entry.path(), reports_ / (name + ".json"), reports_ / (name + ".log"),
                        files_hash(entry.path(), checkout_.lessons)});
    }
    if (items_.empty())
      throw UsageError("--submissions: there is no folder in " + options_.submissions->string());
    std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) { return a.name < b.name; });
  }

  /// Whether its result is of these files and these manifest.
  bool is_graded(const Item& item) const {
    const std::optional<Json> result = read_json(item.result);
    try {
      return result && result->at("complete") && result->at("files_hash") == item.files_hash &&
             manifest_from(result->at("terms")) == manifest_;
    } catch (const std::exception&) {
      return false;
    }
  }

  int jobs() const {
    if (options_.jobs > 0) return options_.jobs;
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / 2);
  }

  void play(const std::vector<const Item*>& waiting) {
    program::ProgressLine progress;
    std::vector<Worker> workers;
    std::size_t started = 0, ended = 0;
    while (ended < waiting.size()) {
      while (workers.size() < static_cast<std::size_t>(jobs()) && started < waiting.size()) {
        const Item& item = *waiting[started++];
        fs::remove(item.result);
        workers.emplace_back(item, command(item));
      }
      progress.show(progress_text(ended, waiting.size(), workers, progress.seconds()));
      std::this_thread::sleep_for(look_interval);
      ended += std::erase_if(workers, [](Worker& worker) { return worker.poll(); });
    }
  }

  static std::string progress_text(std::size_t ended, std::size_t all, const std::vector<Worker>& workers,
                                   double seconds) {
    constexpr std::size_t width = 20;
    std::string bar;
    for (std::size_t i = 0; i < width; ++i) bar += i * all < ended * width ? "█" : "·";
    std::string text = fmt::format("grading {} {} of {}, {}", bar, ended, all, program::duration(seconds));
    if (ended > 0) {
      const double left = seconds * static_cast<double>(all - ended) / static_cast<double>(ended);
      text += fmt::format(", about {} left", program::duration(left));
    }
    for (const Worker& worker : workers) text += "; " + worker.item().name;
    return text;
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

  /// One line a submission, also as grades.csv. A submission without a result has no points, and says why.
  std::string write_table() const {
    std::string csv = "submission,points,max_points";
    std::string text = fmt::format("\n{:<32} {:>7} {:>7}", "submission", "points", "of");
    for (const LessonInfo& lesson : checkout_.lessons) {
      csv += ",lesson" + lesson.id;
      text += fmt::format(" {:>5}", lesson.id);
    }
    csv += ",note\n";
    text += "\n";
    for (const Item& item : items_) add_row(item, csv, text);
    write_text(results_ / "grades.csv", csv);
    return text + fmt::format("\nreports and grades.csv are in {}\n", results_.string());
  }

  void add_row(const Item& item, std::string& csv, std::string& text) const {
    const std::optional<Json> result = read_json(item.result);
    const bool graded = result && !result->is_discarded();
    const std::string log = ": see " + item.log.filename().string();
    const std::string note = !graded                  ? "not graded" + log
                             : !(*result)["complete"] ? "not graded in full" + log
                                                      : presentable(first_diagnosis(*result));
    const int points = graded ? (*result)["points"].get<int>() : 0;
    const int max_points = graded ? (*result)["max_points"].get<int>() : all_points();
    csv += fmt::format("{},{},{}", quoted(item.name), points, max_points);
    text += fmt::format("{:<32} {:>7} {:>7}", item.name, points, max_points);
    for (std::size_t i = 0; i < checkout_.lessons.size(); ++i) {
      const int of_lesson = graded ? (*result)["lessons"][i]["points"].get<int>() : 0;
      csv += fmt::format(",{}", of_lesson);
      text += fmt::format(" {:>5}", of_lesson);
    }
    csv += "," + quoted(note) + "\n";
    text += "  " + note.substr(0, 100) + "\n";
  }

  int all_points() const {
    int sum = 0;
    for (const LessonInfo& lesson : checkout_.lessons) sum += lesson.max_points();
    return sum;
  }

  /// "05.2: ..." for the first task that is not passed.
  static std::string first_diagnosis(const Json& result) {
    for (const Json& lesson : result["lessons"]) {
      for (const Json& task : lesson["tasks"]) {
        if (task["status"] == "passed") continue;
        const std::string diagnosis = task["diagnosis"].get<std::string>();
        return fmt::format("{}.{}: {}", lesson["id"].get<std::string>(), task["id"].get<std::string>(),
                           diagnosis.substr(0, diagnosis.find('\n')));
      }
    }
    return "";
  }

  /// For a CSV file; a spreadsheet takes a text that begins with = + - @ for a formula.
  static std::string quoted(const std::string& text) {
    std::string result = "\"";
    if (!text.empty() && std::string("=+-@").find(text[0]) != std::string::npos) result += "'";
    for (const char c : text) {
      if (c == '"') result += '"';
      result += c;
    }
    return result + "\"";
  }

  const Checkout& checkout_;
  const GradeOptions& options_;
  GradingManifest manifest_;
  fs::path results_;
  fs::path reports_;  ///< in a folder of their own: a submission may have any name
  std::vector<Item> items_;
};

}  // namespace

int grade_all(const Checkout& checkout, const GradeOptions& options, GradingManifest manifest) {
  if (!fs::is_directory(*options.submissions)) {
    throw UsageError("--submissions: " + options.submissions->string() + " is not a folder");
  }
  return Batch(checkout, options, std::move(manifest)).run();
}

}  // namespace course::grader
