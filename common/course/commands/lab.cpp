#include "course/commands/lab.hpp"

#include <fmt/core.h>

#include <stdexcept>
#include <thread>

#include "course/build/build.hpp"
#include "course/workspace/judging.hpp"
#include "lab/quantity.hpp"
#include "protocol/errors.hpp"
#include "runner/subprocess.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

constexpr const char* lab_command = "./course lab";
constexpr int least_lab_ranks = 2, most_lab_ranks = 16;

/// A lesson that a laboratory runs, and whose code.
struct Part {
  std::string subject;
  std::string target;
};

int laboratory_ranks(const LabOptions& options) {
  return options.ranks.value_or(std::thread::hardware_concurrency() >= 4 ? 4 : 2);
}

/// A byte costs the cores some time to send and receive, which a ring with progress cannot hide: on a slower
/// link, whose transfers take more work to hide, that is a smaller share.
std::string laboratory_bandwidth(const LabOptions& options) {
  constexpr int mbit_each = 100;
  if (!options.bandwidth.empty()) return options.bandwidth;
  const int sharing = options.name == "slow-network" ? laboratory_ranks(options) : 1;
  return fmt::format("{}Mbit", mbit_each * sharing);
}

void require_valid(const LabOptions& options) {
  const int ranks = laboratory_ranks(options);
  if (ranks < least_lab_ranks || ranks > most_lab_ranks) {
    throw UsageError(
        fmt::format("--ranks {}: expected a number from {} to {}", ranks, least_lab_ranks, most_lab_ranks));
  }
  const auto check = [](const char* option, const auto& parse, const std::string& text) {
    try {
      parse(text);
    } catch (const std::invalid_argument& error) {
      throw UsageError(std::string(option) + " " + error.what());
    }
  };
  check("--bandwidth", lab::parse_bandwidth, laboratory_bandwidth(options));
  check("--latency", lab::parse_latency, options.latency);
}

Part part_of(const Checkout& checkout, const Progress& progress, Role role) {
  const LessonInfo& lesson = held_lesson(checkout, role, lab_command);
  const std::string subject = runnable_subject(checkout, lesson, progress, lab_command);
  return {subject, subject_target(lesson, subject)};
}

}  // namespace

int lab(const Checkout& checkout, const LabOptions& options) {
  require_valid(options);
  const Progress progress = read_progress(checkout);
  const Part block = part_of(checkout, progress, Role::Block);
  const Part blocking = part_of(checkout, progress, Role::RingForward);
  const Part overlap = part_of(checkout, progress, Role::RingOverlapped);
  const BuildResult built = build({checkout.root,
                                   checkout.build(),
                                   {"ring_lab", block.target, blocking.target, overlap.target},
                                   "the laboratory"});
  if (!built.succeeded)
    throw std::runtime_error("the laboratory could not be built:\n" + failure_text(built));
  const fs::path libraries = checkout.build() / "lib";
  const fs::path out = options.out.empty() ? checkout.state() / "lab" / options.name : fs::path(options.out);
  std::vector<std::string> command{checkout.build() / "bin" / "ring_lab",
                                   "laboratory",
                                   options.name,
                                   "--ranks",
                                   std::to_string(laboratory_ranks(options)),
                                   "--bandwidth",
                                   laboratory_bandwidth(options),
                                   "--latency",
                                   options.latency,
                                   "--out",
                                   out,
                                   "--block",
                                   libraries / (block.target + ".so"),
                                   "--block-code",
                                   block.subject,
                                   "--ring",
                                   libraries / (blocking.target + ".so"),
                                   "--ring-code",
                                   blocking.subject,
                                   "--overlap",
                                   libraries / (overlap.target + ".so"),
                                   "--overlap-code",
                                   overlap.subject};
  if (options.json) command.push_back("--json");
  return run({.argv = command}).code;
}

}  // namespace course::program
