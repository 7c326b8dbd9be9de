#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "demo/load.hpp"
#include "reference/hops.hpp"
#include "ring/layout.hpp"
#include "ring/shards.hpp"
#include "trace/trace.hpp"

// Prints, as a script, what docs/visualizer is held against: `expectedTables`, of many settings the
// positions, the hops that each block has to make, the rows of each pair that are seen, and of each step
// and rank the block held, its kind, the work, the bytes sent and to whom; and `recordedTrace`, a trace as
// ./course trace writes it.

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
  int kv_heads;
  int head_dim;
  int window = 0;                   ///< 0: none
  std::vector<int> documents = {};  ///< their lengths; empty: one document
  bool stops = false;               ///< blocks that nobody ahead sees stop
};

/// Where documents start, and where the last one ends.
std::vector<Index> starts_of(const Setting& setting) {
  std::vector<Index> starts{0};
  for (const int length : setting.documents) starts.push_back(starts.back() + length);
  if (setting.documents.empty()) starts.push_back(setting.tokens);
  return starts;
}

Layout layout_of(const Setting& setting) {
  if (setting.layout == "documents")
    return Layout::documents(starts_of(setting), setting.tokens, setting.ranks);
  return Layout::named(setting.layout, setting.tokens, setting.ranks);
}

Mask mask_of(const Setting& setting) {
  return Mask::packed(starts_of(setting), setting.causal, setting.window);
}

/// A layout and a mask, and how many hops every block needs and makes.
struct Ring {
  explicit Ring(const Setting& setting)
      : layout(layout_of(setting)),
        mask(mask_of(setting)),
        needed(reference::hops_needed(layout, mask)),
        made(setting.stops ? needed : std::vector<int>(needed.size(), setting.ranks - 1)) {}

  Layout layout;
  Mask mask;
  std::vector<int> needed, made;
};

const char* name_of(Tile tile) {
  return tile == Tile::Empty ? "empty" : tile == Tile::Full ? "full" : "mixed";
}

/// Blocks travel to rank + 1. Source: lesson 05.
int owner(int rank, int step, int ranks) {
  return (rank + ranks - step % ranks) % ranks;
}

/// Tensors that leave a rank after the work of a step with a block that makes `hops` hops: K and V so many
/// times, their gradients once more. Source: lessons 05, 07 and 16.
int tensors_sent(const Setting& setting, int hops, int step) {
  const int keys_and_values = step < hops ? 2 : 0;
  const int gradients = setting.backward && hops > 0 && step <= hops ? 2 : 0;
  return keys_and_values + gradients;
}

json at(const Setting& setting, const Ring& ring, int step, int rank) {
  const int block = owner(rank, step, setting.ranks);
  const int made = ring.made[static_cast<std::size_t>(block)];
  const auto& queries = ring.layout.positions(rank);
  const auto& keys = ring.layout.positions(block);
  const bool at_home = step == setting.ranks;  // the gradients; nothing is left to compute
  const int tensors = tensors_sent(setting, made, step);
  const Index floats = Index{setting.kv_heads} * ring.layout.tokens(block) * setting.head_dim;
  const json next = step < made ? (rank + 1) % setting.ranks : block;
  return {{"block", block},
          {"kind", at_home       ? "home"
                   : step > made ? "stopped"
                                 : name_of(ring.mask.tile(queries, keys))},
          {"work", at_home ? 0 : ring.mask.work(queries, keys)},
          {"bytes", tensors * floats * static_cast<Index>(sizeof(float))},
          {"to", tensors > 0 ? next : json()}};
}

/// Of each rank's queries and each block's keys: the rows [first, last) that each query sees; 0, 0 for none.
json rows_seen(const Ring& ring) {
  json pairs = json::array();
  for (int rank = 0; rank < ring.layout.ranks(); ++rank) {
    for (int block = 0; block < ring.layout.ranks(); ++block) {
      const auto& queries = ring.layout.positions(rank);
      const Mask local = ring.mask.among(queries, ring.layout.positions(block));
      json& rows = pairs.emplace_back(json::array());
      for (Index query = 0; query < std::ssize(queries); ++query) {
        const auto [first, last] = local.keys(query);
        rows.push_back(first < last ? json{first, last} : json{0, 0});
      }
    }
  }
  return pairs;
}

