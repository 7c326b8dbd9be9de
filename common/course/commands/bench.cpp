#include "course/commands/bench.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "course/build/build.hpp"
#include "course/build/child.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/lesson_status.hpp"
#include "course/workspace/text_file.hpp"
#include "protocol/errors.hpp"
#include "course/build/file_lock.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

constexpr const char* timed_forward = "04";
constexpr const char* timed_ring = "05";
constexpr const char* timed_backward = "06";
constexpr const char* timed_ring_backward = "07";

std::vector<BenchLesson> look_at_lessons(const Checkout& checkout) {
  const Progress progress = read_progress(checkout);
  std::vector<BenchLesson> all;
  for (const std::string id : {timed_forward, timed_ring, timed_backward, timed_ring_backward}) {
    const auto lesson = std::find_if(checkout.lessons.begin(), checkout.lessons.end(),
                                     [&](const LessonInfo& info) { return info.id == id; });
    if (lesson == checkout.lessons.end()) {
      all.push_back({id, false, false, false});
    } else {
      all.push_back({id, true, checkout.has_solution(*lesson),
                     lesson_status_of(checkout, *lesson, progress).status == Status::Passed});
    }
  }
  return all;
}

/// Whether a lesson's solution is here a second time, written with Eigen's own expressions.
bool has_eigen_maps(const Checkout& checkout, const std::string& id) {
  return std::any_of(checkout.lessons.begin(), checkout.lessons.end(), [&](const LessonInfo& lesson) {
    return lesson.id == id &&
           fs::exists(checkout.root / "tests" / lesson.folder() / "variants" / "eigen_maps.cpp");
  });
}

/// Runs a command that takes minutes, its newest line on screen. Throws Unavailable with its last one when it
/// fails.
void prepare(const std::string& what, const std::vector<std::string>& argv) {
  ProgressLine progress;
  std::string last;
  const ChildExit exit = run({.argv = argv, .folder = {}, .environment = {}}, [&](const std::string& line) {
    last = line;
    progress.show(what + ": " + line.substr(0, 60));
  });
  progress.clear();
  if (exit.code != 0) throw Unavailable("cannot make " + what + ": " + last);
}

/// A Python that has the peers, made in the build folder unless it is there. Throws Unavailable.
fs::path python_with_peers(const Checkout& checkout) {
  const fs::path folder = checkout.build() / "peers";
  const fs::path python = folder / "bin" / "python";
  const fs::path made_from = folder / "requirements.txt";
  const fs::path requirements = checkout.root / "common" / "bench" / "python" / "requirements.txt";
  if (fs::exists(made_from) && read_text(made_from) == read_text(requirements)) return python;
  fmt::print(stderr, "course: installing PyTorch in {}: some minutes, 7 GB\n",
             fs::relative(folder, checkout.root).string());
  fs::remove_all(folder);
  const std::string what = "the Python environment of --peers";
  prepare(what, {"python3", "-m", "venv", folder});
  prepare(what,
          {python, "-m", "pip", "install", "--disable-pip-version-check", "--requirement", requirements});
  write_text(made_from, read_text(requirements));
  return python;
}

}  // namespace

BenchSubjects choose_subjects(const std::vector<BenchLesson>& lessons, bool mine) {
  BenchSubjects subjects;
  for (const BenchLesson& lesson : lessons) {
    const std::string name = "lesson " + lesson.id;
    if (!lesson.held) {
      subjects.left_out.push_back(name + " is left out: this handout does not hold it");
    } else if (lesson.solved && !mine) {
      subjects.libraries[lesson.id] = "lesson" + lesson.id + "_solution";
    } else if (lesson.passed) {
      subjects.libraries[lesson.id] = "lesson" + lesson.id + "_student";
    } else {
      subjects.left_out.push_back(name + " is left out: yours is not passed as it stands" +
                                  (mine ? "" : ", and its solution is not here") + ": ./course check " +
                                  lesson.id);
    }
  }
  return subjects;
}

int bench(const Checkout& checkout, const BenchOptions& options) {
  const BenchSubjects subjects = choose_subjects(look_at_lessons(checkout), options.mine);
  const auto library = [&](const char* id) { return subjects.libraries.find(id); };
  const auto none = subjects.libraries.end();
  for (const std::string& why : subjects.left_out) complain(why);
  if (library(timed_forward) == none && library(timed_backward) == none)
    throw Unavailable("there is nothing to time: neither lesson 04 nor lesson 06");

  std::vector<std::string> targets{"course_bench"};
  std::vector<std::string> command{checkout.build() / "bin" / "course_bench"};
  const auto add = [&](const char* option, const char* id) {
    targets.push_back(library(id)->second);
    command.insert(command.end(), {option, checkout.build() / "lib" / (library(id)->second + ".so")});
  };
  const auto add_eigen_maps = [&](const char* option, const std::string& id) {
    const auto found = subjects.libraries.find(id);
    if (found == none || !found->second.ends_with("_solution") || !has_eigen_maps(checkout, id)) return;
    const std::string target = "lesson" + id + "_eigen_maps";
    targets.push_back(target);
    command.insert(command.end(), {option, checkout.build() / "lib" / (target + ".so")});
  };
  if (library(timed_forward) != none) add("--forward", timed_forward);
  if (library(timed_backward) != none) add("--backward", timed_backward);
  add_eigen_maps("--eigen-forward", timed_forward);
  add_eigen_maps("--eigen-backward", timed_backward);
  if (library(timed_forward) != none && library(timed_ring) != none) {
    add("--ring", timed_ring);
    add("--block", timed_forward);
    if (library(timed_backward) != none && library(timed_ring_backward) != none)
      add("--ring-backward", timed_ring_backward);
  }
  const BuildResult built = build({checkout.root, checkout.build(), targets, "the bench"});
  if (!built.succeeded) throw std::runtime_error("the bench could not be built:\n" + failure_text(built));

  const FileLock alone(checkout.build() / "bench.lock", "another ./course bench to finish");
  if (options.peers) command.insert(command.end(), {"--peers", python_with_peers(checkout)});
  command.insert(command.end(), {"--work", checkout.build() / "bench"});
  if (options.json) command.push_back("--json");
  return run({.argv = command, .folder = {}, .environment = {}}).code;
}

}  // namespace course::program
