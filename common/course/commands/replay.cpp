#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "course/build/build.hpp"
#include "course/commands/commands.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/judging.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "course/workspace/lesson_status.hpp"
#include "protocol/case.hpp"
#include "protocol/errors.hpp"
#include "runner/mpirun.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

/// The names of the folders of kept cases, sorted.
std::vector<std::string> kept_cases(const fs::path& all) {
  std::error_code none;
  std::vector<std::string> kept;
  for (const fs::directory_entry& entry : fs::directory_iterator(all, none))
    kept.push_back(entry.path().filename().string());
  std::ranges::sort(kept);
  return kept;
}

fs::path find_case(const Checkout& checkout, const std::string& name) {
  const fs::path all = checkout.state() / "cases";
  for (const fs::path& folder : {all / name, fs::absolute(name)}) {
    if (fs::is_regular_file(folder / "case.json")) return fs::weakly_canonical(folder);
  }
  const std::vector<std::string> kept = kept_cases(all);
  const std::vector<std::string> meant = cases_named(checkout.lessons, kept, name);
  if (meant.size() == 1) return fs::weakly_canonical(all / meant.front());
  if (!meant.empty()) throw UsageError("'" + name + "' may be one of several cases: " + joined(meant));
  throw UsageError("there is no case '" + name + "'; " +
                   (kept.empty() ? "a check that fails keeps one" : "kept are: " + joined(kept)));
}

void require_compiled(const Checkout& checkout, const std::string& target, const BuildResult& built) {
  if (built.succeeded) return;
  const std::string diagnostics = student_diagnostics(built.steps, target, checkout.root);
  throw std::runtime_error(
      target + " does not compile:\n" +
      (diagnostics.empty() ? failure_text(built) : abridged(diagnostics, target, checkout.root)));
}

/// Whether the files are still those of the check that kept the case.
bool is_as_checked(const Checkout& checkout, const LessonInfo& lesson, const fs::path& folder) {
  const Progress progress = read_progress(checkout);
  const auto record = progress.lessons.find(lesson.id);
  if (record == progress.lessons.end() || record->second.hash != look_at_files(checkout, lesson).hash)
    return false;
  const auto test = record->second.tests.find(folder.filename().string().substr(lesson.tag().size() + 1));
  return test != record->second.tests.end() && test->second.status == Status::Failed;
}

/// Has the judge play the case and say what is wrong.
int judge_again(const Checkout& checkout, const LessonInfo& lesson, const fs::path& folder,
                const ReplayOptions& options) {
  const fs::path tree = checkout.build();
  const std::string target = subject_target(lesson, options.subject);
  GradingOrder order{.lesson = &lesson,
                     .tree = tree,
                     .subject = library_of(tree, lesson, options.subject),
                     .player = {built_in_player(tree, lesson)},
                     .replayed = folder,
                     .as_checked = options.subject == "student" && !options.player &&
                                   is_as_checked(checkout, lesson, folder),
                     .quiet_limit_s = options.limit_s};
  std::vector<std::string> targets{judge_of(tree, lesson).filename()};
  if (options.player) {
    order.player = own_player(*options.player);
    order.subject = Checkout::lesson_folder(lesson);
  } else {
    targets.insert(targets.end(), {target, built_in_player(tree, lesson).filename()});
  }
  require_compiled(checkout, target, build({checkout.root, tree, targets, "lesson " + lesson.id}));
  const TestResults results = grade(checkout, order);
  if (fs::exists(folder / "out"))  // not of a call that did not return
    fmt::print("what {} returned, rank by rank: {}\n",
               options.subject == "student" ? "your code" : "the solution", (folder / "out").string());
  fmt::print("what is right: {}\n", (folder / "expected").string());
  return std::ranges::all_of(results, [](const auto& test) { return test.second.status == Status::Passed; })
             ? succeeded
             : failed;
}

/// The command that plays the case with one rank under gdb, or waiting for it: without optimisation and with
/// debug information.
std::vector<std::string> debug_command(const Checkout& checkout, const LessonInfo& lesson,
                                       const fs::path& folder, const ReplayOptions& options) {
  const fs::path tree = checkout.build() / "debug";
  configure(checkout.root, tree, {"--preset", "student", "-DCMAKE_BUILD_TYPE=Debug"});
  const fs::path program = built_in_player(tree, lesson);
  const std::string target = subject_target(lesson, options.subject);
  require_compiled(checkout, target,
                   build({checkout.root, tree, {target, program.filename()}, "lesson " + lesson.id}));
  const std::vector<std::string> player{program, "--subject", library_of(tree, lesson, options.subject),
                                        "--keep-inputs", folder};
  const std::vector<int> world_ranks = read_manifest(folder).world_ranks;
  const auto rank = static_cast<std::size_t>(*options.gdb_rank);
  std::vector<std::string> command = debugger(options.gdb_port);
  if (lesson.needs_mpi())
    return ranks_command(player, *std::ranges::max_element(world_ranks) + 1, world_ranks.at(rank), command);
  command.insert(command.end(), player.begin(), player.end());
  return command;
}

