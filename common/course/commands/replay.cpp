#include <fmt/core.h>

#include <algorithm>

#include "course/build/build.hpp"
#include "course/commands/commands.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/judging.hpp"
#include "protocol/case.hpp"
#include "protocol/errors.hpp"
#include "runner/mpirun.hpp"
#include "runner/subprocess.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

fs::path find_case(const Checkout& checkout, const std::string& name) {
  const fs::path all = checkout.state() / "cases";
  for (const fs::path& folder : {all / name, fs::absolute(name)}) {
    if (fs::is_regular_file(folder / "case.json")) return fs::weakly_canonical(folder);
  }
  std::error_code none;
  const std::string known = joined(fs::directory_iterator(all, none),
                                   [](const auto& entry) { return entry.path().filename().string(); });
  throw UsageError("there is no case '" + name + "'; " +
                   (known.empty() ? "a check that fails keeps one" : "kept are: " + known));
}

/// Where the player and the subject are built. Under gdb: without optimisation and with debug information.
fs::path prepare_tree(const Checkout& checkout, bool debug) {
  if (!debug) return checkout.build();
  const fs::path tree = checkout.build() / "debug";
  configure(checkout.root, tree, {"--preset", "student", "-DCMAKE_BUILD_TYPE=Debug"});
  return tree;
}

/// Builds what is to be played. Returns the command of one rank, without the case.
std::vector<std::string> built_in_command(const Checkout& checkout, const LessonInfo& lesson,
                                          const ReplayOptions& options) {
  const fs::path tree = prepare_tree(checkout, options.gdb_rank.has_value());
  const fs::path player = built_in_player(tree, lesson);
  const std::string target = subject_target(lesson, options.subject);
  const BuildResult built = build({checkout.root, tree, {target, player.filename()}, "lesson " + lesson.id});
  if (!built.succeeded) {
    const std::string diagnostics = student_diagnostics(built.steps, target, checkout.root);
    throw std::runtime_error(target + " does not compile:\n" +
                             (diagnostics.empty() ? failure_text(built) : diagnostics));
  }
  return {player, "--subject", library_of(tree, lesson, options.subject)};
}

std::vector<std::string> own_command(const Checkout& checkout, const LessonInfo& lesson,
                                     const ReplayOptions& options) {
  if (options.gdb_rank) throw UsageError("--gdb is about the built-in player; it does not go with --player");
  std::vector<std::string> player = words_of(*options.player);
  player.insert(player.end(), {"--subject", checkout.root / Checkout::lesson_folder(lesson)});
  return player;
}

/// The world rank that plays the case's rank. Throws UsageError when the case has no such rank.
int world_rank_of(const CaseManifest& manifest, int rank) {
  if (rank < 0 || rank >= manifest.ranks)
    throw UsageError(fmt::format("the case has the ranks 0 to {}, not {}", manifest.ranks - 1, rank));
  return manifest.world_ranks.at(static_cast<std::size_t>(rank));
}

std::vector<std::string> full_command(const LessonInfo& lesson, const CaseManifest& manifest,
                                      const std::vector<std::string>& player, const ReplayOptions& options) {
  std::optional<int> world_rank;
  if (options.gdb_rank) world_rank = world_rank_of(manifest, *options.gdb_rank);
  std::vector<std::string> command = debugger(options.gdb_port);
  if (lesson.needs_mpi())
    return ranks_command(player, *std::ranges::max_element(manifest.world_ranks) + 1, world_rank, command);
  if (!world_rank) command.clear();
  command.insert(command.end(), player.begin(), player.end());
  return command;
}

void describe_ending(const fs::path& folder, const Exit& exit, const ReplayOptions& options) {
  if (exit.timed_out) {
    complain(fmt::format(
        "still not done after {}, so it was ended; --limit gives it longer, --gdb RANK looks inside",
        duration(options.limit_s)));
  } else if (exit.code != 0) {
    complain(fmt::format("the player ended with exit code {}", exit.code));
  }
  fmt::print("what the {} returned, rank by rank: {}\n", options.subject, (folder / "out").string());
  if (fs::exists(folder / "expected")) fmt::print("what is right: {}\n", (folder / "expected").string());
}

void require_programs(const LessonInfo& lesson, const ReplayOptions& options) {
  if (options.gdb_port && !options.gdb_rank)
    throw UsageError("--gdb-port needs --gdb RANK: the rank to debug");
  const std::string needed = debugger(options.gdb_port).front();
  if (options.gdb_rank && find_program(needed).empty())
    throw Unavailable("there is no " + needed + " on this machine: install " + needed);
  if (lesson.needs_mpi() && find_program("mpirun").empty())
    throw Unavailable("there is no mpirun on this machine");
}

}  // namespace

const LessonInfo& lesson_of_case(const std::vector<LessonInfo>& lessons, std::string_view folder_name) {
  for (const LessonInfo& lesson : lessons) {
    if (folder_name.starts_with(lesson.tag() + ".")) return lesson;
  }
  throw UsageError("cannot tell the lesson of the case '" + std::string(folder_name) +
                   "': its folder's name should start like lesson05.2");
}

std::vector<std::string> debugger(std::optional<int> port) {
  if (port) return {"gdbserver", "--once", "localhost:" + std::to_string(*port)};
  // Breakpoints come before the submission is loaded, and the first thing that a player does is not the
  // student's code.
  return {"gdb", "-q", "-ex", "set breakpoint pending on", "--args"};
}

std::vector<std::string> ranks_command(const std::vector<std::string>& player, int ranks,
                                       std::optional<int> gdb_rank,
                                       const std::vector<std::string>& debugger_words) {
  std::vector<std::string> command = mpirun(gdb_rank ? 1 : ranks);
  if (!gdb_rank) {
    command.insert(command.end(), player.begin(), player.end());
    return command;
  }
  // mpirun reads "-n 1 A : -n 1 B : ..." as one program a rank, in the order of the ranks.
  const auto options = std::ranges::find(command, "-n");
  options[0] = "--stdin";
  options[1] = std::to_string(*gdb_rank);
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank > 0) command.push_back(":");
    command.insert(command.end(), {"-n", "1"});
    if (rank == *gdb_rank) command.insert(command.end(), debugger_words.begin(), debugger_words.end());
    command.insert(command.end(), player.begin(), player.end());
  }
  return command;
}

int replay(const Checkout& checkout, const ReplayOptions& options) {
  const fs::path folder = find_case(checkout, options.case_name);
  const LessonInfo& lesson = lesson_of_case(checkout.lessons, folder.filename().string());
  if (options.subject == "solution") checkout.require_solution(lesson);
  const CaseManifest manifest = read_manifest(folder);
  require_programs(lesson, options);
  std::vector<std::string> player =
      options.player ? own_command(checkout, lesson, options) : built_in_command(checkout, lesson, options);
  player.insert(player.end(), {"--keep-inputs", folder});
  const std::vector<std::string> command = full_command(lesson, manifest, player, options);
  fs::remove_all(folder / "out");
  if (options.gdb_port) {
    fmt::print("waiting for a debugger: gdb -ex 'target remote localhost:{}' {}\n", *options.gdb_port,
               player.front());
  } else if (options.gdb_rank) {
    fmt::print("for instance: break lesson{}::{}, then run\n", lesson.id, manifest.function);
  }
  const Exit exit = run({.argv = command,
                         .folder = checkout.root,
                         .environment = mpirun_environment(),
                         .limit_s = options.gdb_rank ? 0 : options.limit_s});
  describe_ending(folder, exit, options);
  return exit.code == 0 ? succeeded : failed;
}

}  // namespace course::program
