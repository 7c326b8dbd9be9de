// wrong: a rank that holds an empty block leaves out the whole hop, also the receive of the block that is sent to it
// line: if (shard_tokens[owner] > 0) {
// rating: led
#include "ring_backward.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace lesson07 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

namespace {

struct Block {
  std::vector<float> k;
  std::vector<float> v;
  std::vector<float> dk;
  std::vector<float> dv;
};

struct Ring {
  MPI_Comm comm;
  int rank = 0;
  int size = 1;

  explicit Ring(MPI_Comm c) : comm(c) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
  int left() const { return (rank + size - 1) % size; }
  int right() const { return (rank + 1) % size; }
  void shift(const std::vector<float>& out, Index out_numbers, float* in, Index in_numbers) const {
    MPI_Sendrecv(out.data(), static_cast<int>(out_numbers), MPI_FLOAT, right(), 0, in,
                 static_cast<int>(in_numbers), MPI_FLOAT, left(), 0, comm, MPI_STATUS_IGNORE);
  }
};

}  // namespace

Traffic backward_traffic(std::span<const int> shard_tokens, Index heads, Index head_dim, int rank) {
  Traffic traffic;
  const int size = static_cast<int>(shard_tokens.size());
  if (size == 1) return traffic;
  const auto bytes = [&](int owner) -> std::int64_t {
    return std::int64_t{shard_tokens[owner]} * heads * head_dim * std::int64_t{sizeof(float)};
  };
  int owner = rank;
  for (int hop = 0; hop < size; ++hop) {
    if (hop < size - 1) traffic.keys_values += 2 * bytes(owner);
    traffic.gradients += 2 * bytes(owner);
    owner = (owner + size - 1) % size;
  }
  return traffic;
}

void ring_attention_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                             HeadsView<const float> o, MatrixView<const float> lse,
                             HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                             HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm) {
  const Ring ring(comm);
  const Index heads = k.heads();
  const Index dim = k.head_dim();

  std::vector<float> delta(heads * q.seq(), 0.0f);
  std::size_t at = 0;
  for (Index h = 0; h < heads; ++h) {
    for (Index i = 0; i < q.seq(); ++i, ++at) {
      for (Index c = 0; c < dim; ++c) delta[at] += o(h, i, c) * d_o(h, i, c);
    }
  }
  const MatrixView<const float> delta_view(delta.data(), heads, q.seq());

  const Index longest = heads * dim * *std::max_element(shard_tokens.begin(), shard_tokens.end());
  const auto empty_block = [&] {
    const std::vector<float> zeros(longest, 0.0f);
    return Block{zeros, zeros, zeros, zeros};
  };
  Block held = empty_block();
  Block spare = empty_block();
  std::copy_n(k.data(), k.size(), held.k.data());
  std::copy_n(v.data(), v.size(), held.v.data());
  std::fill_n(dq.data(), dq.size(), 0.0f);

  int owner = ring.rank;
  for (int done = 0; done < ring.size; ++done) {
    if (done > 0) {
      const int coming = (owner + ring.size - 1) % ring.size;
      const Index out = heads * dim * shard_tokens[owner];
      const Index in = heads * dim * shard_tokens[coming];
      if (shard_tokens[owner] > 0) {
        ring.shift(held.k, out, spare.k.data(), in);
        ring.shift(held.v, out, spare.v.data(), in);
        ring.shift(held.dk, out, spare.dk.data(), in);
        ring.shift(held.dv, out, spare.dv.data(), in);
      }
      std::swap(held, spare);
      owner = coming;
    }
    const Index tokens = shard_tokens[owner];
    block.accumulate(q, HeadsView<const float>(held.k.data(), heads, tokens, dim),
                     HeadsView<const float>(held.v.data(), heads, tokens, dim), d_o, lse, delta_view, owner,
                     dq, HeadsView<float>(held.dk.data(), heads, tokens, dim),
                     HeadsView<float>(held.dv.data(), heads, tokens, dim));
  }

  if (ring.size == 1) {
    std::copy_n(held.dk.data(), dk.size(), dk.data());
    std::copy_n(held.dv.data(), dv.size(), dv.data());
  } else {
    const Index out = heads * dim * shard_tokens[owner];
    ring.shift(held.dk, out, dk.data(), dk.size());
    ring.shift(held.dv, out, dv.data(), dv.size());
  }
}

}  // namespace lesson07
