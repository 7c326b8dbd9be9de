#include "judge/attention/ring_backward.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/ring_forward.hpp"
#include "judge/communication_checks.hpp"
#include "judge/numbers/dot.hpp"
#include "reference/reference.hpp"
#include "ring/shards.hpp"

namespace course::ring_backward {

namespace {

using log_reading::holder;

/// Where dk and dv change places.
enum class Swapped { Nowhere, AtTheEnd, EveryHop };

/// What is read beyond a block in memory that is longer.
enum class Beyond { WhatLayThere, Zeros, Nan };

/// What is returned for dk and dv, of the pair that the last hop leaves: the gradients received, a rank's
/// own, and those sent, the next rank's.
enum class Returned {
  Received,      ///< as it should be
  SumsOfPair,    ///< dk = the received dk + dv, dv = the sent dk + dv
  FirstsOfPair,  ///< dk = the received dk, dv = the sent dk
};

/// The backward ring's steps as switches.
struct Steps {
  bool k_travels = true;
  bool v_travels = true;
  bool gradients_travel = true;  ///< else dk and dv stay where they are computed
  int blocks = 0;                ///< of work beyond P, not below one
  int gradient_hops = 0;         ///< beyond P; none at P = 1
  bool dk_dv_overwritten = false;
  bool dq_overwritten = false;
  bool dq_cleared = true;  ///< else gradients start as NaN
  bool dk_dv_cleared = true;
  bool delta = true;  ///< else it is left out
  Swapped swapped = Swapped::Nowhere;
  Returned returned = Returned::Received;
  bool own_in_room = false;  ///< whether a block's first share lies where another block's comes later
  Beyond beyond = Beyond::WhatLayThere;
};

Tensor64 input(const Example& example, const char* name) {
  return cast<double>(example.inputs.at(name));
}

/// As many numbers as `shape` has, from the front of `numbers`; 0 where there are none.
template <class T>
TensorOf<T> read_as(const std::vector<T>& numbers, const Shape& shape) {
  TensorOf<T> read(shape);
  std::copy_n(numbers.begin(), std::min<Index>(std::ssize(numbers), read.size()), read.data());
  return read;
}

template <class T>
void add_scaled(std::span<T> to, T factor, std::span<const T> from) {
  for (std::size_t c = 0; c < to.size(); ++c) to[c] += factor * from[c];
}

/// dk and dv.
template <class T>
using Pair = std::array<std::vector<T>, 2>;

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
    for (Index i = 0; with_delta && i < delta.size(); ++i)
      delta[i] = dot<T>(rows_of(o).row(i), rows_of(d_o).row(i));
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
    return cast<T>(example.layout.shard(example.inputs.at(name), 1, rank));
  }
  static MatrixView<const T> rows_of(const TensorOf<T>& x) {
    return {x.data(), x.extent(0) * x.extent(1), x.extent(2)};
  }
};

/// All ranks, hop by hop. A rank holds a block's gradients in one of two rooms in turn, each as long as the
/// largest block.
template <class T>
class Ring {
 public:
  Ring(const Example& example, const Steps& steps) : steps_(steps), layout_(example.layout) {
    const Tensor& q = example.inputs.at("q");
    const std::size_t length = q.extent(0) * largest_shard(layout_.shard_tokens()) * q.extent(2);
    const std::vector<T> zeros(length), start(length, steps.dk_dv_cleared ? T{0} : nan);
    for (int rank = 0; rank < world_size(); ++rank) {
      ranks_.emplace_back(example, rank, steps.delta);
      dq_.emplace_back(ranks_[rank].q.shape(), steps.dq_cleared ? T{0} : nan);
      rooms_.push_back({Pair<T>{zeros, zeros}, {zeros, zeros}, {zeros, zeros}});
      room(rank, 0) = {start, start};
    }
  }

  Answer answer() {
    const int blocks = std::max(1, world_size() + steps_.blocks);
    const int hops = world_size() == 1 ? 0 : world_size() + steps_.gradient_hops;
    for (int step = 0; step < std::max(blocks, hops); ++step) {
      if (step < blocks) work(step);
      if (step < hops && steps_.gradients_travel) pass_on(step);
    }
    std::vector<Tensor64> dq, dk, dv;
    for (int rank = 0; rank < world_size(); ++rank) {
      const Pair<T> own = returned(rank, hops);
      dq.push_back(cast<double>(dq_[rank]));
      dk.push_back(cast<double>(read_as(own[0], ranks_[rank].q.shape())));
      dv.push_back(cast<double>(read_as(own[1], ranks_[rank].q.shape())));
    }
    return {{"dq", layout_.join(dq, 1)}, {"dk", layout_.join(dk, 1)}, {"dv", layout_.join(dv, 1)}};
  }

