#include "lab/playing.hpp"

#include <algorithm>
#include <stdexcept>

namespace course::lab {

namespace {

constexpr double quiet_limit_s = 60;  ///< a block or a hop takes seconds where either is slow

/// Tells rounds apart, which begin with the first case, by the case that is being played at a moment. Cases
/// take longer than the time from one look to the next.
class Turns {
 public:
  explicit Turns(const std::function<void(int, int)>& on_turn) : on_turn_(on_turn) {}

  void look(const std::vector<RankSnapshot>& ranks) {
    const int now = ranks.empty() ? -1 : ranks[0].case_index;
    if (now < 0) return;
    if (now < case_) ++round_;
    case_ = now;
    on_turn_(case_, round_);
  }

 private:
  const std::function<void(int, int)>& on_turn_;
  int case_ = 0;
  int round_ = 1;
};

void require_finished(const Outcome& outcome) {
  using Ending = Outcome::Ending;
  if (outcome.ending == Ending::Finished || outcome.ending == Ending::NotPlayed) return;
  throw std::runtime_error(
      (outcome.ending == Ending::NotStarted ? "mpirun could not start all ranks:\n" : "") + outcome.text);
}

CallResult result_of(const Case& played, const Outcome& outcome) {
  const auto shown = static_cast<std::size_t>(outcome.timings.at(0).shown);
  const std::vector<double> seconds = slowest_seconds(outcome);
  return {played.function, seconds.at(shown), static_cast<int>(seconds.size()), rank_records(outcome)};
}

}  // namespace

std::vector<CallResult> play(const std::vector<Case>& cases, const PlayOrder& order) {
  LauncherOptions options{.subject = {},
                          .player = {player_program(true)},
                          .mpi = true,
                          .quiet_limit_s = quiet_limit_s,
                          .launch_limit_s = order.limit_s};
  Turns turns(order.on_turn);
  options.timed = order.timed;
  options.starter = order.starter;
  options.on_look = [&](const LaunchView& view) { turns.look(view.ranks); };
  const std::vector<Outcome> outcomes = Launcher(options).play(cases);
  std::ranges::for_each(outcomes, require_finished);
  std::vector<CallResult> results;
  for (std::size_t i = 0; i < cases.size(); ++i) results.push_back(result_of(cases[i], outcomes[i]));
  return results;
}

}  // namespace course::lab
