#include "course/commands/bench.hpp"

#include <fmt/core.h>

#include <stdexcept>

#include "course/build/build.hpp"
#include "course/build/file_lock.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/judging.hpp"
#include "protocol/errors.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

std::vector<BenchLesson> look_at_lessons(const Checkout& checkout) {
  const Progress progress = read_progress(checkout);
  std::vector<BenchLesson> all;
  for (const Role role : {Role::Block, Role::RingForward, Role::BlockBackward, Role::RingBackward}) {
    const LessonInfo* lesson = lesson_with(checkout.lessons, role);
    if (lesson == nullptr) {
      all.push_back({role, ""});
    } else {
      all.push_back({role, lesson->id, checkout.has_solution(*lesson),
                     lesson_status_of(checkout, *lesson, progress).status == Status::Passed});
    }
  }
  return all;
}

/// Whether a lesson's solution is here a second time, written with Eigen's own expressions.
bool has_eigen_maps(const Checkout& checkout, const LessonInfo& lesson) {
  return fs::exists(checkout.root / "tests" / lesson.folder() / "variants" / "eigen_maps.cpp");
}

/// Runs a command that takes minutes, its newest line on screen. Throws Unavailable with its last one when it
/// fails.
void prepare(const std::string& what, const std::vector<std::string>& argv) {
  ProgressLine progress;
  std::string last;
  const Exit exit = run({.argv = argv}, [&](const std::string& line) {
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
    if (lesson.id.empty()) {
      subjects.left_out.push_back("the lesson of " + in_words(lesson.role) +
                                  " is left out: this handout does not hold it");
    } else if (lesson.solved && !mine) {
      subjects.libraries[lesson.role] = "lesson" + lesson.id + "_solution";
    } else if (lesson.passed) {
      subjects.libraries[lesson.role] = "lesson" + lesson.id + "_student";
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
  const auto has = [&](Role role) { return subjects.libraries.contains(role); };
  for (const std::string& why : subjects.left_out) complain(why);
  if (!has(Role::Block) && !has(Role::BlockBackward))
    throw Unavailable("there is nothing to time: neither " + in_words(Role::Block) + " nor " +
                      in_words(Role::BlockBackward));

  std::vector<std::string> targets{"course_bench"};
  std::vector<std::string> command{checkout.build() / "bin" / "course_bench"};
  const auto add_target = [&](const char* option, const std::string& target) {
    targets.push_back(target);
    command.insert(command.end(), {option, checkout.build() / "lib" / (target + ".so")});
  };
  const auto add = [&](const char* option, Role role) { add_target(option, subjects.libraries.at(role)); };
  const auto add_block = [&](Role role, const char* option, const char* eigen_option) {
    if (!has(role)) return;
    add(option, role);
    const LessonInfo& lesson = *lesson_with(checkout.lessons, role);
    if (subjects.libraries.at(role) == subject_target(lesson, "solution") && has_eigen_maps(checkout, lesson))
      add_target(eigen_option, subject_target(lesson, "eigen_maps"));
  };
  add_block(Role::Block, "--forward", "--eigen-forward");
  add_block(Role::BlockBackward, "--backward", "--eigen-backward");
  if (has(Role::Block) && has(Role::RingForward)) {
    add("--ring", Role::RingForward);
    add("--block", Role::Block);
    if (has(Role::BlockBackward) && has(Role::RingBackward)) add("--ring-backward", Role::RingBackward);
  }
  const BuildResult built = build({checkout.root, checkout.build(), targets, "the bench"});
  if (!built.succeeded) throw std::runtime_error("the bench could not be built:\n" + failure_text(built));

  const FileLock alone(checkout.build() / "bench.lock", "another ./course bench to finish");
  if (options.peers) command.insert(command.end(), {"--peers", python_with_peers(checkout)});
  command.insert(command.end(), {"--work", checkout.build() / "bench"});
  if (options.json) command.push_back("--json");
  return run({.argv = command}).code;
}

}  // namespace course::program