 private:
  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();

  int world_size() const { return layout_.ranks(); }
  /// How long the block is that a rank holds after `step` hops.
  Index held_size(int rank, int step) const { return ranks_[holder(rank, step, world_size())].q.size(); }

  /// Where a rank holds gradients after `step` hops.
  Pair<T>& room(int rank, int step) {
    if (!steps_.gradients_travel) return rooms_[rank][0];
    return rooms_[rank][step == 0 && !steps_.own_in_room ? 2 : step % 2];
  }

  void work(int step) {
    for (int rank = 0; rank < world_size(); ++rank) {
      const int of = holder(rank, step, world_size());
      const TensorOf<T>& block_k = ranks_[steps_.k_travels ? of : rank].k;
      const TensorOf<T>& block_v = ranks_[steps_.v_travels ? of : rank].v;
      const Share<T> share = ranks_[rank].share(block_k, read_as(block_v.values(), block_k.shape()));
      add(dq_[rank].values(), share.dq, steps_.dq_overwritten);
      add(room(rank, step)[0], share.dk, steps_.dk_dv_overwritten);
      add(room(rank, step)[1], share.dv, steps_.dk_dv_overwritten);
    }
  }

  static void add(std::vector<T>& to, const TensorOf<T>& share, bool overwritten) {
    for (Index i = 0; i < share.size(); ++i) to[i] = (overwritten ? T{0} : to[i]) + share[i];
  }

  void pass_on(int step) {
    std::vector<Pair<T>> messages;
    for (int rank = 0; rank < world_size(); ++rank) {
      Pair<T> message = room(rank, step);
      for (std::vector<T>& gradient : message) gradient.resize(held_size(rank, step));
      if (steps_.swapped == Swapped::EveryHop) std::swap(message[0], message[1]);
      messages.push_back(std::move(message));
    }
    for (int rank = 0; rank < world_size(); ++rank) {
      for (const int x : {0, 1})
        std::ranges::copy(messages[holder(rank, 1, world_size())][x], room(rank, step + 1)[x].begin());
    }
  }

  /// What a rank holds after `hops` hops, with what lies beyond it.
  Pair<T> held(int rank, int hops) {
    Pair<T> all = room(rank, hops);
    if (steps_.beyond == Beyond::WhatLayThere) return all;
    for (std::vector<T>& gradient : all)
      std::fill(gradient.begin() + held_size(rank, hops), gradient.end(),
                steps_.beyond == Beyond::Nan ? nan : T{0});
    return all;
  }

  Pair<T> returned(int rank, int hops) {
    Pair<T> own = held(rank, hops);
    if (steps_.swapped == Swapped::AtTheEnd) std::swap(own[0], own[1]);
    if (steps_.returned == Returned::Received || hops == 0) return own;
    const Pair<T> sent = held(rank, hops - 1);
    if (steps_.returned == Returned::FirstsOfPair) return {own[0], sent[0]};
    return {sum(own), sum(sent)};
  }

  static std::vector<T> sum(Pair<T> of) {
    add_scaled<T>(of[0], 1, of[1]);
    return of[0];
  }

  const Steps steps_;
  const Layout& layout_;
  std::vector<Rank<T>> ranks_;
  std::vector<TensorOf<T>> dq_;
  std::vector<std::array<Pair<T>, 3>> rooms_;  ///< by rank: two in turn, and one for a block's first share
};

/// The gradients by these steps, from the o and lse that the student is given.
Answer run(const Steps& steps, const Example& example) {
  return Ring<double>(example, steps).answer();
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
  answer["dk"] = example.layout.join(dk, 1);
  answer["dv"] = example.layout.join(dv, 1);
  return answer;
}

