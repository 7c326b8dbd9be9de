#include "judge/attention/ring_forward.hpp"

#include <algorithm>
#include <functional>

#include "judge/attention/attended_blocks.hpp"
#include "judge/communication_checks.hpp"
#include "reference/reference.hpp"
#include "ring/shards.hpp"

namespace course::ring_forward {

namespace {

template <class T>
Answer attention(const Example& example) {
  const auto input = [&](const char* name) { return cast<T>(example.inputs.at(name)); };
  const reference::Attention<T> whole = reference::attention(input("q"), input("k"), input("v"));
  return {{"o", cast<double>(whole.o)}, {"lse", cast<double>(whole.lse)}};
}

/// Keys of one rank with values of another, both read as if they held as many tokens as a third rank's.
struct Seen {
  int k_of;
  int v_of;
  int tokens_of;
};

/// The blocks that a rank attends to.
using Sight = std::function<std::vector<Seen>(int rank, int world_size)>;

Tensor shard(const Example& example, const char* name, int rank) {
  return slice(example.inputs.at(name), 1, shard_offsets(example.shard_tokens)[rank],
               example.shard_tokens[rank]);
}

/// The buffer of x [heads, n, head_dim], zero beyond what x fills, read as [heads, tokens, head_dim].
Tensor read_as(const Tensor& x, int tokens) {
  Tensor read({x.extent(0), tokens, x.extent(2)});
  std::copy_n(x.data(), std::min(x.size(), read.size()), read.data());
  return read;
}

struct Block {
  Tensor k, v;
};

/// What every rank gets from the blocks that it attends to.
Answer attend(const Example& example, const std::function<std::vector<Block>(int rank)>& blocks) {
  std::vector<Tensor64> o, lse;
  for (int rank = 0; rank < example.ranks(); ++rank) {
    const Tensor q = shard(example, "q", rank);
    std::vector<Tensor> k{Tensor({q.extent(0), 0, q.extent(2)})};
    std::vector<Tensor> v = k;
    for (const Block& block : blocks(rank)) {
      k.push_back(block.k);
      v.push_back(block.v);
    }
    auto own = reference::attention(cast<double>(q), cast<double>(concatenate(k, 1)),
                                    cast<double>(concatenate(v, 1)));
    o.push_back(std::move(own.o));
    lse.push_back(std::move(own.lse));
  }
  return {{"o", concatenate(o, 1)}, {"lse", concatenate(lse, 1)}};
}

Answer see(const Example& example, const Sight& sight) {
  return attend(example, [&](int rank) {
    std::vector<Block> blocks;
    for (const Seen& seen : sight(rank, example.ranks())) {
      const int tokens = example.shard_tokens[seen.tokens_of];
      blocks.push_back(
          {read_as(shard(example, "k", seen.k_of), tokens), read_as(shard(example, "v", seen.v_of), tokens)});
    }
    return blocks;
  });
}

/// The blocks after hops first .. last.
std::vector<Seen> arrivals(int rank, int first, int last, int world_size) {
  std::vector<Seen> all;
  for (int hop = first; hop <= last; ++hop) {
    const int owner = log_reading::holder(rank, hop, world_size);
    all.push_back({owner, owner, owner});
  }
  return all;
}

std::vector<Seen> every_block(int rank, int world_size) {
  return arrivals(rank, 0, world_size - 1, world_size);
}

std::vector<Seen> without_the_last(int rank, int world_size) {
  return arrivals(rank, 0, world_size - 2, world_size);
}

/// The loop that starts from its own block and ends a hop early: right for one rank.
std::vector<Seen> without_the_last_but_own(int rank, int world_size) {
  return arrivals(rank, 0, std::max(0, world_size - 2), world_size);
}

std::vector<Seen> without_own(int rank, int world_size) {
  return arrivals(rank, 1, world_size - 1, world_size);
}

std::vector<Seen> own_every_time(int rank, int world_size) {
  return std::vector<Seen>(world_size, {rank, rank, rank});
}

/// The buffer that never changes, read with the length of the block that should be in it.
std::vector<Seen> own_read_as_others(int rank, int world_size) {
  std::vector<Seen> all = every_block(rank, world_size);
  for (Seen& seen : all) seen.k_of = seen.v_of = rank;
  return all;
}

std::vector<Seen> own_values(int rank, int world_size) {
  std::vector<Seen> all = every_block(rank, world_size);
  for (Seen& seen : all) seen.v_of = rank;
  return all;
}

Mistake seeing(std::string id, Sight sight) {
  return {std::move(id), [sight = std::move(sight)](const Example& example) { return see(example, sight); }};
}

/// One buffer a rank for what is held and for what arrives, with blocking sends and receives: ranks of one
/// parity send first; those of the other receive first, over what they have yet to send.
class OneBuffer {
 public:
  /// `first` is the parity of the ranks that send first. The first hop sends a copy of the rank's own block
  /// from that buffer, or the block from where it was given.
  OneBuffer(const Example& example, const char* name, int first, bool copied)
      : shard_tokens_(example.shard_tokens), first_(first), copied_(copied) {
    const Tensor& whole = example.inputs.at(name);
    token_size_ = whole.extent(0) * whole.extent(2);
    for (int rank = 0; rank < world_size(); ++rank) {
      own_.push_back(shard(example, name, rank));
      attended_.push_back({own_.back()});
      const Tensor nothing({whole.extent(0), 0, whole.extent(2)});
      buffers_.push_back(read_as(copied ? own_.back() : nothing, static_cast<int>(whole.extent(1))));
    }
    for (int hop = 1; hop < world_size(); ++hop) pass_on(hop);
  }

