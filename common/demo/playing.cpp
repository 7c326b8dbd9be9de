#include "demo/playing.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "protocol/errors.hpp"

namespace course::demo {

namespace {

namespace fs = std::filesystem;

/// "[host:", which Open MPI puts before the process id and what it logs.
std::string log_prefix() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  const std::string host = name;
  return "[" + host.substr(0, host.find('.')) + ":";
}

/// Passes on what the ranks print, line by line. Open MPI's own log lines are kept back, and so is all that
/// comes once it explains, below a line of dashes, that the job has ended: the demo says that better.
class RankOutput {
 public:
  /// New lines go to stderr, below the progress line.
  void pass_on(const fs::path& printed, program::ProgressLine& progress) {
    std::ifstream file(printed, std::ios::binary);
    file.seekg(passed_);
    for (std::string line; std::getline(file, line) && !file.eof();) {
      passed_ += static_cast<std::streamoff>(line.size()) + 1;
      explaining_ |= line.starts_with("--------------------");
      if (explaining_ || line.starts_with(log_prefix_)) {
        continue;
      }
      progress.clear();
      std::fprintf(stderr, "%s\n", line.c_str());
    }
  }

 private:
  const std::string log_prefix_ = log_prefix();
  std::streamoff passed_ = 0;
  bool explaining_ = false;
};

/// "blocking ring, forward: 2 blocks done", as rank 0 says.
std::string news(const Demonstration& shown, const std::vector<RankSnapshot>& ranks) {
  const auto begun = [](const RankSnapshot& rank) { return rank.case_index >= 0; };
  if (!std::ranges::all_of(ranks, begun)) return "starting " + std::to_string(ranks.size()) + " ranks";
  const std::string name = pass_name(shown, static_cast<std::size_t>(ranks[0].case_index));
  return ranks[0].text.empty() ? name : name + ": " + ranks[0].text;
}

/// Throws what an outcome means that is no answer.
void require_finished(const Outcome& outcome, int ranks) {
  using Ending = Outcome::Ending;
  if (outcome.ending == Ending::Finished || outcome.ending == Ending::NotPlayed) return;
  if (outcome.ending == Ending::NotStarted) {
    throw Unavailable("this machine could not start " + std::to_string(ranks) +
                      " MPI ranks, expected fewer (--ranks)\n" + outcome.text);
  }
  throw std::runtime_error((outcome.ending == Ending::Deadlock ? "the ring is in a deadlock\n" : "") +
                           outcome.text);
}

}  // namespace

std::vector<Outcome> play(const Demonstration& shown, const Libraries& libraries, double quiet_limit_s,
                          program::ProgressLine& progress) {
  RankOutput output;
  LauncherOptions options{
      .subject = {}, .player = {player_program(true)}, .mpi = true, .quiet_limit_s = quiet_limit_s};
  options.timed = timed_play(shown, libraries);
  options.on_look = [&](const LaunchView& view) {
    output.pass_on(view.printed, progress);
    progress.show(news(shown, view.ranks));
  };
  std::vector<Outcome> outcomes = Launcher(options).play(cases_of(shown, libraries));
  progress.clear();
  for (const Outcome& outcome : outcomes) require_finished(outcome, shown.ranks);
  return outcomes;
}

}  // namespace course::demo
