#include "judge/attention/ring/ring_forward.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/forward.hpp"
#include "judge/attention/ring/ring_mask.hpp"
#include "judge/checks/communication_checks.hpp"
#include "reference/reference.hpp"
#include "ring/shards.hpp"

namespace course::ring_forward {

namespace {

using log_reading::holder;

Tensor shard(const Example& example, const char* name, int rank) {
  return example.layout.shard(example.inputs.at(name), 1, rank);
}

/// The buffer of x [heads, n, head_dim], zero beyond what x fills, read as [heads, tokens, head_dim].
Tensor read_as(const Tensor& x, int tokens) {
  Tensor read({x.extent(0), tokens, x.extent(2)});
  std::copy_n(x.data(), std::min(x.size(), read.size()), read.data());
  return read;
}

struct Block {
  Tensor k, v;
  std::vector<KeyRange> seen;  ///< by query
};

/// What every rank gets from the blocks that it attends to.
Answer attend(const Example& example, const std::function<std::vector<Block>(int rank)>& blocks) {
  std::vector<Tensor64> o, lse;
  for (int rank = 0; rank < example.ranks(); ++rank) {
    const Tensor64 q = cast<double>(shard(example, "q", rank));
    const Tensor64 no_keys({q.extent(0), 0, q.extent(2)});
    reference::Attention<double> own = reference::attention(q, no_keys, no_keys);
    for (const Block& block : blocks(rank)) {
      add_block(own, reference::attention(q, cast<double>(block.k), cast<double>(block.v),
                                          reference::Mask::ranges(block.seen)));
    }
    o.push_back(std::move(own.o));
    lse.push_back(std::move(own.lse));
  }
  return {{"o", example.layout.join(o, 1)}, {"lse", example.layout.join(lse, 1)}};
}

/// Which of K and V arrives in the room of both and stays there.
enum class Room { Apart, HoldsK, HoldsV };

/// Of which of all blocks something is left.
enum class Kept { All, First, Last, None };

/// The blocks that ranks attend to: those that are with them after hops `first` .. P - 1 + `beyond_last`.
/// What does not travel is the rank's own every time.
struct Sight {
  Kept kept = Kept::All;
  int first = 0;
  int beyond_last = 0;
  bool alone_too = true;  ///< one rank, which has no hop to make, goes as far beyond the last
  Room room = Room::Apart;
  bool k_travels = true;
  bool v_travels = true;
  bool length_travels = true;  ///< as how many tokens keys and values are read
  bool swapped = false;        ///< at each hop keys arrive as values and values as keys
  ring_mask::Steps mask = {};
};

/// Of hops 0 .. P - 1 and beyond the first that counts, and the one behind the last.
struct Hops {
  int first, end;
};

Hops hops_of(const Sight& sight, int world_size) {
  if (sight.kept == Kept::None) return {0, 0};
  const int beyond_last = world_size > 1 || sight.alone_too ? sight.beyond_last : 0;
  return {sight.kept == Kept::Last ? world_size - 1 : sight.first,
          sight.kept == Kept::First ? 1 : world_size + beyond_last};
}

Answer see(const Example& example, const Sight& sight) {
  const int world_size = example.ranks();
  const auto [first, end] = hops_of(sight, world_size);
  return attend(example, [&, first = first, end = end](int rank) {
    std::vector<Block> blocks;
    for (int hop = first; hop < end; ++hop) {
      const int owner = holder(example, rank, hop);
      const int tokens = example.layout.tokens(sight.length_travels ? owner : rank);
      const Room room = hop == 0 ? Room::Apart : sight.room;
      const char* k = room == Room::HoldsV ? "v" : "k";
      const char* v = room == Room::HoldsK ? "k" : "v";
      if (sight.swapped && hop % 2 == 1) std::swap(k, v);
      blocks.push_back({read_as(shard(example, k, sight.k_travels ? owner : rank), tokens),
                        read_as(shard(example, v, sight.v_travels ? owner : rank), tokens),
                        ring_mask::seen(example, rank, owner, tokens, sight.mask)});
    }
    return blocks;
  });
}

/// Whether a rank does not attend to a block that it has to.
bool misses_a_block(const Example& example, const Sight& sight) {
  const int world_size = example.ranks();
  const auto [first, end] = hops_of(sight, world_size);
  for (int rank = 0; rank < world_size; ++rank) {
    for (int hop = 0; hop < world_size; ++hop) {
      if ((hop < first || hop >= end) && log_reading::is_needed(example, rank, holder(example, rank, hop)))
        return true;
    }
  }
  return false;
}

Mistake seeing(std::string id, Sight sight) {
  return {std::move(id),
          [sight](const Example& example) { return see(example, sight); },
          {},
          [sight](const Example& example, const Outcome& outcome) {
            return !misses_a_block(example, sight) || !log_reading::attended_to_all(example, outcome);
          }};
}

/// All blocks are attended to, and what some of them leave is lost.
Mistake losing(std::string id, Sight sight) {
  return {std::move(id),
          [sight](const Example& example) { return see(example, sight); },
          {},
          [](const Example& example, const Outcome& outcome) {
            return outcome.outputs.empty() || log_reading::attended_to_all(example, outcome);
          }};
}

/// Of mistakes that no lesson's mistakes.md has.
std::map<std::string, std::string> words_of_mistakes() {
  std::map<std::string, std::string> words{
      {"state_made_anew", "nothing but the last were left in the state"},
      {"state_of_first_block", "nothing but the first, the rank's own, were left in the state"},
      {"own_block_lost", "the rank's own were not left in the state"},
      {"last_block_lost", "the last were not left in the state"}};
  for (auto& [mistake, of_it] : words)
    of_it = "every rank was given all blocks, and every answer is as if " + of_it;
  words["no_block_attended"] = "every answer is as if no block were attended to, by any rank";
  return words;
}

/// What each rank attends to, before the first hop and after each, with one buffer for what is held and for
/// what arrives and with blocking sends and receives: ranks of the parity `first` send first; the others
/// receive first, over what they have yet to send. The first hop sends a copy of the rank's own block from
/// that buffer, or the block from where it was given.
std::vector<std::vector<Tensor>> attended_in_one_buffer(const Example& example, const char* name, int first,
                                                        bool copied) {
  const Tensor& whole = example.inputs.at(name);
  const int world_size = example.ranks();
  const auto tokens_held = [&](int rank, int hop) {
    return example.layout.tokens(holder(example, rank, hop));
  };
  std::vector<std::vector<Tensor>> attended;
  std::vector<Tensor> buffers;  // as large as the whole, zero where nothing has been written
  for (int rank = 0; rank < world_size; ++rank) {
    attended.push_back({shard(example, name, rank)});
    buffers.emplace_back(whole.shape());
    if (copied) std::ranges::copy(attended[rank][0].values(), buffers[rank].data());
  }
  for (int hop = 1; hop < world_size; ++hop) {
    // As many numbers as the block should have that the sender should hold.
    const std::function<std::vector<float>(int)> message = [&](int sender) {
      if (hop == 1 && !copied) return attended[sender][0].values();
      std::vector<float> content = buffers[sender].values();
      if (sender % 2 != first) std::ranges::copy(message(holder(example, sender, 1)), content.begin());
      content.resize(tokens_held(sender, hop - 1) * whole.extent(0) * whole.extent(2));
      return content;
    };
    std::vector<std::vector<float>> messages;
    for (int rank = 0; rank < world_size; ++rank) messages.push_back(message(holder(example, rank, 1)));
    for (int rank = 0; rank < world_size; ++rank) {
      std::ranges::copy(messages[rank], buffers[rank].data());
      attended[rank].push_back(read_as(buffers[rank], tokens_held(rank, hop)));
    }
  }
  return attended;
}

Answer see_one_buffer(const Example& example, int first, bool copied) {
  const auto k = attended_in_one_buffer(example, "k", first, copied);
  const auto v = attended_in_one_buffer(example, "v", first, copied);
  return attend(example, [&](int rank) {
    std::vector<Block> blocks;
    for (int hop = 0; hop < example.ranks(); ++hop) {
      const int owner = holder(example, rank, hop);
      blocks.push_back(
          {k[rank][hop], v[rank][hop], ring_mask::seen(example, rank, owner, example.layout.tokens(owner))});
    }
    return blocks;
  });
}

/// Blocks that do not go round as they should, and one buffer for what is held and for what arrives.
std::vector<Mistake> known_mistakes() {
  std::vector<Mistake> all{
      seeing("one_block_short", {.beyond_last = -1}),
      // The loop that starts from its own block and ends a hop early: right for one rank.
      seeing("one_block_short", {.beyond_last = -1, .alone_too = false}),
      seeing("one_block_short", {.first = 1}), seeing("no_block_attended", {.kept = Kept::None}),
      seeing("own_block_again", {.beyond_last = 1}),
      seeing("own_block_again", {.beyond_last = 1, .alone_too = false}),
      seeing("one_room_for_k_and_v", {.room = Room::HoldsV}),
      seeing("one_room_for_k_and_v", {.room = Room::HoldsK}),
      seeing("own_block_every_time", {.k_travels = false, .v_travels = false, .length_travels = false}),
      // The buffer that never changes, read with the length of the block that should be in it.
      seeing("own_block_every_time", {.k_travels = false, .v_travels = false}),
      seeing("v_left_behind", {.v_travels = false}), seeing("k_and_v_swapped", {.swapped = true}),
      losing("state_made_anew", {.kept = Kept::Last}), losing("state_of_first_block", {.kept = Kept::First}),
      losing("own_block_lost", {.first = 1}),
      losing("last_block_lost", {.beyond_last = -1, .alone_too = false})};
  for (const int first : {0, 1}) {
    for (const bool copied : {false, true}) {
      all.push_back({"receives_over_the_send_buffer",
                     [=](const Example& example) { return see_one_buffer(example, first, copied); }});
    }
  }
  return all;
}

/// Who attends to what the hop has brought has made another mistake.
bool made_a_useless_hop(const Example& example, const Outcome& outcome) {
  return checks::sent_one_hop_more(checks::forward_hops, 4)(example, outcome) &&
         !log_reading::attended_to_more_than_all(example, outcome);
}

std::int64_t bytes_of_a_ring(const Example& example, int) {
  return checks::bytes_of_hops(checks::forward_hops, example);
}

}  // namespace

Example make_example(std::string what, const Layout& layout, QKV qkv) {
  const std::vector<int> tokens = layout.shard_tokens();
  return {std::move(what),
          {{"q", std::move(qkv.q)}, {"k", std::move(qkv.k)}, {"v", std::move(qkv.v)}},
          {{"shard_tokens", {tokens.begin(), tokens.end()}}},
          layout};
}

std::vector<Example> on_all_kinds_of_shards(InputGenerator& generator, int ranks, int fewest_tokens) {
  std::vector<Example> all;
  const auto add = [&](std::string what, const std::vector<int>& shards, Index heads, Index head_dim) {
    const int n = total_tokens(shards);
    all.push_back(make_example(std::move(what), shards, random_qkv(generator, heads, n, n, head_dim)));
  };
  add("equal shards", std::vector<int>(ranks, generator.integer(3, 6)), 2, 4);
  add("unequal shards", unequal_shards(generator, ranks), 3, one_of(generator, {3, 5, 7, 11}));
  std::vector<int> on_one_rank(ranks);
  on_one_rank[generator.integer(0, ranks - 1)] = generator.integer(2 * fewest_tokens, 9);
  add("all tokens on one rank", on_one_rank, 2, 5);
  all.back().less_telling = ranks > 1;
  const int few = std::max(fewest_tokens, ranks / 2);
  add(few < ranks ? "more ranks than tokens" : "few tokens", even_shards(few, ranks), 3, 3);
  add("a prime number of tokens", even_shards(one_of(generator, {11, 13, 17, 19, 23, 29}), ranks), 2, 7);
  return all;
}

std::vector<Example> with_large_blocks(InputGenerator& generator, int ranks) {
  if (ranks != 8) return {};
  // Few heads of wide rows: who sends a message a head, or a row, has few open at a time. What the library
  // takes for each would count.
  Example example = make_example("blocks of half a megabyte", std::vector<int>(ranks, 4),
                                 random_qkv(generator, 4, 4 * ranks, 4 * ranks, 4096));
  example.large = true;
  return {std::move(example)};
}

std::vector<Example> examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all = on_all_kinds_of_shards(generator, ranks, 1);
  const auto add = [&](std::string what, const std::vector<int>& shards, QKV qkv) {
    all.push_back(make_example(std::move(what), shards, std::move(qkv)));
  };
  const auto real = [&](int tokens, float q_factor) {
    const std::vector<Index> heads{generator.integer(0, 3), generator.integer(4, 7),
                                   generator.integer(8, 11)};
    return minilm_qkv(generator.integer(0, 512 - tokens), tokens, heads, q_factor);
  };
  const std::vector<int> shards = unequal_shards(generator, ranks);
  const int n = total_tokens(shards);
  add("a row maximum that comes last", shards, late_maximum_qkv(generator, 3, n, n, 8));
  add("scores more than 110 apart", shards, wide_scores_qkv(generator, 2, n, n, 6));
  add("scores near -150", shards, very_negative_qkv(generator, 2, n, n, 5, -150));
  add("scores near -2e4", shards, very_negative_qkv(generator, 2, n, n, 5, -2e4));
  add("real queries, keys and values", even_shards(29, ranks), real(29, 1));
  add("real keys and values with the queries doubled", shards, real(n, 2));
  all.push_back(far_example(generator, std::vector<int>(ranks, 3)));
  std::ranges::move(with_large_blocks(generator, ranks), std::back_inserter(all));
  return all;
}

