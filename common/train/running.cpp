#include "train/running.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <fstream>
#include <regex>

#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::train {

namespace fs = std::filesystem;

namespace {

constexpr int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};
/// A minute without a step on a slow machine, beside what a step costs there.
constexpr double quiet_s = 60, slow_speed = 2e8;

std::atomic<int> stops_asked = 0, last_signal = 0;

void note_stop(int signal) {
  ++stops_asked;
  last_signal = signal;
}

void handle_stops(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  for (const int signal : stop_signals) sigaction(signal, &action, nullptr);
}

Case case_of(const Order& order) {
  Case made{{"train", {}}};
  made.inputs.resize(static_cast<std::size_t>(order.settings.ranks));
  made.name = "train";
  made.subject = order.library;
  return made;
}

/// What the ranks threw, without which rank was the first to be seen, and which rank's numbers were not
/// finite.
std::string why_ended(const fs::path& folder, int ranks, const std::string& text) {
  std::string why = std::regex_replace(text, std::regex("^(rank \\d+ )?threw: "), "");
  for (int rank = 0; rank < ranks; ++rank) {
    if (const fs::path trouble = trouble_file(folder, rank); fs::exists(trouble))
      why += fmt::format("; rank {}: {}", rank, read_text(trouble));
  }
  return why;
}

}  // namespace

StopRequest::StopRequest() {
  stops_asked = 0;
  handle_stops(note_stop);
}

StopRequest::~StopRequest() {
  handle_stops(SIG_DFL);
}

bool StopRequest::asked() {
  return stops_asked > 0;
}

void StopRequest::stop_if_asked_twice() {
  if (stops_asked > 1) throw Interrupted{128 + last_signal};
}

Made run_ranks(const Order& order, const OnStep& on_step,
               const std::function<void(const std::string& doing)>& looks) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "run";
  fs::create_directories(folder);
  write_order(folder, order);
  Made made;
  StepReader reader(folder);
  const auto look = [&] {
    for (const StepNews& news : reader.read()) {
      made.steps.push_back(news);
      on_step(news);
    }
    StopRequest::stop_if_asked_twice();
    if (StopRequest::asked() && !fs::exists(stop_file(folder))) std::ofstream(stop_file(folder)) << "\n";
  };
  LauncherOptions options;
  options.player = {fs::read_symlink("/proc/self/exe").parent_path() / "player_train", folder};
  options.quiet_limit_s = quiet_s + order.step_operations / slow_speed;
  options.timed = TimedPlay{.rounds = 1, .show_median = false, .block = {}, .block_backward = {}};
  options.on_look = [&](const LaunchView& view) {
    look();
    looks(view.ranks[0].case_index < 0 ? "" : view.ranks[0].text);
  };
  options.mpi = true;
  const Outcome outcome = Launcher(std::move(options)).play({case_of(order)}).at(0);
  look();
  if (outcome.ending != Outcome::Ending::Finished)
    throw std::runtime_error(why_ended(folder, order.settings.ranks, outcome.text));
  for (int rank = 0; rank < order.settings.ranks; ++rank) made.ranks.push_back(read_use(folder, rank));
  if (fs::exists(sample_file(folder))) made.sample = read_text(sample_file(folder));
  if (made.steps.empty()) throw std::runtime_error("the ranks have ended without a step");
  made.stopped = made.steps.back().step + 1 < order.last;
  return made;
}

}  // namespace course::train
