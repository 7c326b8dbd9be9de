#include <algorithm>
#include <limits>
#include <numeric>

#include "judge/conduct.hpp"
#include "judge/task.hpp"
#include "log_reading.hpp"
#include "mistakes.hpp"
#include "mpi_layer/facts.hpp"

using namespace course;

namespace {

// Task 1

/// owner(rank, hop) over all ranks and hops of a world.
std::function<Answer(const Example&)> owners(int (*owner)(int rank, int hop, int world_size)) {
  return [owner](const Example& example) -> Answer {
    const int world_size = static_cast<int>(example.arguments.at("world_size").at(0));
    Tensor64 all({world_size, world_size});
    for (int rank = 0; rank < world_size; ++rank) {
      for (int hop = 0; hop < world_size; ++hop) all.matrix()(rank, hop) = owner(rank, hop, world_size);
    }
    return {{"owner", all}};
  };
}

int after_the_sign_of_cpp(int rank, int hop, int world_size) {
  return (rank - hop) % world_size;
}

int forward(int rank, int hop, int world_size) {
  return (rank + hop) % world_size;
}

std::vector<Example> worlds(Draw& draw, int) {
  std::vector<Example> all;
  for (const int world_size : {1, 2, 3, 4, 5, 8, draw.integer(9, 40)}) {
    all.push_back({"a world of " + std::to_string(world_size),
                   {},
                   {{"world_size", {static_cast<double>(world_size)}}}});
  }
  return all;
}

Task block_owner_task() {
  return {.id = "1",
          .function = "block_owner",
          .outputs = {{"owner", {"holder", "hop"}}},
          .examples = worlds,
          .truth = owners(log_reading::holder),
          .baseline = owners(log_reading::holder),
          .mistakes = {{"negative_modulo", owners(after_the_sign_of_cpp)}, {"owner_off", owners(forward)}}};
}

// Task 2: inputs

/// Unequal shards; in larger worlds one of them is empty and one holds a single token.
std::vector<int> unequal_shards(Draw& draw, int ranks) {
  std::vector<int> shards(ranks);
  for (int& tokens : shards) tokens = draw.integer(2, 6);
  const int first = draw.integer(0, ranks - 1);
  if (ranks > 1) shards[first] = 7;
  if (ranks > 2) shards[(first + 1) % ranks] = 1;
  if (ranks > 3) shards[(first + 3) % ranks] = 0;
  return shards;
}

int prime(Draw& draw, const std::vector<int>& primes) {
  return primes[draw.integer(0, static_cast<int>(primes.size()) - 1)];
}

int total(const std::vector<int>& shards) {
  return std::accumulate(shards.begin(), shards.end(), 0);
}

std::vector<Example> examples(Draw& draw, int ranks) {
  std::vector<Example> all;
  const auto add = [&](std::string what, const std::vector<int>& shards, QKV qkv) {
    all.push_back({std::move(what),
                   {{"q", std::move(qkv.q)}, {"k", std::move(qkv.k)}, {"v", std::move(qkv.v)}},
                   {{"shard_tokens", {shards.begin(), shards.end()}}},
                   shards});
  };
  const auto real = [&](int tokens, float q_factor) {
    const std::vector<Index> heads{draw.integer(0, 3), draw.integer(4, 7), draw.integer(8, 11)};
    return minilm_qkv(draw.integer(0, 512 - tokens), tokens, heads, q_factor);
  };
  // Equal shards first: there even a wrong idea of a block's length plays to its end.
  const int each = draw.integer(3, 6);
  add("equal shards", std::vector<int>(ranks, each), random_qkv(draw, 2, ranks * each, ranks * each, 4));
  std::vector<int> shards = unequal_shards(draw, ranks);
  int n = total(shards);
  add("unequal shards", shards, random_qkv(draw, 3, n, n, prime(draw, {3, 5, 7, 11})));
  shards.assign(ranks, 0);
  shards[draw.integer(0, ranks - 1)] = n = draw.integer(2, 9);
  add("all tokens on one rank", shards, random_qkv(draw, 2, n, n, 5));
  n = std::max(1, ranks / 2);
  add("more ranks than tokens", even_shards(n, ranks), random_qkv(draw, 3, n, n, 3));
  n = prime(draw, {11, 13, 17, 19, 23, 29});
  add("a prime number of tokens", even_shards(n, ranks), random_qkv(draw, 2, n, n, 7, 2));
  shards = unequal_shards(draw, ranks);
  n = total(shards);
  add("a row maximum that comes last", shards, late_maximum_qkv(draw, 3, n, n, 8));
  add("scores more than 110 apart", shards, wide_scores_qkv(draw, 2, n, n, 6));
  add("scores near -150", shards, very_negative_qkv(draw, 2, n, n, 5, -150));
  add("scores near -2e4", shards, very_negative_qkv(draw, 2, n, n, 5, -2e4));
  add("real queries, keys and values", even_shards(29, ranks), real(29, 1));
  add("real keys and values with the queries doubled", shards, real(n, 2));
  if (ranks == 8) {  // large enough for memory to be seen
    add("blocks of half a megabyte", std::vector<int>(ranks, 4),
        random_qkv(draw, 512, 4 * ranks, 4 * ranks, 32));
  }
  return all;
}

/// As if there were one rank.
template <class T>
Answer attention(const Example& example) {
  const auto input = [&](const char* name) { return cast<T>(example.inputs.at(name)); };
  const reference::Attention<T> whole = reference::attention(input("q"), input("k"), input("v"));
  return {{"o", cast<double>(whole.o)}, {"lse", cast<double>(whole.lse)}};
}

// Task 2: conduct

/// Keys and values of so many tokens, in bytes.
std::int64_t bytes_of_block(const Example& example, int tokens) {
  const Tensor& k = example.inputs.at("k");
  return 2 * k.extent(0) * tokens * k.extent(2) * static_cast<std::int64_t>(sizeof(float));
}

std::int64_t bytes_sent(const RankReport& report) {
  std::int64_t sum = 0;
  for (const auto& [peer, bytes] : report.bytes_sent_to) sum += bytes;
  return sum;
}

int largest(const std::vector<int>& shards) {
  return *std::ranges::max_element(shards);
}

/// P - 1 messages for keys and as many for values, each padded to the largest shard's length.
std::int64_t bytes_of_hops(const Example& example, int) {
  return bytes_of_block(example, largest(example.shard_tokens) * (example.ranks() - 1));
}

/// Every rank has sent every block, the one that its neighbour began with too. From four ranks on: with two,
/// sending everything twice makes as many bytes, and with three, sending the values twice.
bool made_one_hop_more(const Example& example, const Outcome& outcome) {
  const std::vector<int>& shards = example.shard_tokens;
  return example.ranks() > 3 && std::ranges::all_of(outcome.reports, [&](const RankReport& report) {
           return bytes_sent(report) == bytes_of_block(example, total(shards)) ||
                  bytes_sent(report) == bytes_of_block(example, largest(shards) * example.ranks());
         });
}

bool sent_only_to_previous(const Example& example, const Outcome& outcome) {
  for (int rank = 0; rank < example.ranks(); ++rank) {
    const int previous = (rank + example.ranks() - 1) % example.ranks();
    for (const auto& [peer, bytes] : outcome.reports[rank].bytes_sent_to) {
      if (bytes > 0 && peer != previous) return false;
    }
  }
  return true;
}

bool gathered(const Example&, const Outcome& outcome) {
  for (const auto& [kind, text] : outcome.reports[0].facts) {
    if (kind == mpi_layer::fact_collective &&
        (text.starts_with("MPI_Allgather") || text.starts_with("MPI_Iallgather"))) {
      return true;
    }
  }
  return false;
}

using Recognises = bool (*)(const Example&, const Outcome&);

/// What `look` finds carries the mistake's name only where the mistake is recognised; other causes go
/// unnamed.
Conduct named_if(Conduct look, Recognises recognises, std::string mistake) {
  return [=](const Example& example, const Outcome& outcome) {
    std::vector<Finding> findings = look(example, outcome);
    for (Finding& finding : findings) {
      if (recognises(example, outcome)) finding.mistake = mistake;
    }
    return findings;
  };
}

/// The findings of the first that has any: what follows from it is no finding of its own.
Conduct first_of(std::vector<Conduct> looks) {
  return [looks = std::move(looks)](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    for (const Conduct& look : looks) {
      std::vector<Finding> findings = look(example, outcome);
      if (!findings.empty()) return findings;
    }
    return {};
  };
}

/// Sizes and the like may be shared by collectives; keys and values may not.
std::int64_t control_bytes(const Example& example, int) {
  return 64 * example.ranks();
}

/// Two more blocks, a state and an output, and as much again for what MPI itself takes. In small examples
/// that, too, is small beside what MPI takes the first time it is used: no limit there.
std::int64_t memory_of_a_ring(const Example& example) {
  const std::int64_t block = bytes_of_block(example, largest(example.shard_tokens));
  return block < 256 * 1024 ? std::numeric_limits<std::int64_t>::max() : 2 * (2 * block + block);
}

bool held_everything(const Example& example, const Outcome& outcome) {
  return std::ranges::any_of(outcome.reports, [&](const RankReport& report) {
    return report.peak_bytes >= bytes_of_block(example, total(example.shard_tokens));
  });
}

bool all_send(const Example&, const Standstill& standstill) {
  return standstill.kind == Standstill::Kind::Cycle && standstill.all_send && standstill.ranks.size() > 1;
}

std::vector<Conduct> ring_conduct() {
  using namespace conduct;
  return {first_of({uses_only_its_communicator("world_communicator"),
                    named_if(sends_only_to_next(""), sent_only_to_previous, "wrong_direction"),
                    named_if(sends_at_most(bytes_of_hops, ""), made_one_hop_more, "useless_last_hop"),
                    log_reading::names_the_owners}),
          keeps_buffers_apart("receives_over_the_send_buffer"),
          named_if(gathers_at_most(control_bytes, ""), gathered, "everything_gathered"),
          named_if(uses_memory_at_most(memory_of_a_ring, ""), held_everything, "everything_gathered"),
          stands_still(all_send, "every_rank_sends_first")};
}

Task ring_attention_task() {
  return {.id = "2",
          .function = "ring_attention",
          .outputs = {{"o", {"head", "row", "col"}, 1}, {"lse", {"head", "row"}, 1}},
          .examples = examples,
          .truth = attention<double>,
          .baseline = attention<float>,
          .mistakes = mistakes::of_the_ring(),
          .conduct = ring_conduct(),
          .split_axis = {{"q", 1}, {"k", 1}, {"v", 1}},
          .explain = log_reading::explain};
}

}  // namespace

LessonJudge course::lesson_judge() {
  return {"05", {block_owner_task(), ring_attention_task()}};
}
