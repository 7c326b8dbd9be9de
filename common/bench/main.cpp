#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "bench/contest.hpp"
#include "bench/subjects.hpp"
#include "course/build/file_lock.hpp"
#include "course/commands/command_line.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/lesson_status.hpp"
#include "protocol/errors.hpp"
#include "registry/candidates_file.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::bench {

namespace {

namespace fs = std::filesystem;
using program::Checkout;

Subjects subjects_here(const Checkout& checkout, bool mine) {
  const program::Progress progress = read_progress(checkout);
  std::vector<BenchLesson> all;
  for (const Role role : {Role::Block, Role::RingForward, Role::BlockBackward, Role::RingBackward}) {
    BenchLesson& known = all.emplace_back(BenchLesson{role, ""});
    const LessonInfo* lesson = lesson_with(checkout.lessons, role);
    if (lesson == nullptr) continue;
    known = {role, lesson->id, checkout.has_solution(*lesson),
             lesson_status_of(checkout, *lesson, progress).status == program::Status::Passed};
  }
  return choose_subjects(all, mine);
}

/// Adds the lessons' code to the contest, and where a block's solution is here a second time, written with
/// Eigen's own expressions, that.
void add_code(Contest& contest, const Checkout& checkout, const Subjects& subjects) {
  for (const auto& [role, subject] : subjects.chosen) {
    const LessonInfo& lesson = *lesson_with(checkout.lessons, role);
    contest.lessons[role] = timed::code_of(checkout, lesson, subject);
    const auto variants = read_candidates(checkout.root / "tests" / lesson.folder() / "variants.md");
    if (subject == "solution" && std::ranges::count(variants, "eigen_maps", &CandidateSection::id) > 0)
      contest.eigen_maps[role] = timed::code_of(checkout, lesson, "eigen_maps");
  }
}

/// Runs a command that takes minutes, its newest line on screen. Throws Unavailable with its last one when it
/// fails.
void run_for_peers(const std::vector<std::string>& argv) {
  const std::string what = "the Python environment of --peers";
  program::ProgressLine progress;
  std::string last;
  const Exit exit = course::run({.argv = argv}, [&](const std::string& line) {
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
  program::complain("installing PyTorch in " + fs::relative(folder, checkout.root).string() +
                    ": some minutes, 7 GB");
  fs::remove_all(folder);
  run_for_peers({"python3", "-m", "venv", folder});
  run_for_peers(
      {python, "-m", "pip", "install", "--disable-pip-version-check", "--requirement", requirements});
  write_text(made_from, read_text(requirements));
  return python;
}

std::string heading(const Contest& contest) {
  double load = 0;
  std::string text = fmt::format(
      "One core, [{0}, {1}, d] float32; a ring of two: [{0}, {2}, {3}]; medians of {4}, useful operations\n",
      contest.heads, contest.tokens, 2 * contest.tokens, contest.ring_head_dim, contest.repetitions);
  if (getloadavg(&load, 1) == 1 && load > 0.5)
    text += fmt::format("Other work may have run beside it: the load was {:.1f} at the start\n", load);
  return text + "\n";
}

/// Builds and times blocks and the blocking ring, or those of them that there are; exit 0 whatever the ratios
/// are. Throws Unavailable when nothing can be timed, or when there is no way to get the peers.
int bench(const Checkout& checkout, Contest contest, bool mine, bool peers, bool json) {
  const Interruptible interruptible;
  const Subjects subjects = subjects_here(checkout, mine);
  for (const std::string& why : subjects.left_out) program::complain(why);
  if (!subjects.chosen.contains(Role::Block) && !subjects.chosen.contains(Role::BlockBackward)) {
    throw Unavailable("there is nothing to time: neither " + in_words(Role::Block) + " nor " +
                      in_words(Role::BlockBackward));
  }
  add_code(contest, checkout, subjects);
  std::vector<timed::Code> codes;
  for (const auto* some : {&contest.lessons, &contest.eigen_maps}) {
    for (const auto& [role, code] : *some) codes.push_back(code);
  }
  timed::build(checkout, "the bench", codes);
  const program::FileLock alone(checkout.build() / "bench.lock", "another ./course bench to finish");
  contest.work = checkout.build() / "bench";
  if (peers) contest.peers = python_with_peers(checkout);
  const std::string title = heading(contest);
  const std::vector<Row> rows = hold(contest);
  fmt::print("{}", json ? rows_json(rows) : title + table_text(rows));
  return succeeded;
}

class BenchLine : public program::CommandLine {
 public:
  BenchLine() {
    CLI::App* command = add_command(
        "bench", "Times attention against Eigen's matrix product.",
        [this](const Checkout& checkout) { return bench(checkout, contest_, mine_, peers_, json_); });
    command->add_flag("--mine", mine_, "my own lessons, where they pass");
    command->add_flag("--peers", peers_,
                      "beside PyTorch's attention and a ring in PyTorch, which are installed in build/peers");
    command->add_flag("--json", json_, "one JSON object on stdout and nothing else");
    command->add_option("--heads", contest_.heads, "of every problem (8)")->check(CLI::Range(1, 1024));
    command->add_option("--tokens", contest_.tokens, "on one core (2048); a ring has twice as many")
        ->check(CLI::Range(1, 1 << 16));
    command->add_option("--head-dims", contest_.head_dims, "on one core (32,64,128)")
        ->delimiter(',')
        ->check(CLI::Range(1, 1024));
    command->add_option("--ring-head-dim", contest_.ring_head_dim, "of a ring's problem (64)")
        ->check(CLI::Range(1, 1024));
    command->add_option("--repetitions", contest_.repetitions, "of which the median counts (9)")
        ->check(CLI::Range(1, 1000));
    command->add_option("--min-seconds", contest_.min_seconds, "of one repetition (0.1)")
        ->check(CLI::Range(0.001, 60.0));
  }

 private:
  Contest contest_;
  bool mine_ = false, peers_ = false;
};

}  // namespace

}  // namespace course::bench

int main(int argc, char** argv) {
  return course::bench::BenchLine().run(argc, argv);
}
