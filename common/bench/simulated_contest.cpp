#include <fmt/format.h>

#include "bench/contest.hpp"
#include "bench/played.hpp"

namespace course::bench {

namespace {

// The least shares that the course sets itself.
constexpr double unchecked_bound = 0.02;
constexpr double checked_bound = 0.003;

constexpr const char* peak = "multiply-adds without memory";

}  // namespace

std::vector<Row> hold_simulated(const Contest& contest, const std::filesystem::path& player) {
  const int core = allowed_cores().front();
  const std::filesystem::path& library = contest.lessons.at(Role::BlockCuda).library;
  std::vector<Contender> contenders{multiply_adds(peak, core)};
  std::vector<Row> rows{{peak}};
  for (const int head_dim : contest.head_dims) {
    const auto problem =
        std::make_shared<const Problem>(timed::Extents{1, contest.tokens / simulated_share, head_dim});
    for (const bool checked : {false, true}) {
      const std::string name =
          fmt::format("forward, {}, d = {}", checked ? "each access checked" : "unchecked", head_dim);
      Play play = simulated_forward(library, player, *problem, core);
      play.checked = checked;
      contenders.push_back(
          played(name, timed::forward_operations(problem->extents), std::move(play), problem));
      rows.push_back({name, peak, checked ? checked_bound : unchecked_bound});
    }
  }
  return with_rates(std::move(rows), measure(contenders, contest.repetitions, contest.min_seconds));
}

}  // namespace course::bench
