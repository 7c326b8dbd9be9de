#include "grader/grade_command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "course/build/build.hpp"
#include "course/commands/machine_facts.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "grader/beside.hpp"
#include "grader/history.hpp"
#include "grader/readable.hpp"
#include "protocol/errors.hpp"
#include "runner/descriptor.hpp"
#include "runner/subprocess.hpp"
#include "skeleton/skeleton.hpp"
#include "text/text_file.hpp"

namespace course::program::grader {

namespace fs = std::filesystem;

namespace {

/// From the root, without the slash that Tab completion puts at a folder's end.
fs::path whole_path(const fs::path& folder) {
  const fs::path whole = fs::absolute(folder).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

void override_one(LessonInfo& lesson, const std::string& task_id, const nlohmann::json& points) {
  const auto task = std::ranges::find(lesson.tasks, task_id, &TaskInfo::id);
  if (task == lesson.tasks.end())
    throw UsageError("--points: lesson " + lesson.id + " has no task " + task_id);
  if (!points.is_number_unsigned() || points.get<unsigned>() > 1'000'000) {
    throw UsageError("--points: " + lesson.id + "." + task_id + " is " + points.dump() +
                     ", expected a whole number from 0 to 1000000");
  }
  task->points = points.get<int>();
}

std::vector<LessonInfo> chosen_lessons(const std::vector<LessonInfo>& all,
                                       const std::vector<std::string>& arguments) {
  if (arguments.empty()) return all;
  return choose_lessons(all, joined(arguments, {}, ","), "grade");
}

/// What grades are played with: everything of a lesson but its student's files.
void build_tools(const Checkout& checkout, const std::vector<LessonInfo>& lessons) {
  std::vector<std::string> targets{"player_solo"};
  for (const LessonInfo& lesson : lessons) {
    if (!checkout.build_obstacle(lesson).empty()) continue;
    targets.insert(targets.end(), {"judge_" + lesson.tag(), lesson.player()});
    for (const std::string& input : link_inputs(checkout, lesson)) targets.push_back(input);
  }
  require_built(build({checkout.root, checkout.build(), targets, "what grades"}), "the judges");
}

/// The isolation asked for, or the strongest there is. To do without is a decision that somebody takes.
Isolation chosen_isolation(const std::optional<std::string>& asked) {
  if (!asked) {
    const Isolation strongest = strongest_isolation();
    if (strongest != Isolation::None) return strongest;
    throw Unavailable("submissions cannot be isolated here: " + obstacle(Isolation::Namespaces) + "; " +
                      obstacle(Isolation::User) +
                      "; --isolation none grades all the same, code that you trust");
  }
  const Isolation isolation = isolation_named(*asked);
  if (const std::string why = obstacle(isolation); !why.empty())
    throw Unavailable("--isolation " + *asked + ": " + why);
  return isolation;
}

/// What submissions could copy from: the checkout, unless it is a student's, and the others' answers and
/// reports.
std::vector<fs::path> secrets(const Checkout& checkout, const GradeOptions& options) {
  std::vector<fs::path> folders;
  if (!checkout.is_handout()) folders.push_back(checkout.root);
  if (options.submissions) folders.insert(folders.end(), {*options.submissions, results_folder(options)});
  return folders;
}

/// Throws Unavailable where another user can enter a folder that holds answers: a submission would need only
/// to include one by its path. A path as it was typed may lead by way of a folder that is closed to that
/// user.
void require_closed(const Checkout& checkout, const GradeOptions& options, Isolation isolation) {
  std::vector<std::string> open;
  for (const fs::path& folder : secrets(checkout, options)) {
    if (!fs::exists(folder)) continue;
    const fs::path canonical = fs::canonical(folder);
    if (readable_confined(Confinement(isolation, {}), canonical)) open.push_back(shell_word(canonical));
  }
  if (!open.empty())
    throw Unavailable("isolation user: submitted code could read " + joined(open) +
                      "; close that with: chmod o-rwx " + joined(open, {}, " "));
}

/// One's own files may read the checkout that they lie in.
void announce(Isolation isolation, const Checkout& checkout, const GradeOptions& options) {
  complain("isolation: " + to_string(isolation));
  if (isolation == Isolation::None) complain("submitted code can read all that you can read");
  if (isolation == Isolation::User && (options.submission || options.submissions))
    require_closed(checkout, options, isolation);
}

/// A seed that nobody can guess, small enough for a number of JavaScript.
std::uint64_t drawn_seed() {
  constexpr std::uint64_t exact_in_a_double = std::uint64_t{1} << 53;
  std::random_device device;
  return std::uniform_int_distribution<std::uint64_t>(1, exact_in_a_double - 1)(device);
}

/// Of common/grader the sources that only show grades or keep them. The list is made by hand: a file that is
/// not in it counts as one that decides.
constexpr std::array show_grades{"batch", "beside",   "deadline", "gradescope", "history",
                                 "junit", "readable", "report",   "roster"};

bool only_shows_grades(const fs::path& file) {
  return std::ranges::find(show_grades, file.stem().string()) != show_grades.end();
}

/// A file's text, or those of the files below a folder; nothing where there is none, as of a lesson that this
/// machine cannot grade.
void add_texts(const fs::path& path, std::vector<std::string>& texts) {
  if (fs::is_regular_file(path)) texts.push_back(read_text(path));
  if (!fs::is_directory(path)) return;
  for (const fs::path& file : files_below(path)) texts.push_back(read_text(path / file));
}

/// Of what decides a lesson's verdicts as it is built, of what answers are linked with, and of how
/// submissions are taken, compiled, examined and confined, and their results counted. The list of folders is
/// made by hand. Pages, hints and the texts of mistakes decide nothing.
std::string deciding_hash(const Checkout& checkout, const LessonInfo& lesson) {
  const fs::path tree = checkout.build();
  std::vector<std::string> texts;
  for (const fs::path& built : {judge_of(tree, lesson), built_in_player(tree, lesson)})
    add_texts(built, texts);
  if (checkout.build_obstacle(lesson).empty()) {
    for (const std::string& input : link_inputs(checkout, lesson)) {
      texts.push_back(input);
      add_texts(tree / input, texts);
    }
  }
  if (lesson.needs_gpu()) add_texts(checkout.root / "common/gpu/cuda_to_cpp", texts);
  for (const char* sources : {"common/course/workspace", "common/audit", "common/protocol", "common/runner",
                              "common/skeleton", "common/text"})
    add_texts(checkout.root / sources, texts);
  const fs::path grader = checkout.root / "common/grader";
  for (const fs::path& file : files_below(grader)) {
    if (!only_shows_grades(file)) add_texts(grader / file, texts);
  }
  return content_hash(texts);
}

GradingManifest manifest_of(const Checkout& checkout, const std::vector<LessonInfo>& lessons,
                            std::uint64_t seed, Isolation isolation) {
  const Captured commit = capture({.argv = {"git", "-c", "safe.directory=*", "-C", checkout.root, "describe",
                                            "--always", "--dirty", "--abbrev=12", "--exclude=*"}});
  const std::string compiler =
      cache_entry(read_text(checkout.build() / "CMakeCache.txt"), "CMAKE_CXX_COMPILER");
  std::vector<std::string> judges;
  for (const LessonInfo& lesson : lessons) judges.push_back(deciding_hash(checkout, lesson));
  return {seed,
          isolation,
          commit.exit.code == 0 ? commit.first_line() : "unknown",
          content_hash(judges),
          capture({.argv = {compiler, "--version"}}).first_line(),
          joined(lessons, scope_of, " ")};
}

bool is_untouched(const Checkout& checkout, const LessonInfo& lesson, const HandedIn& handed_in) {
  return std::ranges::all_of(handed_in.texts, [&](const auto& entry) {
    const std::optional<std::string> skeleton = checkout.skeleton(lesson, entry.first);
    return skeleton && same_code(entry.second, *skeleton);
  });
}

/// A machine or a judge that fails is no answer's failure, and takes no other lesson's grade with it.
LessonGrade graded_or_skipped(const Checkout& checkout, const LessonInfo& lesson, const fs::path& folder,
                              const HandedIn& handed_in, const GradingManifest& manifest) {
  try {
    LessonGrade grade = grade_lesson(checkout, lesson, folder, manifest);
    // The commit that brought a skeleton is no answer's.
    if (!is_untouched(checkout, lesson, handed_in)) grade.commit = last_commit(folder, handed_in);
    return grade;
  } catch (const std::exception& error) {
    const std::string why = std::string("cannot grade on this machine: ") + error.what();
    complain("lesson " + lesson.id + ": " + why);
    return {.lesson_status = lesson_status_as_a_whole(lesson, Status::Skipped, why), .failed = true};
  }
}

/// The report where somebody ends grading from outside at its next lesson: what was graded before has its
/// points, and what was not is skipped.
Report ended_at_next(Report report, const std::vector<LessonInfo>& lessons) {
  const std::size_t next = report.lessons.size();
  for (std::size_t i = next; i < lessons.size(); ++i) {
    const std::string why = "cannot grade in the time allowed: grading was ended at lesson " +
                            lessons[next].id + " (" + lessons[next].name + ")";
    report.lessons.push_back(
        {.lesson_status = lesson_status_as_a_whole(lessons[i], Status::Skipped, why), .failed = true});
  }
  return report;
}

/// They decide nothing: a machine on which they cannot be looked for grades all the same.
Edits edits_or_none(const Checkout& checkout, const fs::path& folder) {
  try {
    return edits_beside(checkout, folder);
  } catch (const std::exception& error) {
    complain(std::string("files beside the answers were not looked at: ") + error.what());
    return {};
  }
}

/// Before each lesson `so_far` is given the report that ends there.
Report grade_submission(const Checkout& checkout, const std::vector<LessonInfo>& lessons,
                        const fs::path& folder, const GradingManifest& manifest,
                        const std::function<void(const Report&)>& so_far) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  Report report{whole_path(folder).filename(), manifest, {}};
  for (const LessonInfo& lesson : lessons) {
    const double before = seconds();
    so_far(ended_at_next(report, lessons));
    const HandedIn handed_in = take(folder, lesson);
    LessonGrade grade = graded_or_skipped(checkout, lesson, folder, handed_in, manifest);
    grade.seconds = seconds() - before;
    grade.terms = terms_of(checkout, lesson, manifest);
    grade.files_hash = files_hash(handed_in);
    report.lessons.push_back(std::move(grade));
  }
  report.edits = edits_or_none(checkout, folder);
  report.seconds = seconds();
  return report;
}

std::string formatted(const Report& report, const std::string& format, const Checkout& checkout) {
  const auto json = [&] { return nlohmann::ordered_json::parse(json_report(report)); };
  if (format == "json") return json_report(report) + "\n";
  if (format == "html") return html_report(json(), checkout);
  if (format == "markdown") return markdown_report(json(), checkout);
  if (format == "junit") return junit_report(report);
  if (format == "gradescope") return gradescope_report(report) + "\n";
  return text_report(report);
}

/// "; ring_softmax.cpp, found at ..." of files, also in Python, that lie beside untouched skeletons; empty
/// where there are none.
std::string written_elsewhere(const Checkout& checkout, const LessonInfo& lesson, const fs::path& folder) {
  std::string text;
  for (const std::string& file : lesson.files) {
    const std::string found =
        found_elsewhere(folder, checkout.root, lesson, file, checkout.skeleton(lesson, file));
    const std::string python = answered_in_python(folder, checkout.root, lesson, file);
    for (const std::string& said : {found, python}) {
      if (!said.empty()) text += "; " + said;
    }
  }
  return text;
}

/// Why nothing of the lesson is played, and as what that counts; nullopt: it is played.
std::optional<LessonStatus> not_to_be_played(const Checkout& checkout, const LessonInfo& lesson,
                                             const HandedIn& handed_in, const fs::path& folder) {
  if (const std::string obstacle = checkout.build_obstacle(lesson); !obstacle.empty())
    return lesson_status_as_a_whole(lesson, Status::Skipped, obstacle);
  if (!handed_in.refusal.empty())
    return lesson_status_as_a_whole(lesson, Status::Failed, "not taken: " + handed_in.refusal);
  if (!handed_in.missing.empty()) {
    LessonStatus whole =
        lesson_status_as_a_whole(lesson, handed_in.texts.empty() ? Status::Todo : Status::Failed,
                                 "not handed in: " + where_it_was_looked_for(folder, checkout.root, lesson,
                                                                             handed_in.missing.front()));
    whole.missing = true;
    return whole;
  }
  if (is_untouched(checkout, lesson, handed_in))
    return lesson_status_as_a_whole(lesson, Status::Todo,
                                    "not written yet" + written_elsewhere(checkout, lesson, folder));
  return std::nullopt;
}

}  // namespace

std::string override_points(std::vector<LessonInfo>& lessons, const fs::path& file) {
  nlohmann::json all;
  std::string text;
  try {
    text = read_text(file);
    all = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw UsageError("--points: " + file.string() + " is no JSON: " + error.what());
  } catch (const std::runtime_error& error) {
    throw UsageError(std::string("--points: ") + error.what());
  }
  if (!all.is_object()) throw UsageError("--points: " + file.string() + R"( is not like {"05": {"2": 80}})");
  for (const auto& [id, tasks] : all.items()) {
    const auto lesson = std::ranges::find(lessons, id, &LessonInfo::id);
    if (lesson == lessons.end()) throw UsageError("--points: there is no lesson " + id);
    if (!tasks.is_object()) throw UsageError("--points: lesson " + id + R"( is not like {"2": 80})");
    for (const auto& [task, points] : tasks.items()) override_one(*lesson, task, points);
  }
  return text;
}

namespace {

/// Throws UsageError naming an option that would be without effect.
void refuse_unused(const GradeOptions& options) {
  if (options.submission && options.submissions) throw UsageError("--submission contradicts --submissions");
  if (options.submissions && options.format)
    throw UsageError((options.as_json ? "--json" : "--format " + *options.format) +
                     " is of one submission; --submissions writes each report as JSON, HTML and Markdown");
  const std::pair<const char*, bool> of_many[] = {{"--jobs", options.jobs > 0},
                                                  {"--roster", options.roster.has_value()},
                                                  {"--due", options.due.has_value()}};
  for (const auto& [name, given] : of_many) {
    if (given && !options.submissions) throw UsageError(std::string(name) + " needs --submissions");
  }
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  const fs::path inside = fs::weakly_canonical(path).lexically_relative(fs::canonical(folder));
  return !inside.empty() && *inside.begin() != "..";
}

/// Throws UsageError where a folder is no submission, and two that lie in it hand in the same file.
void refuse_class(const fs::path& folder, const std::vector<LessonInfo>& lessons) {
  const auto hands_in = [](const fs::path& place, const LessonInfo& lesson) {
    return std::ranges::any_of(lesson.files, [&](const std::string& file) {
      return fs::exists(place / Checkout::student_file(lesson, file)) || fs::exists(place / file);
    });
  };
  for (const LessonInfo& lesson : lessons) {
    if (hands_in(folder, lesson)) return;
  }
  for (const LessonInfo& lesson : lessons) {
    const auto count =
        std::ranges::count_if(fs::directory_iterator(folder), [&](const fs::directory_entry& entry) {
          return fs::is_directory(entry.symlink_status()) && hands_in(entry.path(), lesson);
        });
    if (count > 1)
      throw UsageError(
          fmt::format("--submission: {0} holds no file of a lesson, and {1} folders in it hold "
                      "lesson {2}'s; for a folder of submissions: --submissions {0}",
                      shell_word(folder), count, lesson.id));
  }
}

bool holds_results(const fs::path& folder) {
  return fs::is_regular_file(folder / run_file) && fs::is_directory(folder / "reports");
}

/// Throws UsageError where a file cannot be written in the place of `output`, which nobody wants to learn
/// after an hour of grading.
void refuse_unwritable(const fs::path& output) {
  if (fs::is_directory(output))
    throw UsageError("--output: " + output.string() + " is a folder, expected a file");
  const fs::path probe = output.string() + ".probe" + std::to_string(getpid());
  std::error_code error;
  fs::create_directories(fs::absolute(probe).parent_path(), error);
  const Descriptor file(open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (file.get() < 0)
    throw UsageError("--output: cannot write " + output.string() + ": " +
                     std::generic_category().message(errno));
  fs::remove(probe, error);
}

/// Throws UsageError where there are no submissions, and where results would lie among what they are not.
void refuse_places(const fs::path& submissions, const fs::path& results) {
  const std::string all = "--submissions: " + submissions.string(), place = "--output: " + results.string();
  if (!fs::is_directory(submissions)) throw UsageError(all + " is not a folder");
  if (fs::exists(submissions / "lessons/registry.json"))
    throw UsageError(all + " is a copy of the course; that is one submission: --submission");
  if (lies_in(results, submissions))
    throw UsageError(place + " lies in " + submissions.string() +
                     ", which is for submissions; expected a folder elsewhere");
  if (!fs::exists(results)) return refuse_unwritable(results);
  if (!fs::is_directory(results)) throw UsageError(place + " is a file; --submissions needs a folder");
  if (!fs::is_empty(results) && !holds_results(results))
    throw UsageError(place +
                     " is not empty and holds no earlier results (run.json, reports/); expected a new "
                     "folder, an empty one or one with results");
}

}  // namespace

fs::path results_folder(const GradeOptions& options) {
  return options.output.value_or(whole_path(*options.submissions).string() + ".grades");
}

std::string scope_of(const LessonInfo& lesson) {
  return joined(
      lesson.tasks,
      [&](const TaskInfo& task) { return fmt::format("{}.{}={}", lesson.id, task.id, task.points); }, " ");
}

GradingManifest terms_of(const Checkout& checkout, const LessonInfo& lesson,
                         const GradingManifest& manifest) {
  GradingManifest terms = manifest;
  terms.seed = manifest.seed_of(lesson);
  terms.seeds.clear();
  terms.judges = deciding_hash(checkout, lesson);
  terms.scope = scope_of(lesson);
  return terms;
}

int grade(Checkout checkout, GradeOptions options) {
  refuse_unused(options);
  if (options.submissions) {
    const fs::path results = results_folder(options);
    refuse_places(*options.submissions, results);
    if (!options.points && fs::exists(results / points_file)) options.points = results / points_file;
  }
  if (options.submission) {
    const fs::path& folder = *options.submission;
    if (!fs::is_directory(folder)) throw UsageError("--submission: " + folder.string() + " is not a folder");
    if (!options.prepared) refuse_class(folder, checkout.lessons);  // else that is somebody's grader
  }
  if (options.output && !options.submissions) refuse_unwritable(*options.output);
  // First, so that one file of points serves assignments of single lessons.
  if (options.points) options.points_text = override_points(checkout.lessons, *options.points);
  const std::vector<LessonInfo> lessons = chosen_lessons(checkout.lessons, options.lessons);
  const Isolation isolation = chosen_isolation(options.isolation);
  if (!options.prepared) {
    announce(isolation, checkout, options);
    build_tools(checkout, lessons);
  }
  GradingManifest manifest =
      manifest_of(checkout, lessons, options.seed ? *options.seed : drawn_seed(), isolation);
  manifest.seeds = {options.lesson_seeds.begin(), options.lesson_seeds.end()};
  if (options.submissions) return grade_all(checkout, lessons, options, manifest);
  const fs::path folder = options.submission.value_or(checkout.root);
  const std::string format = options.format.value_or("text");
  // Gradescope ends a run that takes too long, and has to show something then.
  const auto keep = [&](const Report& so_far) {
    if (format == "gradescope" && options.output)
      write_text(*options.output, formatted(so_far, format, checkout));
  };
  const Report report = grade_submission(checkout, lessons, folder, manifest, keep);
  const std::string text = formatted(report, format, checkout);
  if (options.output) {
    write_text(*options.output, text);
  } else {
    fmt::print("{}", format == "text" ? fitted(text) : text);
  }
  return report.is_complete() ? succeeded : failed;
}

GradingOrder grading_order(const Checkout& checkout, const LessonInfo& lesson, const Workshop& workshop,
                           const GradingManifest& manifest) {
  return {.lesson = &lesson,
          .tests = selected_tests(lesson),
          .tree = checkout.build(),
          .subject = workshop.subject(),
          .player = {workshop.player()},
          .seed = manifest.seed_of(lesson),
          .quiet = true,
          .confined_as = {{to_string(manifest.isolation), workshop.user()}},
          .hidden = true};
}

LessonGrade grade_lesson(const Checkout& checkout, const LessonInfo& lesson, const fs::path& submission,
                         const GradingManifest& manifest) {
  const HandedIn handed_in = take(submission, lesson);
  if (const auto status = not_to_be_played(checkout, lesson, handed_in, submission)) return {*status};
  Workshop workshop(checkout, lesson, manifest.isolation);
  const std::string obstacle = workshop.make(handed_in);
  if (!obstacle.empty()) return {lesson_status_as_a_whole(lesson, Status::Failed, obstacle), {}};
  const TestResults tests = program::grade(checkout, grading_order(checkout, lesson, workshop, manifest));
  return {lesson_status_of(lesson, tests), tests};
}

}  // namespace course::program::grader