namespace {

/// Ordinary scores, but rank 0's keys score `below` less; for its own queries all of them but the first. So
/// every rank's own block decides, and no state has large values that it loses again: o - w (o - o_b) would
/// keep what float32 rounds off them.
void outweigh(MatrixView<float> q, MatrixView<float> k, MatrixView<float> v, double below,
              const Layout& layout) {
  const double unit = std::sqrt(static_cast<double>(k.cols()));
  for (Index i = 0; i < q.rows(); ++i) {
    const Place place = layout.place(i);
    q(i, 0) = place.rank == 0 ? 0.0f : 1.0f;
    q(i, 1) = 1 - q(i, 0);
    k(i, 0) = static_cast<float>(place.rank == 0 ? -below * unit : 0);
    k(i, 1) = place.row == 0 ? 0.0f : k(i, 0);
    if (k(i, 1) == 0) continue;
    for (float& value : v.row(i)) value *= static_cast<float>(std::exp(below));
  }
}

/// The same score everywhere, and values of 100 and more.
void fill(MatrixView<float> q, MatrixView<float> k, MatrixView<float> v, double score) {
  const double unit = std::sqrt(static_cast<double>(k.cols()));
  for (Index i = 0; i < q.rows(); ++i) {
    std::ranges::fill(q.row(i), 0.0f);
    q(i, 0) = 1;
    k(i, 0) = static_cast<float>(score * unit);
    for (float& value : v.row(i)) value = 100 * (1 + std::abs(value));
  }
}

}  // namespace

