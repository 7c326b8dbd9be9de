#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "course/commands/command_line.hpp"
#include "course/commands/tools.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/judging.hpp"
#include "lab/cards.hpp"
#include "lab/network.hpp"
#include "lab/quantity.hpp"
#include "lab/report.hpp"
#include "lab/trace.hpp"
#include "protocol/errors.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"
#include "timed/output_folder.hpp"

namespace course::lab {

namespace {

namespace fs = std::filesystem;

struct LabOptions {
  std::string name;             ///< "slow-network" or "two-hosts"
  std::string bandwidth;        ///< of the link; empty: 100 Mbit/s for each rank that shares it
  std::string latency = "0ms";  ///< one way, beyond what the link has
  std::optional<int> ranks;
  std::optional<int> cards;  ///< of each of two hosts: lesson 18 in place of lesson 08's rings
  std::string block;         ///< the lesson whose blocks they are; empty: lesson 04
  fs::path out;              ///< a folder; empty: .course/lab/NAME
  bool json = false;

  int default_ranks() const { return cards || std::thread::hardware_concurrency() >= 4 ? 4 : 2; }
};

/// Throws UsageError where --cards does not go with the rest.
void require_cards(const LabOptions& options) {
  if (!options.cards) return;
  const int cards = *options.cards, ranks = options.ranks.value_or(options.default_ranks());
  if (options.name != "two-hosts") throw UsageError("--cards goes with two-hosts");
  if (ranks % 2 != 0 || ranks < 4)
    throw UsageError(
        fmt::format("--ranks {} --cards {}: expected as many ranks on each host, two or more", ranks, cards));
  if (cards > ranks / 2)
    throw UsageError(fmt::format("--cards {}: {} ranks on each host have use for no more than {}", cards,
                                 ranks / 2, ranks / 2));
}

LinkOrder link_of(const LabOptions& options) {
  // A byte costs the cores some time to send and receive, which a ring with progress cannot hide: on a slower
  // link, whose transfers take more work to hide, that is a smaller share.
  constexpr double bandwidth_each = 100e6;
  const bool two_hosts = options.name == "two-hosts";
  return {
      .bandwidth = options.bandwidth.empty()
                       ? bandwidth_each * (two_hosts ? 1 : options.ranks.value_or(options.default_ranks()))
                       : parse_bandwidth("--bandwidth", options.bandwidth),
      .latency_s = parse_latency("--latency", options.latency),
      .two_hosts = two_hosts,
      .cards = options.cards.value_or(1)};
}

/// A lesson's code, the student's where it passes.
timed::Code runnable_code(const program::Checkout& checkout, Role role) {
  constexpr const char* command = "./course lab";
  const LessonInfo& lesson = held_lesson(checkout, role, command);
  return timed::code_of(checkout, lesson,
                        runnable_subject(checkout, lesson, read_progress(checkout), command));
}

Laboratory laboratory_of(const program::Checkout& checkout, const LabOptions& options) {
  return {.name = options.name,
          .ranks = options.ranks.value_or(options.default_ranks()),
          .block = runnable_code(checkout, block_role(options.block)),
          .blocking = runnable_code(checkout, Role::RingForward),
          .overlapped = runnable_code(checkout, Role::RingOverlapped)};
}

/// "nonblocking-no-progress"
std::string file_name(std::string words) {
  std::erase(words, ',');
  std::ranges::replace(words, ' ', '-');
  return words;
}

/// Adds the pictures of a laboratory.
void add_pictures(timed::OutputFolder& folder, const Laboratory& laboratory,
                  const std::vector<Measured>& settings) {
  for (const Measured& measured : settings) {
    const std::string setting = fmt::format("work-{:g}", measured.work_over_transfer);
    folder.add(setting + ".svg", laboratory_svg(laboratory, measured));
    for (const timed::Call& ring : measured.rings) {
      folder.add(setting + "-" + file_name(ring.name) + ".json",
                 chrome_traces({{"ranks", timed::traces_of(ring.ranks)}}));
    }
  }
}

/// Where Debian keeps tc, out of the sight of those who are not root.
void look_in_sbin() {
  const char* const path = std::getenv("PATH");
  setenv("PATH", (std::string(path == nullptr ? "" : path) + ":/usr/sbin:/sbin").c_str(), 1);
}

fs::path output_folder(const program::Checkout& checkout, const LabOptions& options) {
  return options.out.empty() ? checkout.state() / "lab" / options.name : options.out;
}

/// Runs lesson 18's rings and grid on two hosts that have several cards each, and holds them against the
/// times that the lesson derives.
int run_cards(const program::Checkout& checkout, const LabOptions& options) {
  const LinkOrder link = link_of(options);
  CardsLaboratory laboratory{.ranks = options.ranks.value_or(options.default_ranks()),
                             .cards = *options.cards,
                             .bytes_per_s = link.bandwidth / 8,
                             .block = runnable_code(checkout, block_role(options.block)),
                             .grids = runnable_code(checkout, Role::Grids)};
  timed::build(checkout, "the laboratory", {laboratory.block, laboratory.grids});
  timed::OutputFolder folder(output_folder(checkout, options));
  look_in_sbin();
  const TemporaryFolder temporary;
  const Network network(link, temporary.path());
  laboratory.link = network.description();
  laboratory.player = network.player(player_program(true));
  program::ProgressLine progress;
  const CardsMeasured measured = measure(laboratory, network.starter(laboratory.ranks),
                                         [&](const std::string& text) { progress.show(text); });
  progress.clear();
  folder.add("cards.svg", cards_svg(measured));
  for (const CardsWay way : cards_ways) {
    const std::vector<RankRecord>& ranks = measured.with_work.at(static_cast<std::size_t>(way)).ranks;
    folder.add(file_name(name_of(way, laboratory.ranks)) + ".json",
               chrome_traces({{"ranks", timed::traces_of(ranks)}}));
  }
  const std::vector<fs::path> files = folder.commit();
  fmt::print("{}", options.json ? cards_json(laboratory, measured, files)
                                : cards_text(laboratory, measured, timed::page_of_stdout()) + written(files));
  return succeeded;
}

/// Runs a laboratory: the blocking ring and the overlapped one, without and with progress, on a link of a
/// chosen speed; draws what the ranks did and prints how much of the communication was exposed, beside what
/// the model says.
int run_laboratory(const program::Checkout& checkout, const LabOptions& options) {
  const LinkOrder link = link_of(options);
  Laboratory laboratory = laboratory_of(checkout, options);
  timed::build(checkout, "the laboratory", {laboratory.block, laboratory.blocking, laboratory.overlapped});
  timed::OutputFolder folder(output_folder(checkout, options));
  look_in_sbin();
  const TemporaryFolder temporary;
  const Network network(link, temporary.path());
  laboratory.link = network.description();
  laboratory.limits = network.limits();
  if (!laboratory.limits.empty()) program::complain(laboratory.limits);
  program::ProgressLine progress;
  const std::vector<Measured> settings = measure(laboratory, network.starter(laboratory.ranks),
                                                 [&](const std::string& text) { progress.show(text); });
  progress.clear();
  add_pictures(folder, laboratory, settings);
  const std::vector<fs::path> files = folder.commit();
  fmt::print("{}", options.json
                       ? laboratory_json(laboratory, settings, files)
                       : laboratory_text(laboratory, settings, timed::page_of_stdout()) + written(files));
  return succeeded;
}

class LabLine : public program::CommandLine {
 public:
  LabLine() {
    add_trace();
    add_lab();
  }

