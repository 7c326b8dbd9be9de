#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "bench/contest.hpp"
#include "bench/on_device.hpp"
#include "bench/subjects.hpp"
#include "course/build/file_lock.hpp"
#include "course/commands/command_line.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/judging.hpp"
#include "course/workspace/lesson_status.hpp"
#include "protocol/errors.hpp"
#include "registry/candidates_file.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::bench {

namespace {

namespace fs = std::filesystem;
using program::Checkout;

struct Options {
  bool causal = false;
  bool packed = false;
  bool exchange = false;
  std::string lesson = {};  ///< of blocks in registers: held against the core's multiply-adds
  bool simulated = false;
  std::string block = {};  ///< the lesson whose blocks they are; empty: lessons 04 and 06
  bool mine = false;
  bool peers = false;
  bool json = false;
  std::string backend = {};  ///< of kernels and rings on a GPU; empty: of this machine's cores
};

std::vector<Role> roles_of(const Options& options) {
  if (options.simulated) return {Role::BlockCuda};
  if (!options.lesson.empty()) return {Role::Block, Role::BlockBackward, Role::BlockRegisters};
  std::vector<Role> roles{block_role(options.block)};
  if (options.packed) {
    roles.insert(roles.end(), {Role::RingGrouped, Role::RingPacked});
    return roles;
  }
  if (options.exchange) {
    roles.insert(roles.end(), {Role::RingGrouped, Role::HeadExchange, Role::Grids});
    return roles;
  }
  if (options.block.empty()) roles.push_back(Role::BlockBackward);
  roles.insert(roles.end(), {Role::RingForward, Role::RingBackward});
  if (options.causal) roles.push_back(Role::RingLayout);
  return roles;
}

Subjects subjects_here(const Checkout& checkout, const Options& options) {
  const program::Progress progress = read_progress(checkout);
  std::vector<BenchLesson> all;
  for (const Role role : roles_of(options)) {
    BenchLesson& known = all.emplace_back(BenchLesson{role, ""});
    const LessonInfo* lesson = lesson_with(checkout.lessons, role);
    if (lesson == nullptr) continue;
    known = {role, lesson->id, checkout.has_solution(*lesson),
             lesson_status_of(checkout, *lesson, progress).status == program::Status::Passed};
  }
  return choose_subjects(all, options.mine);
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
  if (!contest.in_registers) return;
  const timed::Code registers = contest.lessons.at(Role::BlockRegisters);
  contest.lessons[Role::Block] = contest.lessons[Role::BlockBackward] = registers;
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

std::string heading(const Contest& contest, const Options& options) {
  double load = 0;
  const std::string blocks = contest.in_registers ? ", blocks of lesson 20" : "";
  if (options.packed || options.exchange) {
    return fmt::format(
        "{} by the clock, {} tokens, head_dim {}, float32{}; medians of {}, useful operations of each "
        "rank\n\n",
        options.packed ? "Rings" : "Rings and exchanges", contest.tokens, contest.ring_head_dim, blocks,
        contest.repetitions);
  }
  std::string text =
      options.simulated
          ? fmt::format("A simulated GPU on one core, [1, {}, d] float32; medians of {}, useful operations\n",
                        contest.tokens / simulated_share, contest.repetitions)
          : fmt::format(
                "One core, [{0}, {1}, {5}] float32; {6}: [{0}, {2}, {3}]{7}; medians of {4}, useful "
                "operations\n",
                contest.heads, contest.tokens, 2 * contest.tokens, contest.ring_head_dim, contest.repetitions,
                options.causal ? std::to_string(contest.ring_head_dim) : "d",
                options.causal ? "rings" : "a ring of two", blocks);
  if (options.causal)
    text +=
        "Time is the CPU time of blocks: of each step that of the rank whose block takes longest. Waiting "
        "for\n"
        "messages, or for a core where ranks share one, does not count; \"by the clock\" it does\n";
  if (getloadavg(&load, 1) == 1 && load > 0.5)
    text += fmt::format("Other work may have run beside it: the load was {:.1f} at the start\n", load);
  return text + "\n";
}

/// Throws Unavailable where there is nothing to time.
void require_something(const Subjects& subjects, const Options& options) {
  const auto lacks = [&](Role role) { return !subjects.chosen.contains(role); };
  const Role block = block_role(options.block);
  std::vector<Role> needed;
  if (!options.block.empty()) needed = {block};
  if (options.causal) needed = {block, Role::RingLayout};
  if (options.packed) needed = {block, Role::RingGrouped, Role::RingPacked};
  if (options.exchange) needed = {block, Role::RingGrouped, Role::HeadExchange, Role::Grids};
  if (!options.lesson.empty()) needed = {Role::BlockRegisters};
  if (options.simulated) needed = {Role::BlockCuda};
  if (!needed.empty()) {
    for (const Role role : needed)
      if (lacks(role)) throw Unavailable("there is nothing to time without " + in_words(role));
  } else if (lacks(Role::Block) && lacks(Role::BlockBackward)) {
    throw Unavailable("there is nothing to time: neither " + in_words(Role::Block) + " nor " +
                      in_words(Role::BlockBackward));
  }
}

/// The lesson's player, once it is built.
fs::path simulated_player(const Checkout& checkout) {
  const LessonInfo& lesson = *lesson_with(checkout.lessons, Role::BlockCuda);
  if (const std::string obstacle = checkout.build_obstacle(lesson); !obstacle.empty())
    throw Unavailable("--simulated: " + obstacle);
  return program::built_in_player(checkout.build(), lesson);
}

std::vector<Row> rows_of(const Checkout& checkout, const Contest& contest, const Options& options) {
  if (options.simulated) return hold_simulated(contest, simulated_player(checkout));
  if (options.packed) return hold_packed(contest);
  return options.causal ? hold_causal(contest) : hold(contest);
}

/// A row of blocks in registers, whose bound is the most that there can be.
std::string registers_line(const Row& row) {
  if (!row.ratio) return fmt::format("{:<30}  too noisy\n", row.name);
  return fmt::format(
      "{:<30}  {:3.0f} % of {}{}\n", row.name, 100 * *row.ratio, row.against,
      row.bound ? fmt::format(", {:.1f} % of the bound of {:.0f} %", row.rate, 100 * *row.bound) : "");
}

/// The table, and the level that its lowest row reaches.
int print_registers(const RegistersReport& report, bool json) {
  const std::string level = report.lanes < 8
                                ? "4 lanes: products by a library come as near, and there are no levels"
                            : report.noisy     ? "too noisy: other work runs beside it; no level"
                            : report.level > 0 ? fmt::format("level {} of 3", report.level)
                                               : "below level 1, which is 76 % of the bound";
  if (json) {
    fmt::print("{}", rows_json(report.rows, {{"lanes", std::to_string(report.lanes)}, {"level", level}}));
    return succeeded;
  }
  fmt::print(
      "One core, {} lanes, one head, {} queries, 1536 keys; medians of shares of the multiply-adds beside "
      "each run\n\n",
      report.lanes, 12 * report.lanes);
  for (const Row& row : report.rows) fmt::print("{}", registers_line(row));
  fmt::print("\n{}: 76, 84 and 90 % of the bound in every row are levels 1, 2 and 3\n", level);
  return succeeded;
}

/// The table, and what sends least by lessons 17 and 18.
int print_exchanges(const ExchangeReport& report, const std::string& title, bool json) {
  if (json) {
    fmt::print("{}", rows_json(report.rows, report.preferred));
    return succeeded;
  }
  fmt::print(
      "{}{}\nLeast bytes: on up to Hkv ranks Ulysses, and a grid in all, send less than a ring where P > 1 + "
      "H/Hkv\n",
      title, table_text(report.rows));
  for (const auto& [setting, words] : report.preferred) fmt::print("  {}: {}\n", setting, words);
  return succeeded;
}

/// Builds and times blocks and the blocking ring, causal rings, or a simulated GPU, or those of them that
/// there are, or kernels on a GPU; exit 0 whatever the ratios are. Throws Unavailable when nothing can be
/// timed, or when there is no way to get the peers.
int bench(const Checkout& checkout, Contest contest, const Options& options) {
  const Interruptible interruptible;
  if (!options.backend.empty())
    return time_on_device(checkout, {options.backend, options.mine, options.json});
  const Subjects subjects = subjects_here(checkout, options);
  for (const std::string& why : subjects.left_out) program::complain(why);
  require_something(subjects, options);
  contest.in_registers = !options.block.empty();
  add_code(contest, checkout, subjects);
  std::vector<timed::Code> codes;
  for (const auto* some : {&contest.lessons, &contest.eigen_maps}) {
    for (const auto& [role, code] : *some) codes.push_back(code);
  }
  std::vector<std::string> players;
  if (options.simulated) players.push_back(simulated_player(checkout).filename());
  timed::build(checkout, "the bench", codes, players);
  const program::FileLock alone(checkout.build() / "bench.lock", "another ./course bench to finish");
  contest.work = checkout.build() / "bench";
  contest.gather = checkout.build() / "lib" / "bench_gather.so";
  if (options.peers) contest.peers = python_with_peers(checkout);
  if (!options.lesson.empty()) return print_registers(hold_registers(contest), options.json);
  const std::string title = heading(contest, options);
  if (options.exchange) return print_exchanges(hold_exchanges(contest), title, options.json);
  const std::vector<Row> rows = rows_of(checkout, contest, options);
  fmt::print("{}", options.json ? rows_json(rows) : title + table_text(rows));
  return succeeded;
}

class BenchLine : public program::CommandLine {
 public:
  BenchLine() {
    CLI::App* command = add_command(
        "bench", "Times attention against Eigen's matrix product.", [this](const Checkout& checkout) {
          options_.json = json_;
          if (ring_ranks_->count() > 0 && !options_.causal && !options_.packed && !options_.exchange)
            throw UsageError("--ring-ranks goes with --causal, --packed or --exchange");
          return bench(checkout, contest_, options_);
        });
    CLI::Option* const causal = command->add_flag(
        "--causal", options_.causal, "causal rings on every layout, in place of what sees all keys");
    CLI::Option* const packed =
        command
            ->add_flag(
                "--packed", options_.packed,
                "rings with few key heads and with a window, by the clock, in place of what sees all keys")
            ->excludes(causal);
    CLI::Option* const exchange =
        command
            ->add_flag(
                "--exchange", options_.exchange,
                "a ring, a gather, Ulysses, a grid and a double ring, by the clock, and what each sends")
            ->excludes(causal)
            ->excludes(packed);
    CLI::Option* const lesson =
        command
            ->add_option(
                "--lesson", options_.lesson,
                "20: a block in vector registers, as a share of this core's multiply-adds, and its level")
            ->check(CLI::IsMember({"20"}))
            ->excludes(causal)
            ->excludes(packed)
            ->excludes(exchange);
    CLI::Option* const simulated =
        command
            ->add_flag("--simulated", options_.simulated,
                       "a block on a simulated GPU, against the core's multiply-adds")
            ->excludes(causal)
            ->excludes(lesson)
            ->excludes(packed)
            ->excludes(exchange);
    CLI::Option* const backend =
        command
            ->add_option(
                "--backend", options_.backend,
                "cuda: lessons 09 to 12 on this machine's GPU, beside PyTorch where that is; sim: the "
                "same path on simulated GPUs, whose rates mean nothing")
            ->check(CLI::IsMember({"sim", "cuda"}))
            ->excludes(causal)
            ->excludes(lesson)
            ->excludes(packed)
            ->excludes(exchange)
            ->excludes(simulated);
    program::add_block_option(*command, options_.block)
        ->excludes(lesson)
        ->excludes(simulated)
        ->excludes(backend);
    command->add_flag("--mine", options_.mine, "my own lessons, where they pass");
    command
        ->add_flag("--peers", options_.peers,
                   "beside PyTorch's attention and a ring in PyTorch, which are installed in build/peers")
        ->excludes(backend)
        ->excludes(lesson)
        ->excludes(packed)
        ->excludes(exchange)
        ->excludes(simulated);
    print_as_json(command);
    command->add_flag("--json", json_, "one JSON object on stdout and nothing else");
    command
        ->add_option("--heads", contest_.heads,
                     "of every problem but a simulated GPU's and rings that share key heads (8)")
        ->check(program::between(1, 1024))
        ->excludes(exchange)
        ->excludes(lesson)
        ->excludes(simulated);
    command
        ->add_option("--tokens", contest_.tokens,
                     "on one core and of packed rings (2048); all other rings have twice as many")
        ->check(program::between(1, 1 << 16));
    command->add_option("--head-dims", contest_.head_dims, "on one core (32,64,128)")
        ->delimiter(',')
        ->check(program::between(1, 1024))
        ->excludes(causal)
        ->excludes(packed)
        ->excludes(exchange);
    command->add_option("--ring-head-dim", contest_.ring_head_dim, "of a ring's problem (64)")
        ->check(program::between(1, 1024))
        ->excludes(lesson)
        ->excludes(simulated);
    ring_ranks_ = command
                      ->add_option("--ring-ranks", contest_.ring_ranks,
                                   "of causal and packed rings, and of exchanges (2,4)")
                      ->delimiter(',')
                      ->check(program::between(1, 64));
    command->add_option("--repetitions", contest_.repetitions, "of which the median counts (9)")
        ->check(program::between(1, 1000));
    command->add_option("--min-seconds", contest_.min_seconds, "of one repetition (0.1)")
        ->check(program::between(0.001, 60.0));
  }

 private:
  Contest contest_;
  Options options_;
  CLI::Option* ring_ranks_ = nullptr;
};

}  // namespace

}  // namespace course::bench

int main(int argc, char** argv) {
  return course::bench::BenchLine().run(argc, argv);
}