Example far_example(InputGenerator& generator, const Layout& layout) {
  constexpr double below[] = {22, 42, 64}, score[] = {86.75, 83.25};
  const Index n = layout.tokens();
  QKV qkv = random_qkv(generator, 5, n, n, 4);
  const HeadsView<float> q = qkv.q.heads(), k = qkv.k.heads(), v = qkv.v.heads();
  for (const Index head : {0, 1, 2}) outweigh(q.head(head), k.head(head), v.head(head), below[head], layout);
  for (const Index head : {0, 1}) fill(q.head(3 + head), k.head(3 + head), v.head(3 + head), score[head]);
  Example example = make_example("keys far below the others with values as much larger, and scores near 85",
                                 layout, std::move(qkv));
  example.less_telling = true;
  return example;
}

std::vector<Example> on_all_kinds_of_masks(InputGenerator& generator, int ranks) {
  constexpr int fewest_tokens = 4;  // the gradients of fewer may cancel: of a query that sees one key it is 0
  std::vector<Example> all = on_all_kinds_of_shards(generator, ranks, fewest_tokens);
  std::erase_if(all, [](const Example& example) { return example.layout.tokens() < fewest_tokens; });
  for (Example& example : all) example = ring_mask::with_offset(std::move(example), 0);
  // Long enough that beside queries that see one key or none there are others.
  const std::vector<int> equal(ranks, generator.integer(8, 10) + (ranks == 1 ? 6 : 0));
  std::vector<int> unequal = unequal_shards(generator, ranks);
  unequal.back() += 8;
  const auto add = [&](std::string what, const std::vector<int>& shards, Index offset) {
    const int n = total_tokens(shards);
    Example example = make_example(std::move(what), shards, random_qkv(generator, 2, n, n, 6));
    all.push_back(ring_mask::with_offset(std::move(example), offset));
  };
  const std::string no_key = "queries that see no key", later_keys = "queries that see later keys";
  add(no_key, equal, ring_mask::offset_that_hides(generator, equal));
  add(later_keys, equal, generator.integer(2, 8));
  if (ranks == 1) return all;
  add("unequal shards and " + no_key, unequal, ring_mask::offset_that_hides(generator, unequal));
  add("unequal shards and " + later_keys, unequal, generator.integer(2, 8));
  return all;
}

