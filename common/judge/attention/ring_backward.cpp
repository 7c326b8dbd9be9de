#include "judge/attention/ring_backward.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "reference/reference.hpp"
#include "ring/shards.hpp"

namespace course::ring_backward {

namespace {

Tensor64 input(const Example& example, const char* name) {
  return cast<double>(example.inputs.at(name));
}

/// As many numbers as `shape` has, from the front of `numbers`; `fill` where there are none.
template <class T>
TensorOf<T> read_as(const std::vector<T>& numbers, const Shape& shape, T fill) {
  TensorOf<T> read(shape, fill);
  std::copy_n(numbers.begin(), std::min<Index>(std::ssize(numbers), read.size()), read.data());
  return read;
}

template <class T>
T dot(std::span<const T> a, std::span<const T> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), T{0});
}

template <class T>
void add_scaled(std::span<T> to, T factor, std::span<const T> from) {
  for (std::size_t c = 0; c < to.size(); ++c) to[c] += factor * from[c];
}

template <class T>
void add(std::vector<T>& to, const TensorOf<T>& share) {
  for (Index i = 0; i < share.size(); ++i) to[i] += share[i];
}

/// What one rank's queries give to the gradients of one block.
template <class T>
struct Share {
  TensorOf<T> dq, dk, dv;
};

/// One rank's tensors.
template <class T>
struct Rank {
  Rank(const Example& example, int rank, bool with_delta)
      : q(own(example, "q", rank)),
        k(own(example, "k", rank)),
        v(own(example, "v", rank)),
        d_o(own(example, "d_o", rank)),
        lse(own(example, "lse", rank)),
        delta(lse.shape()) {
    const TensorOf<T> o = own(example, "o", rank);
    for (Index head = 0; head < q.extent(0); ++head) {
      for (Index i = 0; i < q.extent(1); ++i) {
        delta.matrix()(head, i) =
            with_delta ? dot<T>(o.heads().head(head).row(i), d_o.heads().head(head).row(i)) : T{0};
      }
    }
  }

  Share<T> share(const TensorOf<T>& block_k, const TensorOf<T>& block_v) const {
    Share<T> made{TensorOf<T>(q.shape()), TensorOf<T>(block_k.shape()), TensorOf<T>(block_k.shape())};
    const T scale = 1 / std::sqrt(static_cast<T>(q.extent(2)));
    for (Index head = 0; head < q.extent(0); ++head) {
      for (Index i = 0; i < q.extent(1); ++i) {
        const std::span<const T> query = q.heads().head(head).row(i);
        const std::span<const T> gradient = d_o.heads().head(head).row(i);
        for (Index j = 0; j < block_k.extent(1); ++j) {
          const std::span<const T> key = block_k.heads().head(head).row(j);
          const T weight = std::exp(scale * dot<T>(query, key) - lse.matrix()(head, i));
          const T dp = dot<T>(gradient, block_v.heads().head(head).row(j));
          const T ds = scale * weight * (dp - delta.matrix()(head, i));
          add_scaled<T>(made.dv.heads().head(head).row(j), weight, gradient);
          add_scaled<T>(made.dq.heads().head(head).row(i), ds, key);
          add_scaled<T>(made.dk.heads().head(head).row(j), ds, query);
        }
      }
    }
    return made;
  }

  TensorOf<T> q, k, v, d_o, lse, delta;

 private:
  static TensorOf<T> own(const Example& example, const char* name, int rank) {
    return cast<T>(slice(example.inputs.at(name), 1, shard_offsets(example.shard_tokens)[rank],
                         example.shard_tokens[rank]));
  }
};

/// dk and dv of a block, as they lie in memory that is as long as the largest block.
template <class T>
struct Room {
  std::vector<T> dk, dv;
};

/// All ranks, hop by hop. A rank holds a block's gradients in one of two rooms in turn.
template <class T>
class Ring {
 public:
  Ring(const Example& example, const Steps& steps) : steps_(steps), shard_tokens_(example.shard_tokens) {
    for (int rank = 0; rank < world_size(); ++rank) ranks_.emplace_back(example, rank, steps.delta);
    const Tensor& q = example.inputs.at("q");
    const Index length = q.extent(0) * largest_shard(shard_tokens_) * q.extent(2);
    const Room<T> empty{std::vector<T>(length), std::vector<T>(length)};
    const T start = steps.dk_dv_cleared ? T{0} : nan;
    const Room<T> first{std::vector<T>(length, start), std::vector<T>(length, start)};
    for (int rank = 0; rank < world_size(); ++rank) {
      dq_.emplace_back(ranks_[rank].q.shape(), steps.dq_cleared ? T{0} : nan);
      rooms_.push_back({empty, empty, empty});
      room(rank, 0) = first;
    }
  }

