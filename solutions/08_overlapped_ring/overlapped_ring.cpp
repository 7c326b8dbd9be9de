#include "overlapped_ring.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson08 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

TokensToHide tokens_to_hide(const Setup& setup) {
  //> task 1
  //| // Write both times down for c tokens a rank: which grows with c, and which with its square?
  //| // What travels backwards beside keys and values?
  //| throw course::NotImplemented("task 1, tokens_to_hide");
  const double scores = setup.query_heads * (setup.causal ? 0.5 : 1.0);  // times n^2
  const double rows = 2 * setup.key_heads;                               // times n: of k, and of v
  const auto tokens = [&](double operations, double bytes) {
    return (rows * bytes / setup.bytes_per_s) / (scores * operations / setup.flops_per_s);
  };
  return {tokens(4, setup.element_bytes), tokens(10, setup.element_bytes + setup.gradient_bytes)};
  //< task 1
}

//> task 2
namespace {

struct Ring {
  explicit Ring(MPI_Comm communicator) : comm(communicator) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &world_size);
  }
  int next() const { return (rank + 1) % world_size; }
  int previous() const { return (rank + world_size - 1) % world_size; }
  /// Whose block is here after so many hops, hop <= world_size.
  int owner(int hop) const { return (rank + world_size - hop) % world_size; }

  MPI_Comm comm;
  int rank = 0;
  int world_size = 0;
};

/// What travels, as message tags: a standstill or a mix-up is then told apart by name.
enum Tag { keys, values, key_gradients, value_gradients };

/// The transfers that are under way.
class Transfers {
 public:
  explicit Transfers(const Ring& ring) : ring_(ring) {}

  /// Starts sending `held` to the next rank and filling `arriving` from the previous one. Until wait() has
  /// returned, `held` may only be read and `arriving` not be touched.
  void start(HeadsView<const float> held, HeadsView<float> arriving, Tag tag) {
    MPI_Irecv(arriving.data(), static_cast<int>(arriving.size()), MPI_FLOAT, ring_.previous(), tag,
              ring_.comm, &requests_.emplace_back());
    MPI_Isend(held.data(), static_cast<int>(held.size()), MPI_FLOAT, ring_.next(), tag, ring_.comm,
              &requests_.emplace_back());
  }

  /// Enters the library, so that it moves what it can.
  void progress() {
    int done = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE);
  }

  void wait() {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    requests_.clear();
  }

 private:
  const Ring& ring_;
  std::vector<MPI_Request> requests_;
};

/// Memory for a pair of tensors of any rank's shard: keys and values, or their gradients.
class Room {
 public:
  Room(HeadsView<const float> own, std::span<const int> shard_tokens)
      : heads_(own.heads()),
        head_dim_(own.head_dim()),
        first_(heads_ * head_dim_ * *std::ranges::max_element(shard_tokens)),
        second_(first_.size()) {}

  HeadsView<float> first(Index tokens) { return {first_.data(), heads_, tokens, head_dim_}; }
  HeadsView<float> second(Index tokens) { return {second_.data(), heads_, tokens, head_dim_}; }

 private:
  Index heads_;
  Index head_dim_;
  std::vector<float> first_;
  std::vector<float> second_;
};

}  // namespace

//< task 2
void overlapped_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                               HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                               const course::TiledBlockAttention& block, MPI_Comm comm) {
  //> task 2
  //| // Which transfer can be under way while the own block is computed? When may its buffers be used again?
  //| // Who moves the bytes while you compute? What is left to wait for after the last block?
  //| throw course::NotImplemented("task 2, overlapped_ring_attention");
  const Ring ring(comm);
  std::array<Room, 2> rooms{Room(k, shard_tokens), Room(k, shard_tokens)};
  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  HeadsView<const float> held_k = k;
  HeadsView<const float> held_v = v;
  Transfers transfers(ring);
  for (int hop = 0; hop < ring.world_size; ++hop) {
    const Index arriving_tokens = shard_tokens[ring.owner(hop + 1)];
    const HeadsView<float> arriving_k = rooms[hop % 2].first(arriving_tokens);
    const HeadsView<float> arriving_v = rooms[hop % 2].second(arriving_tokens);
    if (hop + 1 < ring.world_size) {
      transfers.start(held_k, arriving_k, keys);
      transfers.start(held_v, arriving_v, values);
    }
    block.accumulate(q, held_k, held_v, ring.owner(hop), state, [&] { transfers.progress(); });
    transfers.wait();
    held_k = arriving_k;
    held_v = arriving_v;
  }
  block.finish(state, o, lse);
  //< task 2
}