/// By rank, how many blocks of keys and of gradients it sends.
json blocks_sent(const Setting& setting, const Ring& ring) {
  json ranks = json::array();
  for (const auto& [keys, gradients] : demo::blocks_to_send(ring.made))
    ranks.push_back({keys, setting.backward ? gradients : 0});
  return ranks;
}

json table(const Setting& setting) {
  const Ring ring(setting);
  json positions = json::array(), steps = json::array();
  for (int rank = 0; rank < setting.ranks; ++rank) positions.push_back(ring.layout.positions(rank));
  const int last = setting.backward && setting.ranks > 1 ? setting.ranks : setting.ranks - 1;
  Index total = 0, time = 0;
  for (int step = 0; step <= last; ++step) {
    json& ranks = steps.emplace_back(json::array());
    Index slowest = 0;
    for (int rank = 0; rank < setting.ranks; ++rank) {
      ranks.push_back(at(setting, ring, step, rank));
      total += ranks.back()["work"].get<Index>();
      slowest = std::max(slowest, ranks.back()["work"].get<Index>());
    }
    time += slowest;
  }
  const json what{{"ranks", setting.ranks},         {"layout", setting.layout},    {"causal", setting.causal},
                  {"backward", setting.backward},   {"tokens", setting.tokens},    {"heads", setting.heads},
                  {"kvHeads", setting.kv_heads},    {"headDim", setting.head_dim}, {"window", setting.window},
                  {"documents", setting.documents}, {"stops", setting.stops}};
  return {{"setting", what},
          {"positions", positions},
          {"hops", ring.needed},
          {"seen", rows_seen(ring)},
          {"sent", blocks_sent(setting, ring)},
          {"steps", steps},
          {"total", total},
          {"time", time}};
}

json tables_for(int ranks, int tokens) {
  json tables = json::array();
  const int kv_heads = 1 + ranks % 3;
  for (const char* layout : layout_names) {
    for (const bool causal : {false, true}) {
      for (const bool backward : {false, true})
        tables.push_back(table({ranks, layout, causal, backward, tokens, kv_heads, kv_heads, 4 * ranks}));
    }
  }
  return tables;
}

/// Rows of one document; of several, with empty ones first, last and between; and of one a token.
std::vector<std::vector<int>> rows_of(int tokens) {
  const int third = tokens / 3;
  return {{}, {0, third, 0, 0, tokens - third, 0}, std::vector<int>(static_cast<std::size_t>(tokens), 1)};
}

/// Shared key heads, documents, windows (of the query alone, a shard and one, beyond the row) and blocks that
/// stop.
json packed_tables_for(int ranks, int tokens) {
  json tables = json::array();
  const auto add = [&](Setting setting) {
    for (const auto& [backward, stops] : {std::pair{false, true}, {true, true}, {true, false}}) {
      setting.backward = backward;
      setting.stops = stops;
      tables.push_back(table(setting));
    }
  };
  for (const char* layout : {"contiguous", "striped", "zigzag", "documents"}) {
    for (const std::vector<int>& documents : rows_of(tokens)) {
      add({ranks, layout, false, false, tokens, 6, 2, 3, 0, documents});
      for (const int window : {0, 1, tokens / ranks + 1, tokens + 5})
        add({ranks, layout, true, false, tokens, 8, 1, 3, window, documents});
    }
  }
  return tables;
}

void print(const json& tables) {
  for (const json& table : tables) std::printf("%s,\n", table.dump().c_str());
}

void print_tables() {
  std::puts("const expectedTables = [");
  for (int ranks = 1; ranks <= 8; ++ranks) {
    // None, fewer than ranks, 2P chunks with and without a remainder, a prime.
    for (const int tokens : {0, ranks - 1, 2 * ranks, 5 * ranks + 1, 37, 6 * ranks})
      print(tables_for(ranks, tokens));
  }
  for (const int ranks : {1, 2, 3, 4, 8}) {
    for (const int tokens : {0, ranks - 1, 4 * ranks + 1}) print(packed_tables_for(ranks, tokens));
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