  Answer answer() {
    const int blocks = std::max(1, world_size() + steps_.blocks);
    const int hops = world_size() == 1 ? 0 : world_size() + steps_.gradient_hops;
    for (int step = 0; step < std::max(blocks, hops); ++step) {
      if (step < blocks) work(step);
      if (step < hops) pass_on(step);
    }
    std::vector<Tensor64> dq, dk, dv;
    for (int rank = 0; rank < world_size(); ++rank) {
      const Room<T> own = returned(rank, hops);
      dq.push_back(cast<double>(dq_[rank]));
      dk.push_back(cast<double>(read_as(own.dk, ranks_[rank].q.shape(), T{0})));
      dv.push_back(cast<double>(read_as(own.dv, ranks_[rank].q.shape(), T{0})));
    }
    return {{"dq", concatenate(dq, 1)}, {"dk", concatenate(dk, 1)}, {"dv", concatenate(dv, 1)}};
  }

 private:
  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();

  int world_size() const { return static_cast<int>(shard_tokens_.size()); }
  int owner(int rank, int step) const { return ((rank - step) % world_size() + world_size()) % world_size(); }
  Index block_size(int of) const { return ranks_[of].q.size(); }

  /// Where a rank holds gradients after `step` hops.
  Room<T>& room(int rank, int step) {
    if (steps_.gradients == Gradients::StayWhereComputed) return rooms_[rank][0];
    return rooms_[rank][step == 0 && !steps_.own_in_room ? 2 : step % 2];
  }

  void work(int step) {
    for (int rank = 0; rank < world_size(); ++rank) {
      const int of = owner(rank, step);
      const TensorOf<T>& block_k = ranks_[steps_.k_travels ? of : rank].k;
      const TensorOf<T>& block_v = ranks_[steps_.v_travels ? of : rank].v;
      const Share<T> share = ranks_[rank].share(block_k, read_as(block_v.values(), block_k.shape(), T{0}));
      if (steps_.dq_overwritten) std::ranges::fill(dq_[rank].values(), T{0});
      for (Index i = 0; i < share.dq.size(); ++i) dq_[rank][i] += share.dq[i];
      Room<T>& held = room(rank, step);
      if (steps_.dk_dv_overwritten) std::fill_n(held.dk.begin(), share.dk.size(), T{0});
      if (steps_.dk_dv_overwritten) std::fill_n(held.dv.begin(), share.dv.size(), T{0});
      add(held.dk, share.dk);
      add(held.dv, share.dv);
    }
  }

  void pass_on(int step) {
    if (steps_.gradients == Gradients::StayWhereComputed) return;
    std::vector<Room<T>> messages;
    for (int rank = 0; rank < world_size(); ++rank) {
      Room<T> message = room(rank, step);
      message.dk.resize(block_size(owner(rank, step)));
      message.dv.resize(block_size(owner(rank, step)));
      if (steps_.swapped == Swapped::EveryHop) std::swap(message.dk, message.dv);
      messages.push_back(std::move(message));
    }
    for (int rank = 0; rank < world_size(); ++rank) {
      const Room<T>& message = messages[owner(rank, 1)];
      std::ranges::copy(message.dk, room(rank, step + 1).dk.begin());
      std::ranges::copy(message.dv, room(rank, step + 1).dv.begin());
    }
  }

  /// What a rank holds after `hops` hops, with what lies beyond it.
  Room<T> held(int rank, int hops) {
    Room<T> all = room(rank, hops);
    if (steps_.beyond == Beyond::WhatLayThere) return all;
    const T fill = steps_.beyond == Beyond::Nan ? nan : T{0};
    const Index length = block_size(owner(rank, hops));
    std::fill(all.dk.begin() + length, all.dk.end(), fill);
    std::fill(all.dv.begin() + length, all.dv.end(), fill);
    return all;
  }

  Room<T> returned(int rank, int hops) {
    Room<T> own = held(rank, hops);
    if (steps_.swapped == Swapped::AtTheEnd) std::swap(own.dk, own.dv);
    if (steps_.returned == Returned::Received || hops == 0) return own;
    const Room<T> sent = held(rank, hops - 1);
    if (steps_.returned == Returned::FirstsOfPair) return {own.dk, sent.dk};
    Room<T> sums = own;
    for (std::size_t i = 0; i < own.dk.size(); ++i) {
      sums.dk[i] = own.dk[i] + own.dv[i];
      sums.dv[i] = sent.dk[i] + sent.dv[i];
    }
    return sums;
  }

  const Steps steps_;
  const std::vector<int>& shard_tokens_;
  std::vector<Rank<T>> ranks_;
  std::vector<TensorOf<T>> dq_;
  std::vector<std::array<Room<T>, 3>> rooms_;  ///< by rank: two in turn, and one for a block's first share
};

Mistake wrong(std::string id, const Steps& steps) {
  return {std::move(id), [steps](const Example& example) { return run(steps, example); }};
}

/// The answers that end with another block's gradients, whose lengths differ: with whatever is read beyond.
void add_with_lengths(std::vector<Mistake>& all, const std::string& id, Steps steps) {
  for (const bool own_in_room : {false, true}) {
    steps.own_in_room = own_in_room;
    all.push_back(wrong(id, steps));
  }
  for (const Beyond beyond : {Beyond::Zeros, Beyond::Nan}) {
    steps.beyond = beyond;
    all.push_back(wrong(id, steps));
  }
}

