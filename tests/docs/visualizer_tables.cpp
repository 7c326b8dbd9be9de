#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reference/mask.hpp"
#include "ring/layout.hpp"
#include "ring/shards.hpp"
#include "trace/trace.hpp"

// Prints, as a script, what docs/visualizer is held against: `expectedTables`, of many settings the
// positions, and of each step and rank the block held, its kind, the work and the bytes sent; and
// `recordedTrace`, a trace as ./course trace writes it.

namespace course {
namespace {

using nlohmann::json;
using reference::Mask;
using reference::Tile;

struct Setting {
  int ranks;
  std::string layout;
  bool causal;
  bool backward;
  int tokens;
  int heads;
  int head_dim;
};

Layout layout_of(const Setting& setting) {
  if (setting.layout == "striped") return Layout::striped(setting.tokens, setting.ranks);
  if (setting.layout == "zigzag") return Layout::zigzag(even_shards(setting.tokens, 2 * setting.ranks));
  return even_shards(setting.tokens, setting.ranks);
}

const char* name_of(Tile tile) {
  return tile == Tile::Empty ? "empty" : tile == Tile::Full ? "full" : "mixed";
}

/// Blocks travel to rank + 1. Source: lesson 05.
int owner(int rank, int step, int ranks) {
  return (rank + ranks - step % ranks) % ranks;
}

/// Tensors that leave a rank after the work of a step: K and V for P - 1 hops, their gradients for P of them.
/// Source: lessons 05 and 07.
int tensors_sent(const Setting& setting, int step) {
  const int keys_and_values = step < setting.ranks - 1 ? 2 : 0;
  const int gradients = setting.backward && setting.ranks > 1 && step < setting.ranks ? 2 : 0;
  return keys_and_values + gradients;
}

json at(const Setting& setting, const Layout& layout, int step, int rank) {
  const int block = owner(rank, step, setting.ranks);
  const Mask mask = setting.causal ? Mask::causal() : Mask::none();
  const auto& queries = layout.positions(rank);
  const auto& keys = layout.positions(block);
  const bool at_home = step == setting.ranks;  // the gradients; nothing is left to compute
  const Index floats = Index{setting.heads} * layout.tokens(block) * setting.head_dim;
  return {{"block", block},
          {"kind", at_home ? "home" : name_of(mask.tile(queries, keys))},
          {"work", at_home ? 0 : mask.work(queries, keys)},
          {"bytes", tensors_sent(setting, step) * floats * static_cast<Index>(sizeof(float))}};
}

json table(const Setting& setting) {
  const Layout layout = layout_of(setting);
  json positions = json::array(), steps = json::array();
  for (int rank = 0; rank < setting.ranks; ++rank) positions.push_back(layout.positions(rank));
  const int last = setting.backward && setting.ranks > 1 ? setting.ranks : setting.ranks - 1;
  Index total = 0, time = 0;
  for (int step = 0; step <= last; ++step) {
    json& ranks = steps.emplace_back(json::array());
    Index slowest = 0;
    for (int rank = 0; rank < setting.ranks; ++rank) {
      ranks.push_back(at(setting, layout, step, rank));
      total += ranks.back()["work"].get<Index>();
      slowest = std::max(slowest, ranks.back()["work"].get<Index>());
    }
    time += slowest;
  }
  const json what{{"ranks", setting.ranks},       {"layout", setting.layout}, {"causal", setting.causal},
                  {"backward", setting.backward}, {"tokens", setting.tokens}, {"heads", setting.heads},
                  {"headDim", setting.head_dim}};
  return {{"setting", what}, {"positions", positions}, {"steps", steps}, {"total", total}, {"time", time}};
}

json tables_for(int ranks, int tokens) {
  json tables = json::array();
  for (const char* layout : {"contiguous", "striped", "zigzag"}) {
    for (const bool causal : {false, true}) {
      for (const bool backward : {false, true})
        tables.push_back(table({ranks, layout, causal, backward, tokens, 1 + ranks % 3, 4 * ranks}));
    }
  }
  return tables;
}

void print_tables() {
  std::puts("const expectedTables = [");
  for (int ranks = 1; ranks <= 8; ++ranks) {
    // None, fewer than ranks, 2P chunks with and without a remainder, a prime.
    for (const int tokens : {0, ranks - 1, 2 * ranks, 5 * ranks + 1, 37, 6 * ranks}) {
      for (const json& table : tables_for(ranks, tokens)) std::printf("%s,\n", table.dump().c_str());
    }
  }
  std::puts("];");
}

/// Two runs; in the first, of 4 ms, rank 0 computes for 2 ms, and a label is no HTML.
void print_trace() {
  using Kind = Span::Kind;
  const std::vector<Span> first{{Kind::Compute, 0.000, 0.002, "<i>block</i> of rank 0"},
                                {Kind::Transfer, 0.002, 0.003, "MPI_Send to 1"},
                                {Kind::Wait, 0.003, 0.004, "MPI_Recv from 1"}};
  const std::vector<Span> second{{Kind::Compute, 0.001, 0.004, ""}};
  const std::string trace = chrome_traces(
      {{"blocking ring", {{0, first}, {1, second}}}, {"overlapped ring", {{0, second}, {1, second}}}});
  std::printf("const recordedTrace = %s;\n", json(trace).dump().c_str());
}

}  // namespace
}  // namespace course

int main() {
  course::print_tables();
  course::print_trace();
}