std::vector<Example> masked_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all = on_all_kinds_of_masks(generator, ranks);
  const std::vector<int> equal(ranks, generator.integer(3, 8)), unequal = unequal_shards(generator, ranks);
  const int n = total_tokens(equal), real = total_tokens(unequal);
  const auto add = [&](std::string what, const std::vector<int>& shards, QKV qkv) {
    all.push_back(ring_mask::with_offset(make_example(std::move(what), shards, std::move(qkv)), 0));
  };
  add("a row maximum that comes last", equal, late_maximum_qkv(generator, 3, n, n, 8));
  add("scores more than 110 apart", equal, wide_scores_qkv(generator, 2, n, n, 6));
  add("scores near -2e4", equal, very_negative_qkv(generator, 2, n, n, 5, -2e4));
  add("unequal shards of real queries, keys and values", unequal,
      minilm_qkv(generator.integer(0, 512 - real), real, {generator.integer(0, 11)}, 1));
  all.push_back(ring_mask::with_offset(far_example(generator, std::vector<int>(ranks, 3)), 0));
  for (Example& large : with_large_blocks(generator, ranks))
    all.push_back(ring_mask::with_offset(std::move(large), 0));
  return all;
}

std::int64_t memory_limit(const Example& example) {
  return checks::memory_of_blocks(example, 2 * (2 + 1));
}

