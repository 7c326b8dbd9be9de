#include "judge/attention/ring/ring_backward_steps.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/backward.hpp"
#include "ring/shards.hpp"

namespace course::ring_backward {

namespace {

using log_reading::holder;

/// As many numbers as `shape` has, from the front of `numbers`; 0 where there are none.
template <class T>
TensorOf<T> read_as(const std::vector<T>& numbers, const Shape& shape) {
  TensorOf<T> read(shape);
  std::copy_n(numbers.begin(), std::min<Index>(std::ssize(numbers), read.size()), read.data());
  return read;
}

/// dk and dv.
template <class T>
using Pair = std::array<std::vector<T>, 2>;

/// One rank's tensors.
template <class T>
struct Rank {
  TensorOf<T> q, k, v, o, d_o, lse;

  /// What its queries give to the gradients of one block, of which each sees some keys.
  reference::AttentionGradients<T> share(const TensorOf<T>& block_k, const TensorOf<T>& block_v,
                                         const std::vector<KeyRange>& seen, Delta how) const {
    reference::AttentionGradients<T> made{TensorOf<T>(q.shape()), TensorOf<T>(block_k.shape()),
                                          TensorOf<T>(block_k.shape())};
    for (Index head = 0; head < q.extent(0); ++head) {
      const auto of = [head](auto& tensor) { return tensor.heads().head(head); };
      const DenseHead<T> one{of(q), of(block_k), of(block_v), of(o), of(d_o), lse.matrix().row(head)};
      for (Index i = 0; i < q.extent(1); ++i) {
        const T delta = given_delta(how, head, i);
        const T lse_i = how == Delta::ForLse ? one.delta(i) : one.lse[i];
        if (lse_i == -std::numeric_limits<T>::infinity()) continue;
        for (Index j = seen[i].first; j < seen[i].last; ++j) {
          const T weight = std::exp(one.s(i, j) - lse_i);
          const T scaled_ds = one.scale * weight * (one.dp(i, j) - delta);
          add_scaled(of(made.dv).row(j), weight, one.d_o.row(i));
          add_scaled(of(made.dq).row(i), scaled_ds, one.k.row(j));
          add_scaled(of(made.dk).row(j), scaled_ds, one.q.row(i));
        }
      }
    }
    return made;
  }

  /// What query i of a head is given as D.
  T given_delta(Delta how, Index head, Index i) const {
    const auto of = [this](Index h, Index row) {
      return dot<T>(o.heads().head(h).row(row), d_o.heads().head(h).row(row));
    };
    const Index place = head * q.extent(1) + i;
    switch (how) {
      case Delta::Right:
        return of(head, i);
      case Delta::LeftOut:
        return 0;
      case Delta::OfFirstHead:
        return of(0, i);
      case Delta::ForLse:
        return lse.matrix()(head, i);
      case Delta::ByQuery:
        return of(place % q.extent(0), place / q.extent(0));
    }
    throw std::logic_error("no such delta");
  }
};

/// Adds to the tensor of x [heads, tokens, head_dim] in `to` what x has of these tokens.
template <class T>
void add_by_token(std::vector<T>& to, Index tokens, const TensorOf<T>& x) {
  const HeadsView<T> sum(to.data(), x.extent(0), tokens, x.extent(2));
  for (Index head = 0; head < sum.heads(); ++head) {
    for (Index i = 0; i < std::min(tokens, x.extent(1)); ++i)
      add_scaled(sum.head(head).row(i), T{1}, x.heads().head(head).row(i));
  }
}

/// All ranks, hop by hop. A rank holds a block's gradients in one of two rooms in turn, each as long as the
/// largest block.
template <class T>
class Ring {
 public:
  Ring(const Example& example, const Steps& steps)
      : steps_(steps), example_(example), layout_(example.layout) {
    const Tensor& q = example.inputs.at("q");
    const std::size_t length = q.extent(0) * largest_shard(layout_.shard_tokens()) * q.extent(2);
    const std::vector<T> zeros(length), start(length, static_cast<T>(steps.dk_dv_start));
    for (int rank = 0; rank < world_size(); ++rank) {
      const auto own = [&](const char* name) {
        return cast<T>(layout_.shard(example.inputs.at(name), 1, rank));
      };
      ranks_.push_back({own("q"), own("k"), own("v"), own("o"), own("d_o"), own("lse")});
      dq_.emplace_back(ranks_[rank].q.shape(), static_cast<T>(steps.dq_start));
      const Pair<T> empty{zeros, zeros};
      rooms_.push_back({empty, empty, empty});
      shares_.push_back(empty);
      for (const int x : {0, 1}) room(rank, 0, x) = start;
    }
  }