 private:
  void add_trace() {
    CLI::App* command = add_command("trace", "run a lesson's code, draw the timeline",
                                    [this](const program::Checkout& checkout) {
                                      const Interruptible interruptible;
                                      trace_.json = json_;
                                      return trace(checkout, trace_);
                                    });
    command
        ->add_option("lesson", trace_.lesson, "05 or ring_attention; 05.2: this task as the judge plays it")
        ->required();
    command->add_option("--ranks", trace_.ranks, "MPI ranks, 1 to 64 (4; 1 where there are none)")
        ->check(program::between(1, 64));
    command->add_flag("--mine", trace_.mine, "your own code, whether or not it passes");
    program::add_block_option(*command, trace_.block);
    command->add_option("--out", trace_.out,
                        "write timeline.svg and trace.json there (.course/trace/lesson05)");
    print_as_json(command);
    command->add_flag("--json", json_, "one JSON object on stdout and nothing else");
  }

  void add_lab() {
    CLI::App* command = add_command(
        "lab", "a laboratory: rings on a link of a chosen speed", [this](const program::Checkout& checkout) {
          const Interruptible interruptible;
          lab_.json = json_;
          require_cards(lab_);
          return lab_.cards ? run_cards(checkout, lab_) : run_laboratory(checkout, lab_);
        });
    command->add_option("name", lab_.name, "slow-network: one host; two-hosts: two, as Open MPI sees them")
        ->required()
        ->check(CLI::IsMember(
            std::vector<std::string>(program::laboratories.begin(), program::laboratories.end())));
    command->add_option("--bandwidth", lab_.bandwidth,
                        "of the link: 200Mbit, 2Gbit (100Mbit for each rank that shares it)");
    CLI::Option* const latency =
        command->add_option("--latency", lab_.latency, "one way, beyond the link's own: 200us, 2ms (0ms)");
    command
        ->add_option("--cards", lab_.cards,
                     "of each of two hosts, 1 to 8, a cable for each: lesson 18's ring, double ring and grid")
        ->check(program::between(1, 8))
        ->excludes(latency);
    command
        ->add_option("--ranks", lab_.ranks, "MPI ranks, 2 to 16 (4, or 2 on fewer cores and without --cards)")
        ->check(program::between(2, 16));
    program::add_block_option(*command, lab_.block);
    command->add_option("--out", lab_.out, "write the timelines there (.course/lab/NAME)");
    print_as_json(command);
    command->add_flag("--json", json_, "one JSON object on stdout and nothing else");
  }

  TraceOptions trace_;
  LabOptions lab_;
};

}  // namespace

}  // namespace course::lab

int main(int argc, char** argv) {
  return course::lab::LabLine().run(argc, argv);
}
