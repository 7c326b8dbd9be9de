#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "overlapped_ring.hpp"

namespace lesson08 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

TokensToHide tokens_to_hide(const Setup& setup) {
  const double ratio = setup.flops_per_s / setup.bytes_per_s * setup.key_heads / setup.query_heads;
  const double masked = setup.causal ? 2 : 1;
  return {masked * setup.element_bytes / 2 * ratio,
          masked * (setup.element_bytes + setup.gradient_bytes) / 5 * ratio};
}

namespace {

// Keys and values, or their gradients, one after the other in one piece, and so in one message.
class Pair {
 public:
  Pair(Index heads, Index tokens, Index head_dim)
      : heads_(heads), tokens_(tokens), head_dim_(head_dim), numbers_(2 * heads * tokens * head_dim) {}

  HeadsView<float> first() { return {numbers_.data(), heads_, tokens_, head_dim_}; }
  HeadsView<float> second() { return {numbers_.data() + numbers_.size() / 2, heads_, tokens_, head_dim_}; }
  std::vector<float>& numbers() { return numbers_; }

 private:
  Index heads_, tokens_, head_dim_;
  std::vector<float> numbers_;
};

class Ring {
 public:
  Ring(const HeadsView<const float>& k, std::span<const int> shard_tokens, MPI_Comm comm)
      : heads_(k.heads()), head_dim_(k.head_dim()), shard_tokens_(shard_tokens), comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
  }
  int size() const { return size_; }
  int owner(int hop) const { return (rank_ - hop + 2 * size_) % size_; }
  Pair room(int hop) const { return {heads_, shard_tokens_[owner(hop)], head_dim_}; }

  void start(Pair& out, Pair& in, int tag) {
    requests_.resize(requests_.size() + 2);
    MPI_Isend(out.numbers().data(), static_cast<int>(out.numbers().size()), MPI_FLOAT, (rank_ + 1) % size_,
              tag, comm_, &requests_[requests_.size() - 2]);
    MPI_Irecv(in.numbers().data(), static_cast<int>(in.numbers().size()), MPI_FLOAT,
              (rank_ + size_ - 1) % size_, tag, comm_, &requests_.back());
  }
  void poke() {
    int flag = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &flag, MPI_STATUSES_IGNORE);
  }
  void wait() {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    requests_.clear();
  }

 private:
  Index heads_, head_dim_;
  std::span<const int> shard_tokens_;
  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  std::vector<MPI_Request> requests_;
};

Pair packed(const Ring& ring, HeadsView<const float> k, HeadsView<const float> v) {
  Pair pair = ring.room(0);
  std::copy_n(k.data(), k.size(), pair.first().data());
  std::copy_n(v.data(), v.size(), pair.second().data());
  return pair;
}

}  // namespace

void overlapped_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                               HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                               const course::TiledBlockAttention& block, MPI_Comm comm) {
  Ring ring(k, shard_tokens, comm);
  Pair held = packed(ring, k, v);
  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  for (int hop = 0; hop < ring.size(); ++hop) {
    Pair arriving = ring.room(hop + 1);
    if (hop < ring.size() - 1) ring.start(held, arriving, 0);
    block.accumulate(q, held.first(), held.second(), ring.owner(hop), state, [&] { ring.poke(); });
    ring.wait();
    std::swap(held, arriving);
  }
  block.finish(state, o, lse);
}

// What arrives is added to a rank's own share once both are there; then the sum goes on.
void overlapped_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                              HeadsView<const float> o, MatrixView<const float> lse,
                              HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                              HeadsView<float> dv, std::span<const int> shard_tokens,
                              const course::TiledBlockAttentionBackward& block, MPI_Comm comm) {
  Ring ring(k, shard_tokens, comm);
  std::vector<float> delta(lse.size());
  for (Index i = 0; i < lse.size(); ++i) {
    const float* o_row = o.data() + i * o.head_dim();
    delta[i] = std::inner_product(o_row, o_row + o.head_dim(), d_o.data() + i * o.head_dim(), 0.0f);
  }
  std::fill_n(dq.data(), dq.size(), 0.0f);
  Pair held = packed(ring, k, v);
  Pair sum = ring.room(0);
  for (int hop = 0; hop < ring.size(); ++hop) {
    Pair arriving = ring.room(hop + 1);
    Pair share = ring.room(hop);
    Pair others = ring.room(hop);
    if (hop < ring.size() - 1) ring.start(held, arriving, 0);
    if (hop > 0) ring.start(sum, others, 1);
    block.accumulate(q, held.first(), held.second(), d_o, lse,
                     MatrixView<const float>(delta.data(), lse.rows(), lse.cols()), ring.owner(hop), dq,
                     share.first(), share.second(), [&] { ring.poke(); });
    ring.wait();
    std::transform(share.numbers().begin(), share.numbers().end(), others.numbers().begin(),
                   others.numbers().begin(), std::plus<float>());
    std::swap(sum, others);
    std::swap(held, arriving);
  }
  Pair home = ring.room(0);
  if (ring.size() == 1) {
    std::swap(home, sum);
  } else {
    ring.start(sum, home, 1);
    ring.wait();
  }
  std::copy_n(home.first().data(), dk.size(), dk.data());
  std::copy_n(home.second().data(), dv.size(), dv.data());
}

}  // namespace lesson08