void require_rank(int rank, const fs::path& folder) {
  const int ranks = read_manifest(folder).ranks;
  if (rank < 0 || rank >= ranks)
    throw UsageError(fmt::format("--gdb: the case has the ranks 0 to {}, not {}", ranks - 1, rank));
}

int debug(const Checkout& checkout, const LessonInfo& lesson, const fs::path& folder,
          const ReplayOptions& options) {
  require_rank(*options.gdb_rank, folder);
  const std::string needed = debugger(options.gdb_port).front();
  if (find_program(needed).empty())
    throw Unavailable("there is no " + needed + " on this machine: install " + needed);
  const std::vector<std::string> command = debug_command(checkout, lesson, folder, options);
  fs::remove_all(folder / "out");
  if (options.gdb_port) {
    fmt::print("waiting for a debugger: gdb -ex 'target remote localhost:{}' {}\n", *options.gdb_port,
               built_in_player(checkout.build() / "debug", lesson).string());
  } else {
    fmt::print("for instance: break lesson{}::{}, then run\n", lesson.id, read_manifest(folder).function);
  }
  const Exit exit =
      run({.argv = command, .folder = checkout.root, .environment = mpirun_environment(), .limit_s = 0});
  if (exit.code != 0) complain(fmt::format("the player ended with exit code {}", exit.code));
  return exit.code == 0 ? succeeded : failed;
}

}  // namespace

const LessonInfo& lesson_of_case(const std::vector<LessonInfo>& lessons, std::string_view folder_name) {
  for (const LessonInfo& lesson : lessons) {
    if (folder_name.starts_with(lesson.tag() + ".")) return lesson;
  }
  throw UsageError("cannot tell the lesson of the case '" + std::string(folder_name) +
                   "': its folder's name should start like lesson05.2");
}

std::vector<std::string> cases_named(const std::vector<LessonInfo>& lessons,
                                     const std::vector<std::string>& kept, const std::string& name) {
  const std::size_t dot = std::min(name.find('.'), name.size());
  const LessonInfo* lesson = lesson_named(lessons, name.substr(0, dot));
  const std::string whole = (lesson == nullptr ? name.substr(0, dot) : lesson->tag()) + name.substr(dot);
  std::vector<std::string> meant;
  std::ranges::copy_if(kept, std::back_inserter(meant),
                       [&](const std::string& one) { return one == whole || one.starts_with(whole + "."); });
  return meant;
}

std::vector<std::string> debugger(std::optional<int> port) {
  if (port) return {"gdbserver", "--once", "localhost:" + std::to_string(*port)};
  // Breakpoints come before the submission is loaded, and the first thing that a player does is not the
  // student's code.
  return {"gdb", "-q", "-ex", "set breakpoint pending on", "-ex", "set pagination off", "--args"};
}

std::vector<std::string> ranks_command(const std::vector<std::string>& player, int ranks, int gdb_rank,
                                       const std::vector<std::string>& debugger_words) {
  std::vector<std::string> command = mpirun(1);
  // mpirun reads "-n 1 A : -n 1 B : ..." as one program a rank, in the order of the ranks.
  const auto options = std::ranges::find(command, "-n");
  options[0] = "--stdin";
  options[1] = std::to_string(gdb_rank);
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank > 0) command.push_back(":");
    command.insert(command.end(), {"-n", "1"});
    if (rank == gdb_rank) command.insert(command.end(), debugger_words.begin(), debugger_words.end());
    command.insert(command.end(), player.begin(), player.end());
  }
  return command;
}

int replay(const Checkout& checkout, const ReplayOptions& options) {
  const fs::path folder = find_case(checkout, options.case_name);
  const LessonInfo& lesson = lesson_of_case(checkout.lessons, folder.filename().string());
  if (options.subject == "solution") checkout.require_solution(lesson);
  if (options.gdb_port && !options.gdb_rank)
    throw UsageError("--gdb-port needs --gdb RANK: the rank to debug");
  if (options.gdb_rank && options.player)
    throw UsageError("--gdb is about the built-in player; it does not go with --player");
  if (options.gdb_rank && options.limit_s)
    throw UsageError("--limit ends a case without progress; under --gdb none is ended");
  if (const std::string obstacle = checkout.build_obstacle(lesson); !obstacle.empty())
    throw Unavailable("lesson " + lesson.id + " cannot be played: " + obstacle);
  return options.gdb_rank ? debug(checkout, lesson, folder, options)
                          : judge_again(checkout, lesson, folder, options);
}

}  // namespace course::program