std::vector<Mistake> known_mistakes() {
  std::vector<Mistake> all{{"own_share_only", own_share_only}};
  const auto add = [&](std::string id, const Steps& steps) {
    all.push_back({std::move(id), [steps](const Example& example) { return run(steps, example); }});
  };
  add("dk_dv_kept_local", {.gradients_travel = false});
  add("dk_and_dv_swapped", {.swapped = Swapped::AtTheEnd});
  add("dk_and_dv_swapped", {.swapped = Swapped::EveryHop});
  add("overwritten_not_accumulated", {.dk_dv_overwritten = true});
  add("overwritten_not_accumulated", {.dq_overwritten = true});
  add("overwritten_not_accumulated", {.dk_dv_overwritten = true, .dq_overwritten = true});
  add("own_block_every_time", {.k_travels = false, .v_travels = false});
  add("v_left_behind", {.v_travels = false});
  add("one_block_short", {.blocks = -1});
  add("one_block_short", {.blocks = -1, .gradient_hops = -1});
  add("delta_left_out", {.delta = false});
  add("sums_not_cleared", {.dq_cleared = false});
  add("sums_not_cleared", {.dk_dv_cleared = false});
  add("sums_not_cleared", {.dq_cleared = false, .dk_dv_cleared = false});
  // These end with another block's gradients, whose lengths differ: with whatever is read beyond.
  for (const auto& [own_in_room, beyond] : {std::pair{false, Beyond::WhatLayThere},
                                            {true, Beyond::WhatLayThere},
                                            {true, Beyond::Zeros},
                                            {true, Beyond::Nan}}) {
    add("one_hop_short_of_home", {.gradient_hops = -1, .own_in_room = own_in_room, .beyond = beyond});
    for (const Returned returned : {Returned::SumsOfPair, Returned::FirstsOfPair})
      add("received_and_sent", {.returned = returned, .own_in_room = own_in_room, .beyond = beyond});
  }
  return all;
}

/// Every third query steep: its scores lie more than 110 apart. Next to all of its weight is on one key, its
/// own gradient cancels, and float32 keeps nothing of it; the queries between keep the sums away from zero.
QKV with_steep_queries(QKV qkv) {
  const double root_dim = std::sqrt(static_cast<double>(qkv.q.extent(2)));
  for (Index head = 0; head < qkv.q.extent(0); ++head) {
    for (Index i = 0; i < qkv.q.extent(1); i += 3) {
      const std::span<float> query = qkv.q.heads().head(head).row(i);
      double low = std::numeric_limits<double>::max();
      double high = std::numeric_limits<double>::lowest();
      for (Index j = 0; j < qkv.k.extent(1); ++j) {
        const std::span<const float> key = qkv.k.heads().head(head).row(j);
        const double score = std::inner_product(query.begin(), query.end(), key.begin(), 0.0) / root_dim;
        low = std::min(low, score);
        high = std::max(high, score);
      }
      for (float& entry : query) entry *= static_cast<float>(120 / std::max(high - low, 1e-3));
    }
  }
  return qkv;
}

std::int64_t bytes_of_a_ring(const Example& example, int) {
  return checks::bytes_of_hops(checks::backward_hops, example);
}

/// With a right answer, so that it is not the gradients that went too far.
bool made_one_hop_more(const Task& task, const Example& example, const Outcome& outcome) {
  return checks::sent_one_hop_more(checks::backward_hops, 3)(example, outcome) &&
         is_right(compare(task, example, task.expected(example), outcome));
}

/// Two more blocks with their gradients, and as much again for copies that MPI itself or a message of several
/// tensors takes.
std::int64_t memory_of_a_ring(const Example& example) {
  return checks::memory_of_blocks(example, 2 * (2 * 2 + 1));
}

/// A tolerance must be far below the gradient's own norm, or zeros would pass.
constexpr double largest_tolerance = 3e-2;

}  // namespace

Example make_example(std::string what, const Layout& layout, QKV qkv, Tensor d_o) {
  const std::vector<int> tokens = layout.shard_tokens();
  const reference::Attention<double> forward =
      reference::attention(cast<double>(qkv.q), cast<double>(qkv.k), cast<double>(qkv.v));
  return {std::move(what),
          {{"q", std::move(qkv.q)},
           {"k", std::move(qkv.k)},
           {"v", std::move(qkv.v)},
           {"o", cast<float>(forward.o)},
           {"lse", cast<float>(forward.lse)},
           {"d_o", std::move(d_o)}},
          {{"shard_tokens", {tokens.begin(), tokens.end()}}},
          layout};
}