/// dk and dv hold what this rank's own queries gave to its own block, and nobody else's share.
Answer own_share_only(const Example& example) {
  Answer answer = run({}, example);
  std::vector<Tensor64> dk, dv;
  for (int rank = 0; rank < example.ranks(); ++rank) {
    const Rank<double> own(example, rank, true);
    Share<double> share = own.share(own.k, own.v);
    dk.push_back(std::move(share.dk));
    dv.push_back(std::move(share.dv));
  }
  answer["dk"] = concatenate(dk, 1);
  answer["dv"] = concatenate(dv, 1);
  return answer;
}

}  // namespace

Example make_example(std::string what, const std::vector<int>& shard_tokens, QKV qkv, Tensor d_o) {
  const reference::Attention<double> forward =
      reference::attention(cast<double>(qkv.q), cast<double>(qkv.k), cast<double>(qkv.v));
  return {std::move(what),
          {{"q", std::move(qkv.q)},
           {"k", std::move(qkv.k)},
           {"v", std::move(qkv.v)},
           {"o", cast<float>(forward.o)},
           {"lse", cast<float>(forward.lse)},
           {"d_o", std::move(d_o)}},
          {{"shard_tokens", {shard_tokens.begin(), shard_tokens.end()}}},
          shard_tokens};
}

Example with_gradient(InputGenerator& generator, Example forward) {
  const auto take = [&](const char* name) { return std::move(forward.inputs.at(name)); };
  QKV qkv{take("q"), take("k"), take("v")};
  Tensor d_o = generator.normal(qkv.q.shape());
  Example example =
      make_example(std::move(forward.what), forward.shard_tokens, std::move(qkv), std::move(d_o));
  example.large = forward.large;
  return example;
}

Example real_example(InputGenerator& generator, std::string what, const std::vector<int>& shard_tokens,
                     const std::vector<Index>& heads, Index every, float q_factor) {
  const int tokens = total_tokens(shard_tokens);
  const Index first = generator.integer(0, 512 - tokens);
  QKV qkv = minilm_qkv(first, tokens, heads);
  for (Index i = 0; i < qkv.q.size(); ++i) {
    if (i / qkv.q.extent(2) % every == 0) qkv.q[i] *= q_factor;
  }
  return make_example(std::move(what), shard_tokens, std::move(qkv), minilm_d_o(first, tokens, heads));
}

AttentionProblem problem(const Example& example) {
  return {input(example, "q"),
          input(example, "k"),
          input(example, "v"),
          input(example, "d_o"),
          Tensor64(example.inputs.at("lse").shape()),
          {}};
}

Answer expected(const Example& example) {
  Gradients64 right = reference::attention_gradients(input(example, "q"), input(example, "k"),
                                                     input(example, "v"), input(example, "d_o"));
  return {{"dq", std::move(right.dq)}, {"dk", std::move(right.dk)}, {"dv", std::move(right.dv)}};
}

Answer run(const Steps& steps, const Example& example) {
  return Ring<double>(example, steps).answer();
}

Answer baseline(const Example& example) {
  return Ring<float>(example, {}).answer();
}

std::vector<Mistake> mistakes(const std::set<std::string>& ids) {
  std::vector<Mistake> all{
      wrong("dk_dv_kept_local", {.gradients = Gradients::StayWhereComputed}),
      {"own_share_only", own_share_only},
      wrong("dk_and_dv_swapped", {.swapped = Swapped::AtTheEnd}),
      wrong("dk_and_dv_swapped", {.swapped = Swapped::EveryHop}),
      wrong("overwritten_not_accumulated", {.dk_dv_overwritten = true}),
      wrong("overwritten_not_accumulated", {.dq_overwritten = true}),
      wrong("overwritten_not_accumulated", {.dk_dv_overwritten = true, .dq_overwritten = true}),
      wrong("own_block_every_time", {.k_travels = false, .v_travels = false}),
      wrong("v_left_behind", {.v_travels = false}),
      wrong("one_block_short", {.blocks = -1}),
      wrong("one_block_short", {.blocks = -1, .gradient_hops = -1}),
      wrong("delta_left_out", {.delta = false}),
      wrong("sums_not_cleared", {.dq_cleared = false}),
      wrong("sums_not_cleared", {.dk_dv_cleared = false}),
      wrong("sums_not_cleared", {.dq_cleared = false, .dk_dv_cleared = false})};
  add_with_lengths(all, "one_hop_short_of_home", {.gradient_hops = -1});
  add_with_lengths(all, "received_and_sent", {.returned = Returned::SumsOfPair});
  add_with_lengths(all, "received_and_sent", {.returned = Returned::FirstsOfPair});
  std::erase_if(all, [&](const Mistake& mistake) { return !ids.contains(mistake.id); });
  return all;
}

}  // namespace course::ring_backward
