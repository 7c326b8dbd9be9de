#include "bench/by_clock.hpp"

#include <fmt/format.h>

#include "protocol/errors.hpp"
#include "ring/shards.hpp"

namespace course::bench {

static std::vector<int> cores_of(int ranks) {
  const std::vector<int> allowed = allowed_cores();
  std::vector<int> cores;
  for (int rank = 0; rank < ranks; ++rank) cores.push_back(allowed[rank % allowed.size()]);
  return cores;
}

void require_even_shards(int tokens, int ranks) {
  if (tokens % ranks != 0)
    throw UsageError(fmt::format("{} tokens on {} ranks: expected shards of one length", tokens, ranks));
}

Contender by_clock(const Contest& contest, const std::string& name,
                   const std::shared_ptr<const Problem>& problem, int ranks, PlayedFunction function) {
  const Layout layout = even_shards(problem->tokens(), ranks);
  function.arguments.merge(timed::ring_arguments(layout));
  function.inputs = {"q", "k", "v"};
  function.outputs = {"o"};
  Play play{{std::move(function)}, cores_of(ranks), layout};
  play.mpi = true;
  play.block = contest.lessons.at(Role::Block).library;
  const double operations = problem->seen * timed::forward_operations(problem->extents) / ranks;
  return played(name, operations, std::move(play), problem);
}

}  // namespace course::bench