Example with_gradient(InputGenerator& generator, Example forward) {
  const auto take = [&](const char* name) { return std::move(forward.inputs.at(name)); };
  QKV qkv{take("q"), take("k"), take("v")};
  Tensor d_o = generator.normal(qkv.q.shape());
  Example example = make_example(std::move(forward.what), forward.layout, std::move(qkv), std::move(d_o));
  example.large = forward.large;
  return example;
}

Example real_example(InputGenerator& generator, std::string what, const Layout& layout,
                     const std::vector<Index>& heads, Index every, float q_factor) {
  const int tokens = layout.tokens();
  const Index first = generator.integer(0, 512 - tokens);
  QKV qkv = minilm_qkv(first, tokens, heads);
  for (Index i = 0; i < qkv.q.size(); ++i) {
    if (i / qkv.q.extent(2) % every == 0) qkv.q[i] *= q_factor;
  }
  return make_example(std::move(what), layout, std::move(qkv), minilm_d_o(first, tokens, heads));
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
  return right_gradients(problem(example));
}

Answer cancellation_free(const Example& example) {
  return cancellation_free_gradients(problem(example));
}

Answer baseline(const Example& example) {
  return Ring<float>(example, {}).answer();
}

std::vector<Example> examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  const auto add = [&](std::string what, const std::vector<int>& shards, QKV qkv) {
    Tensor d_o = generator.normal(qkv.q.shape());
    all.push_back(make_example(std::move(what), shards, std::move(qkv), std::move(d_o)));
  };
  for (Example& forward : ring_forward::on_all_kinds_of_shards(generator, ranks, 2))
    all.push_back(with_gradient(generator, std::move(forward)));
  std::vector<int> shards = unequal_shards(generator, ranks);
  shards[generator.integer(0, ranks - 1)] += 12;
  const int n = total_tokens(shards);
  add("queries whose scores are more than 110 apart", shards,
      with_steep_queries(random_qkv(generator, 2, n, n, 6)));
  add("scores near -150", shards, very_negative_qkv(generator, 2, n, n, 5, -150));
  add("scores near -300", shards, very_negative_qkv(generator, 2, n, n, 5, -300));
  const auto add_real = [&](std::string what, int tokens, Index every, float q_factor) {
    all.push_back(real_example(generator, std::move(what), even_shards(tokens, ranks),
                               two_real_heads(generator), every, q_factor));
  };
  add_real("real q, k, v and d_o", 53, 1, 1);
  // Were all queries doubled, most of the weight would be on one key, and the gradient of a whole head
  // would cancel.
  add_real("real q, k, v and d_o with every third query doubled", 96, 3, 2);
  for (Example& large : ring_forward::with_large_blocks(generator, ranks))
    all.push_back(with_gradient(generator, std::move(large)));
  return all;
}

Task task(std::string id, std::string function) {
  return {
      .id = std::move(id),
      .function = std::move(function),
      .outputs = {{"dq", {"head", "row", "col"}, 1},
                  {"dk", {"head", "row", "col"}, 1},
                  {"dv", {"head", "row", "col"}, 1}},
      .examples = examples,
      .expected = expected,
      .baseline = baseline,
      .cancellation_free = cancellation_free,
      .mistakes = known_mistakes(),
      .of_family = true,
      .answer_checks = {passes_gradient_checks(problem), is_right_on_every_rank},
      .split_axis = {{"q", 1}, {"k", 1}, {"v", 1}, {"o", 1}, {"lse", 1}, {"d_o", 1}},
      .logs = {{block_log::output, block_log::columns}},
      .largest_tolerance = largest_tolerance,
      .mistakes_cancel = true,
      .explain = log_reading::explaining("look at where dk and dv go between them, and how they come home")};
}

std::vector<CommunicationCheck> blocking_checks(const Task& task) {
  using namespace checks;
  const auto one_hop_more = [task](const Example& example, const Outcome& outcome) {
    return made_one_hop_more(task, example, outcome);
  };
  std::vector<CommunicationCheck> all =
      blocking_ring(first_of({without_fact(fact_world, "world_communicator"),
                              sends_nothing_to_itself("sends_to_itself_alone"),
                              named_if(sends_only_to_next(""), sent_only_to_previous, "wrong_direction"),
                              named_if(sends_at_most(bytes_of_a_ring, ""), one_hop_more, "useless_last_hop"),
                              log_reading::names_the_owners}),
                    memory_of_a_ring);
  all.push_back(deadlocks(waits_for_itself_alone, "sends_to_itself_alone"));
  return all;
}

}  // namespace course::ring_backward