Task task(std::string id, std::string function) {
  Task made = attention_task(std::move(id), std::move(function));
  made.examples = examples;
  made.mistakes = known_mistakes();
  made.words = words_of_mistakes();
  made.fail_on_all_inputs = {"every_rank_sends_first"};
  made.explain_answers = {"world_communicator", "computes_on_arriving", "send_buffer_reused",
                          "ends_not_joined"};
  made.answer_checks = {checks::joins_its_ends("ends_not_joined"), log_reading::gives_each_block_once};
  made.follows_from = {{"every_rank_sends_first", "world_communicator"}};
  made.split_axis = {{"q", 1}, {"k", 1}, {"v", 1}};
  made.logs = {{block_log::output, block_log::columns}};
  made.explain = log_reading::explaining([](const Played& played) -> std::string {
    if (played.example->ranks() == 1) return "";
    return ring_mask::is_masked(*played.example)
               ? "look at which keys of them each query sees, at the state between them, and at o and lse "
                 "after block.finish"
               : "look at the state between them, and at o and lse after block.finish";
  });
  return made;
}

Task masked_task(std::string id, std::string function) {
  Task made = task(std::move(id), std::move(function));
  made.examples = masked_examples;
  made.follows_from.emplace("wrong_direction", "rule_of_other_direction");
  made.logs[block_log::scores_output] = 1;
  for (const auto& [mistake, mask] : ring_mask::wrong_steps())
    made.mistakes.push_back(ring_mask::mistake_of(
        mistake, mask, [mask = mask](const Example& example) { return see(example, {.mask = mask}); }));
  made.answer_checks.push_back(log_reading::gives_no_empty_block);
  return made;
}

std::vector<CommunicationCheck> blocking_checks() {
  using namespace checks;
  std::vector<CommunicationCheck> all = blocking_ring(
      first_of({without_fact(fact_world, "world_communicator"),
                named_if(sends_only_to_next(""), sent_only_to_previous, "wrong_direction"),
                named_if(sends_at_most(bytes_of_a_ring, ""), made_a_useless_hop, "useless_last_hop"),
                log_reading::names_the_owners}),
      memory_limit);
  all.push_back(deadlocks(ring_mask::skipped_a_hop, "hop_skipped"));
  all.push_back(keeps_empty_ranks("empty_rank_leaves"));
  return all;
}

}  // namespace course::ring_forward