//> task 3
namespace {

/// delta_i = o_i . d_o_i, [heads, queries].
std::vector<float> row_deltas(HeadsView<const float> o, HeadsView<const float> d_o) {
  std::vector<float> deltas;
  for (Index head = 0; head < o.heads(); ++head) {
    for (Index i = 0; i < o.seq(); ++i) {
      const auto o_row = o.head(head).row(i);
      deltas.push_back(std::inner_product(o_row.begin(), o_row.end(), d_o.head(head).row(i).begin(), 0.0f));
    }
  }
  return deltas;
}

void clear(HeadsView<float> x) {
  std::fill_n(x.data(), x.size(), 0.0f);
}

void add(HeadsView<float> to, HeadsView<const float> x) {
  std::transform(x.data(), x.data() + x.size(), to.data(), to.data(), std::plus<float>());
}

void copy(HeadsView<const float> from, HeadsView<float> to) {
  std::copy_n(from.data(), from.size(), to.data());
}

}  // namespace

//< task 3
void overlapped_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                              HeadsView<const float> o, MatrixView<const float> lse,
                              HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                              HeadsView<float> dv, std::span<const int> shard_tokens,
                              const course::TiledBlockAttentionBackward& block, MPI_Comm comm) {
  //> task 3
  //| // Keys and values as in task 2. Where does this block's share of dk and dv go while the sum of the
  //| // others is still on its way? When are the two added, and when may the result be sent on?
  //| throw course::NotImplemented("task 3, overlapped_ring_backward");
  const Ring ring(comm);
  std::array<Room, 2> rooms{Room(k, shard_tokens), Room(k, shard_tokens)};
  Room arriving(k, shard_tokens);  // the sum of the block that is computed, without this rank's share
  std::array<Room, 2> sums{Room(k, shard_tokens), Room(k, shard_tokens)};  // this rank's share, then its sum
  std::vector<float> deltas = row_deltas(o, d_o);
  const MatrixView<const float> delta(deltas.data(), lse.rows(), lse.cols());
  clear(dq);

  HeadsView<const float> held_k = k;
  HeadsView<const float> held_v = v;
  Transfers transfers(ring);
  for (int hop = 0; hop < ring.world_size; ++hop) {
    const Index tokens = shard_tokens[ring.owner(hop)];
    const Index arriving_tokens = shard_tokens[ring.owner(hop + 1)];
    const HeadsView<float> arriving_k = rooms[hop % 2].first(arriving_tokens);
    const HeadsView<float> arriving_v = rooms[hop % 2].second(arriving_tokens);
    if (hop + 1 < ring.world_size) {
      transfers.start(held_k, arriving_k, keys);
      transfers.start(held_v, arriving_v, values);
    }
    if (hop > 0) {
      const Index summed_tokens = shard_tokens[ring.owner(hop - 1)];
      Room& summed = sums[(hop - 1) % 2];
      transfers.start(summed.first(summed_tokens), arriving.first(tokens), key_gradients);
      transfers.start(summed.second(summed_tokens), arriving.second(tokens), value_gradients);
    }
    const HeadsView<float> sum_dk = sums[hop % 2].first(tokens);
    const HeadsView<float> sum_dv = sums[hop % 2].second(tokens);
    clear(sum_dk);
    clear(sum_dv);
    block.accumulate(q, held_k, held_v, d_o, lse, delta, ring.owner(hop), dq, sum_dk, sum_dv,
                     [&] { transfers.progress(); });
    transfers.wait();
    if (hop > 0) {
      add(sum_dk, arriving.first(tokens));
      add(sum_dv, arriving.second(tokens));
    }
    held_k = arriving_k;
    held_v = arriving_v;
  }

  // The next rank's block was the last one here: one more hop takes its gradients home.
  Room& last = sums[(ring.world_size - 1) % 2];
  const Index last_tokens = shard_tokens[ring.next()];
  if (ring.world_size == 1) {
    copy(last.first(last_tokens), dk);
    copy(last.second(last_tokens), dv);
  } else {
    transfers.start(last.first(last_tokens), dk, key_gradients);
    transfers.start(last.second(last_tokens), dv, value_gradients);
    transfers.wait();
  }
  //< task 3
}

}  // namespace lesson08
