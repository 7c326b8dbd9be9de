#include <fmt/format.h>

#include "judge/attention/forward.hpp"
#include "judge/attention/grids/grids.hpp"
#include "judge/exact_task.hpp"
#include "judge/refusal.hpp"
#include "ring/shards.hpp"

namespace course::grids {

namespace {

int number(const Example& example, const char* name) {
  return static_cast<int>(integer(example, name));
}

/// Numbers of a grid in the order of its arguments.
struct Grid {
  int ulysses, rings, tensor, replicas, tokens;
  bool zigzag;
};

Example of_grid(const Grid& grid) {
  return {fmt::format("{} x {}, {} tokens {}{}", grid.ulysses, grid.rings, grid.tokens,
                      grid.zigzag ? "in zigzag" : "in one piece a ring rank",
                      grid.tensor > 1 ? fmt::format(", tensor parallelism of {}", grid.tensor) : ""),
          {},
          {{"ulysses", {double(grid.ulysses)}},
           {"rings", {double(grid.rings)}},
           {"tensor", {double(grid.tensor)}},
           {"replicas", {double(grid.replicas)}},
           {"tokens", {double(grid.tokens)}},
           {"zigzag", {grid.zigzag ? 1.0 : 0.0}}}};
}

std::vector<Example> places(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto any = [&](int from, int to) { return generator.integer(from, to); };
  for (const Grid& grid : {Grid{2, 4, 1, 1, 16, false},
                           {2, 4, 2, 3, 32, true},
                           {4, 2, 2, 1, 16, true},
                           {2, 2, 2, 2, 16, true},
                           {3, 2, 1, 2, 25, true},
                           {2, 3, 4, 1, 25, false},
                           {1, 4, 2, 1, 9, true},
                           {4, 1, 1, 3, 10, false},
                           {2, 2, 1, 1, 3, true},
                           {any(2, 4), any(2, 4), any(1, 3), any(1, 3), any(9, 40), any(0, 1) == 1}})
    all.push_back(of_grid(grid));
  return all;
}

/// Everything counted one by one, what is innermost first.
Answer place_of_each(const Example& example) {
  const int ulysses = number(example, "ulysses"), rings = number(example, "rings"),
            tensor = number(example, "tensor"), replicas = number(example, "replicas"),
            tokens = number(example, "tokens"), ranks = ulysses * rings;
  Answer answer{{"u", Tensor64({ranks})},
                {"r", Tensor64({ranks})},
                {"positions", Tensor64({ranks, tokens + 1}, -1)},
                {"world_rank", Tensor64({tensor, ulysses, rings, replicas})}};
  const Layout layout = layout_of(tokens, ulysses, rings, number(example, "zigzag") == 1);
  int rank = 0;
  for (int r = 0; r < rings; ++r) {
    for (int u = 0; u < ulysses; ++u, ++rank) {
      answer["u"][rank] = u;
      answer["r"][rank] = r;
      std::ranges::copy(layout.positions(rank), answer["positions"].matrix().row(rank).begin());
    }
  }
  int next = 0;
  for (int replica = 0; replica < replicas; ++replica)
    for (int r = 0; r < rings; ++r)
      for (int u = 0; u < ulysses; ++u)
        for (int t = 0; t < tensor; ++t)
          answer["world_rank"][((t * ulysses + u) * rings + r) * replicas + replica] = next++;
  return answer;
}

std::vector<Example> nodes(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](int node, int ranks) -> Example& {
    all.push_back({fmt::format("nodes of {} among {} ranks", node, ranks),
                   {},
                   {{"node", {double(node)}}, {"ranks", {double(ranks)}}}});
    return all.back();
  };
  const int node = generator.integer(2, 5);
  for (const auto& [of, ranks] : {std::pair{2, 8},
                                  {4, 8},
                                  {3, 6},
                                  {2, 6},
                                  {2, 4},
                                  {1, 5},
                                  {5, 5},
                                  {node, node * generator.integer(2, 4)}})
    add(of, ranks);
  for (const auto& [of, ranks] : {std::pair{3, 8}, {0, 17}})
    add(of, ranks).arguments["refuses"] = {double(of), double(ranks)};
  return all;
}

/// Blocks that go round, hop by hop.
Answer owners(const Example& example) {
  const int ranks = number(example, "ranks");
  const bool refused = refusal::is_refused(example);
  const int node = number(example, "node"), count = ranks / std::max(1, node);
  Answer answer{{"owner", Tensor64({ranks, count, node})}};
  if (refused) return answer;
  const Topology topology = Topology::double_ring(node);
  for (int owner = 0; owner < ranks; ++owner) {
    for (int hops = 0; hops < ranks; ++hops)
      answer["owner"][topology.ahead(owner, hops, ranks) * ranks + hops] = owner;
  }
  return answer;
}

}  // namespace

Layout layout_of(int tokens, int ulysses, int rings, bool zigzag) {
  const Layout blocks = Layout::named(zigzag ? "zigzag" : "contiguous", tokens, rings);
  std::vector<std::vector<Index>> lists;
  for (int r = 0; r < rings; ++r) {
    auto next = blocks.positions(r).begin();
    for (const int length : even_shards(blocks.tokens(r), ulysses)) {
      lists.emplace_back(next, next + length);
      next += length;
    }
  }
  return Layout::of(std::move(lists));
}

Task places_task(std::string id, std::string function) {
  Task task = exact_task(std::move(id), std::move(function),
                         {{"u", {"rank"}},
                          {"r", {"rank"}},
                          {.name = "positions", .axes = {"rank", "entry"}, .called = "grid_positions"},
                          {"world_rank", {"t", "u", "r", "replica"}}},
                         places, place_of_each);
  task.explain = telling_arguments({"ulysses", "rings", "zigzag", "tokens", "tensor", "replicas"});
  return task;
}

Task owner_task(std::string id, std::string function) {
  Task task = refusal::with_refusals(
      exact_task(std::move(id), std::move(function), {{"owner", {"rank", "outer", "inner"}}}, nodes, owners));
  task.explain = telling_arguments({"node", "ranks"});
  return task;
}

}  // namespace course::grids