  Answer answer() {
    const int alone = steps_.own_again_alone ? 2 : 1;
    const int blocks = world_size() == 1 ? alone : std::max(1, world_size() + steps_.blocks);
    const int hops = world_size() == 1 ? 0 : world_size() + steps_.gradient_hops;
    for (int step = 0; step < std::max(blocks, hops); ++step) {
      if (step < blocks && !(steps_.share_to_block_before && step > 0)) work(step, std::min(step, hops));
      if (steps_.share_to_block_before && step + 1 < blocks) work(step + 1, step);
      if (step < hops) pass_on(step);
    }
    std::vector<Tensor64> dq, dk, dv;
    for (int rank = 0; rank < world_size(); ++rank) {
      Pair<T> own = returned(rank, hops);
      for (std::vector<T>& gradient : own) average(gradient, steps_.dk_dv_averaged);
      average(dq_[rank].values(), steps_.dq_averaged);
      dq.push_back(cast<double>(dq_[rank]));
      dk.push_back(cast<double>(read_as(own[0], ranks_[rank].q.shape())));
      dv.push_back(cast<double>(read_as(own[1], ranks_[rank].q.shape())));
    }
    return {{"dq", layout_.join(dq, 1)}, {"dk", layout_.join(dk, 1)}, {"dv", layout_.join(dv, 1)}};
  }

 private:
  int world_size() const { return layout_.ranks(); }
  /// Numbers that nobody wrote stay as they are, to the bit.
  void average(std::span<T> gradient, bool is_averaged) const {
    if (!is_averaged) return;
    for (T& x : gradient) x /= static_cast<T>(world_size());
  }
  /// How long the block is that a rank holds after `step` hops.
  Index held_size(int rank, int step) const { return ranks_[holder(example_, rank, step)].q.size(); }

  bool travels(int x) const { return x == 0 ? steps_.dk_travels : steps_.dv_travels; }

  /// Where a rank holds dk (x = 0) or dv (x = 1) after `step` hops.
  std::vector<T>& room(int rank, int step, int x) {
    if (!travels(x)) return rooms_[rank][0][x];
    return rooms_[rank][step == 0 && !steps_.own_in_room ? 2 : step % 2][x];
  }
  Pair<T> both(int rank, int step) { return {room(rank, step, 0), room(rank, step, 1)}; }

  /// How often a rank's share of the block that it holds after `step` hops is added.
  int times_added(int step) const {
    if (world_size() == 1) return 1;
    if (step == 0 && steps_.shares == Shares::OwnTwice) return 2;
    const bool lost = (step == 0 && steps_.shares == Shares::OwnLost) ||
                      (step == world_size() - 1 && steps_.shares == Shares::LastLost);
    return lost ? 0 : 1;
  }

  /// Computes what is held after `step` hops of keys and values; the share enters what is held after `sums`
  /// hops of gradients.
  void work(int step, int sums) {
    for (int rank = 0; rank < world_size(); ++rank) {
      const int of = holder(example_, rank, step);
      const TensorOf<T>& block_k = ranks_[steps_.k_travels ? of : rank].k;
      const TensorOf<T>& block_v = ranks_[steps_.v_travels ? of : rank].v;
      const reference::AttentionGradients<T> share = ranks_[rank].share(
          block_k, read_as(block_v.values(), block_k.shape()),
          ring_mask::seen(example_, rank, of, block_k.extent(1), steps_.mask), steps_.delta);
      add(dq_[rank].values(), share.dq.values(), steps_.dq_overwritten);
      if (steps_.skipped_blocks != SkippedBlocks::GetNothing) {
        enter_from_room(rank, of, sums, share);
        continue;
      }
      if (of != rank && !steps_.others_blocks) continue;
      const bool exchanged = steps_.swapped == (of == rank ? Swapped::OwnShare : Swapped::OtherShares);
      for (int i = 0; i < times_added(step); ++i) {
        enter(rank, sums, exchanged ? 1 : 0, share.dk);
        enter(rank, sums, exchanged ? 0 : 1, share.dv);
      }
    }
  }

  static void add(std::vector<T>& to, std::span<const T> share, bool overwritten = false) {
    for (std::size_t i = 0; i < share.size(); ++i) to[i] = (overwritten ? T{0} : to[i]) + share[i];
  }

  /// Adds a share to the sum of its block's dk (x = 0) or dv (x = 1).
  void enter(int rank, int step, int x, const TensorOf<T>& share) {
    std::vector<T>& sum = room(rank, step, x);
    if (steps_.by_token) return add_by_token(sum, ranks_[rank].q.extent(1), share);
    if (leftover(x) != Leftover::Shares) return add(sum, share.values(), steps_.dk_dv_overwritten);
    std::vector<T>& all = shares_[rank][x];
    add(all, share.values());
    add(sum, std::span<const T>(all).first(share.values().size()));
  }