  /// What a rank attends to, before the first hop and after each.
  const std::vector<Tensor>& attended(int rank) const { return attended_[rank]; }

 private:
  int world_size() const { return static_cast<int>(shard_tokens_.size()); }

  /// The message of a rank: as many numbers as the block should have that it should hold.
  std::vector<float> message(int rank, int hop) const {
    if (hop == 1 && !copied_) return own_[rank].values();
    std::vector<float> content = buffers_[rank].values();
    if (rank % 2 != first_)
      std::ranges::copy(message(log_reading::holder(rank, 1, world_size()), hop), content.begin());
    content.resize(shard_tokens_[log_reading::holder(rank, hop - 1, world_size())] * token_size_);
    return content;
  }

  void pass_on(int hop) {
    std::vector<std::vector<float>> messages;
    for (int rank = 0; rank < world_size(); ++rank)
      messages.push_back(message(log_reading::holder(rank, 1, world_size()), hop));
    for (int rank = 0; rank < world_size(); ++rank) {
      std::ranges::copy(messages[rank], buffers_[rank].data());
      attended_[rank].push_back(
          read_as(buffers_[rank], shard_tokens_[log_reading::holder(rank, hop, world_size())]));
    }
  }

  const std::vector<int>& shard_tokens_;
  int first_;
  bool copied_;
  Index token_size_ = 0;
  std::vector<Tensor> own_;
  std::vector<Tensor> buffers_;  ///< as large as the whole, zero where nothing has been written
  std::vector<std::vector<Tensor>> attended_;
};

Answer see_one_buffer(const Example& example, int first, bool copied) {
  const OneBuffer k(example, "k", first, copied);
  const OneBuffer v(example, "v", first, copied);
  return attend(example, [&](int rank) {
    std::vector<Block> blocks;
    for (int hop = 0; hop < example.ranks(); ++hop)
      blocks.push_back({k.attended(rank)[hop], v.attended(rank)[hop]});
    return blocks;
  });
}

}  // namespace

Example make_example(std::string what, const std::vector<int>& shard_tokens, QKV qkv) {
  return {std::move(what),
          {{"q", std::move(qkv.q)}, {"k", std::move(qkv.k)}, {"v", std::move(qkv.v)}},
          {{"shard_tokens", {shard_tokens.begin(), shard_tokens.end()}}},
          shard_tokens};
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
  const int few = std::max(fewest_tokens, ranks / 2);
  add(few < ranks ? "more ranks than tokens" : "few tokens", even_shards(few, ranks), 3, 3);
  add("a prime number of tokens", even_shards(one_of(generator, {11, 13, 17, 19, 23, 29}), ranks), 2, 7);
  return all;
}

std::vector<Example> with_large_blocks(InputGenerator& generator, int ranks) {
  if (ranks != 8) return {};
  Example example = make_example("blocks of half a megabyte", std::vector<int>(ranks, 4),
                                 random_qkv(generator, 512, 4 * ranks, 4 * ranks, 32));
  example.large = true;
  return {std::move(example)};
}

Answer expected(const Example& example) {
  return attention<double>(example);
}

Answer baseline(const Example& example) {
  return attention<float>(example);
}

std::int64_t memory_limit(const Example& example) {
  return checks::memory_of_blocks(example, 2 * (2 + 1));
}

std::string explain(const Example& example, const Outcome& outcome) {
  return log_reading::explain(example, outcome,
                              "look at the state between them, and at o and lse after block.finish");
}

std::vector<Mistake> mistakes_of_moving() {
  return {seeing("one_block_short", without_the_last),
          seeing("one_block_short", without_the_last_but_own),
          seeing("one_block_short", without_own),
          seeing("own_block_every_time", own_every_time),
          seeing("own_block_every_time", own_read_as_others),
          seeing("v_left_behind", own_values)};
}

std::vector<Mistake> mistakes_of_one_buffer() {
  std::vector<Mistake> all;
  for (const int first : {0, 1}) {
    for (const bool copied : {false, true}) {
      all.push_back({"receives_over_the_send_buffer",
                     [=](const Example& example) { return see_one_buffer(example, first, copied); }});
    }
  }
  return all;
}

}  // namespace course::ring_forward
