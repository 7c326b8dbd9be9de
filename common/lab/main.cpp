#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "course/commands/command_line.hpp"
#include "course/commands/tools.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/judging.hpp"
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
  int ranks = std::thread::hardware_concurrency() >= 4 ? 4 : 2;
  std::string block;  ///< the lesson whose blocks they are; empty: lesson 04
  fs::path out;       ///< a folder; empty: .course/lab/NAME
  bool json = false;
};

LinkOrder link_of(const LabOptions& options) {
  // A byte costs the cores some time to send and receive, which a ring with progress cannot hide: on a slower
  // link, whose transfers take more work to hide, that is a smaller share.
  constexpr double bandwidth_each = 100e6;
  const bool two_hosts = options.name == "two-hosts";
  return {.bandwidth = options.bandwidth.empty() ? bandwidth_each * (two_hosts ? 1 : options.ranks)
                                                 : parse_bandwidth("--bandwidth", options.bandwidth),
          .latency_s = parse_latency("--latency", options.latency),
          .two_hosts = two_hosts};
}

Laboratory laboratory_of(const program::Checkout& checkout, const LabOptions& options) {
  constexpr const char* command = "./course lab";
  const program::Progress progress = read_progress(checkout);
  const auto code = [&](Role role) {
    const LessonInfo& lesson = held_lesson(checkout, role, command);
    return timed::code_of(checkout, lesson, runnable_subject(checkout, lesson, progress, command));
  };
  return {.name = options.name,
          .ranks = options.ranks,
          .block = code(block_role(options.block)),
          .blocking = code(Role::RingForward),
          .overlapped = code(Role::RingOverlapped)};
}

/// Adds the pictures of a laboratory.
void add_pictures(timed::OutputFolder& folder, const Laboratory& laboratory,
                  const std::vector<Measured>& settings) {
  for (const Measured& measured : settings) {
    const std::string setting = fmt::format("work-{:g}", measured.work_over_transfer);
    folder.add(setting + ".svg", laboratory_svg(laboratory, measured));
    for (const timed::Call& ring : measured.rings) {
      std::string name = ring.name;
      std::erase(name, ',');
      std::ranges::replace(name, ' ', '-');
      folder.add(setting + "-" + name + ".json", chrome_traces({{"ranks", timed::traces_of(ring.ranks)}}));
    }
  }
}

/// Where Debian keeps tc, out of the sight of those who are not root.
void look_in_sbin() {
  const char* const path = std::getenv("PATH");
  setenv("PATH", (std::string(path == nullptr ? "" : path) + ":/usr/sbin:/sbin").c_str(), 1);
}

/// Runs a laboratory: the blocking ring and the overlapped one, without and with progress, on a link of a
/// chosen speed; draws what the ranks did and prints how much of the communication was exposed, beside what
/// the model says.
int run_laboratory(const program::Checkout& checkout, const LabOptions& options) {
  const LinkOrder link = link_of(options);
  Laboratory laboratory = laboratory_of(checkout, options);
  timed::build(checkout, "the laboratory", {laboratory.block, laboratory.blocking, laboratory.overlapped});
  timed::OutputFolder folder(options.out.empty() ? checkout.state() / "lab" / options.name : options.out);
  look_in_sbin();
  const TemporaryFolder temporary;
  const Network network(link, temporary.path());
  laboratory.link = network.description();
  laboratory.limits = network.limits();
  if (!laboratory.limits.empty()) program::complain(laboratory.limits);
  program::ProgressLine progress;
  const std::vector<Measured> settings = measure(laboratory, network.starter(options.ranks),
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
    CLI::App* command = add_command("lab", "a laboratory: rings on a link of a chosen speed",
                                    [this](const program::Checkout& checkout) {
                                      const Interruptible interruptible;
                                      lab_.json = json_;
                                      return run_laboratory(checkout, lab_);
                                    });
    command->add_option("name", lab_.name, "slow-network: one host; two-hosts: two, as Open MPI sees them")
        ->required()
        ->check(CLI::IsMember(
            std::vector<std::string>(program::laboratories.begin(), program::laboratories.end())));
    command->add_option("--bandwidth", lab_.bandwidth,
                        "of the link: 200Mbit, 2Gbit (100Mbit for each rank that shares it)");
    command->add_option("--latency", lab_.latency, "one way, beyond the link's own: 200us, 2ms (0ms)");
    command->add_option("--ranks", lab_.ranks, "MPI ranks, 2 to 16 (4, or 2 on fewer cores)")
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