  /// Adds the share of the block of rank `of` by way of a room of the rank's own.
  void enter_from_room(int rank, int of, int step, const reference::AttentionGradients<T>& share) {
    const std::size_t length = share.dk.values().size();
    for (const int x : {0, 1}) {
      std::vector<T>& last_share = shares_[rank][x];
      if (ring_mask::is_seen(example_, rank, of)) {
        if (steps_.skipped_blocks == SkippedBlocks::GetLastShare) std::ranges::fill(last_share, T{0});
        std::ranges::copy((x == 0 ? share.dk : share.dv).values(), last_share.begin());
      }
      add(room(rank, step, x), std::span<const T>(last_share).first(length));
    }
  }

  Leftover leftover(int x) const { return x == 0 ? steps_.leftover_dk : steps_.leftover_dv; }
  Brought brought(int step) const { return step == world_size() - 1 ? steps_.at_home : steps_.at_hops; }

  void pass_on(int step) {
    std::vector<Pair<T>> messages;
    for (int rank = 0; rank < world_size(); ++rank) {
      Pair<T> message = both(rank, step);
      for (std::vector<T>& gradient : message) gradient.resize(held_size(rank, step));
      const Swapped here = step == world_size() - 1 ? Swapped::LastHop : Swapped::OtherHops;
      if (steps_.swapped == Swapped::EveryHop || steps_.swapped == here) std::swap(message[0], message[1]);
      if (brought(step) == Brought::DkTwice) message[1] = message[0];
      if (brought(step) == Brought::DvTwice) message[0] = message[1];
      if (brought(step) == Brought::DvForDk) message = {std::move(message[1]), {}};
      messages.push_back(std::move(message));
    }
    for (int rank = 0; rank < world_size(); ++rank) {
      for (const int x : {0, 1}) receive(rank, step, x, messages[holder(example_, rank, 1)][x]);
    }
  }

  void receive(int rank, int step, int x, const std::vector<T>& message) {
    if (!travels(x)) return;
    std::vector<T>& to = room(rank, step + 1, x);
    if (leftover(x) == Leftover::Sum && step + 1 < world_size()) return add(to, message);
    std::ranges::copy(message, to.begin());
  }

  /// What a rank holds after `hops` hops, with what lies beyond it.
  Pair<T> held(int rank, int hops) {
    Pair<T> all = both(rank, hops);
    if (!steps_.beyond) return all;
    for (std::vector<T>& gradient : all)
      std::fill(gradient.begin() + held_size(rank, hops), gradient.end(), static_cast<T>(*steps_.beyond));
    return all;
  }

  /// What the output dv holds before the last hop: the first share, unless that lies elsewhere.
  std::vector<T> before_home(int rank) {
    if (!steps_.own_in_room) return room(rank, 0, 1);
    return std::vector<T>(room(rank, 0, 1).size(), static_cast<T>(steps_.beyond.value_or(0)));
  }

  Pair<T> returned(int rank, int hops) {
    Pair<T> own = held(rank, hops);
    if (steps_.swapped == Swapped::AtTheEnd) std::swap(own[0], own[1]);
    if (hops == world_size() && steps_.at_home == Brought::DvForDk) own[1] = before_home(rank);
    if (steps_.returned == Returned::Received || hops == 0) return own;
    if (steps_.returned == Returned::KeysValues) return {ranks_[rank].k.values(), ranks_[rank].v.values()};
    const Pair<T> sent = held(rank, hops - 1);
    if (steps_.returned == Returned::FirstsOfPair) return {own[0], sent[0]};
    const auto sum = [](Pair<T> of) { return add_scaled<T>(of[0], 1, of[1]), of[0]; };
    return {sum(own), sum(sent)};
  }

  const Steps steps_;
  const Example& example_;
  const Layout& layout_;
  std::vector<Rank<T>> ranks_;
  std::vector<TensorOf<T>> dq_;
  std::vector<std::array<Pair<T>, 3>> rooms_;  ///< by rank: two in turn, and one for a block's first share
  std::vector<Pair<T>> shares_;                ///< by rank: all shares so far, or the last
};

}  // namespace

template <class T>
Answer gradients(const Steps& steps, const Example& example) {
  return Ring<T>(example, steps).answer();
}

template Answer gradients<float>(const Steps&, const Example&);
template Answer gradients<double>(const Steps&, const Example&);

}  // namespace course::ring_backward
