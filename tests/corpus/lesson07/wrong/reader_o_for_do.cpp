// wrong: the block computation is given the outputs o where the gradient d_o belongs
// line: block.accumulate(q, keys, values, o, lse, delta, owner, dq, d_keys, d_values);
// rating: led
#include "ring_backward.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace lesson07 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

Traffic backward_traffic(std::span<const int> shard_tokens, Index heads, Index head_dim, int rank) {
  const int world = static_cast<int>(shard_tokens.size());
  Traffic sent;
  if (world == 1) return sent;
  const std::int64_t bytes_per_token = std::int64_t{8} * heads * head_dim;
  for (int hop = 1; hop <= world; ++hop) {
    const int owner = (rank - (hop - 1) + world) % world;
    const std::int64_t bytes = bytes_per_token * shard_tokens[owner];
    if (hop < world) sent.keys_values += bytes;
    sent.gradients += bytes;
  }
  return sent;
}

void ring_attention_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                             HeadsView<const float> o, MatrixView<const float> lse,
                             HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                             HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm) {
  int rank = 0;
  int world = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &world);
  const int right = (rank + 1) % world;
  const int left = (rank + world - 1) % world;
  const Index heads = q.heads();
  const Index dim = q.head_dim();

  // D
  std::vector<float> delta_numbers(heads * q.seq());
  MatrixView<float> delta(delta_numbers.data(), heads, q.seq());
  for (Index h = 0; h < heads; ++h) {
    for (Index i = 0; i < q.seq(); ++i) {
      float sum = 0.0f;
      for (Index c = 0; c < dim; ++c) sum += o(h, i, c) * d_o(h, i, c);
      delta(h, i) = sum;
    }
  }

  std::fill_n(dq.data(), dq.size(), 0.0f);
  std::fill_n(dk.data(), dk.size(), 0.0f);
  std::fill_n(dv.data(), dv.size(), 0.0f);

  struct Room {
    std::vector<float> k, v, dk, dv;
  };
  const Index longest = heads * dim * *std::max_element(shard_tokens.begin(), shard_tokens.end());
  Room rooms[2];
  if (world > 1) {
    for (Room& room : rooms) {
      room.k.resize(longest);
      room.v.resize(longest);
      room.dk.resize(longest);
      room.dv.resize(longest);
    }
  }

  // what we hold
  const float* held_k = k.data();
  const float* held_v = v.data();
  float* held_dk = dk.data();
  float* held_dv = dv.data();
  int owner = rank;

  auto share = [&] {
    const Index n = shard_tokens[owner];
    const HeadsView<const float> keys(held_k, heads, n, dim);
    const HeadsView<const float> values(held_v, heads, n, dim);
    const HeadsView<float> d_keys(held_dk, heads, n, dim);
    const HeadsView<float> d_values(held_dv, heads, n, dim);
    block.accumulate(q, keys, values, o, lse, delta, owner, dq, d_keys, d_values);
  };
  auto pass = [&](const float* from, int out, float* to, int in) {
    MPI_Sendrecv(from, out, MPI_FLOAT, right, 0, to, in, MPI_FLOAT, left, 0, comm, MPI_STATUS_IGNORE);
  };
  auto numbers = [&](int r) { return static_cast<int>(heads * shard_tokens[r] * dim); };

  share();
  for (int hop = 1; hop < world; ++hop) {
    Room& room = rooms[hop % 2];
    const int next_owner = (owner + world - 1) % world;
    const int out = numbers(owner);
    const int in = numbers(next_owner);
    pass(held_k, out, room.k.data(), in);
    pass(held_v, out, room.v.data(), in);
    pass(held_dk, out, room.dk.data(), in);
    pass(held_dv, out, room.dv.data(), in);
    held_k = room.k.data();
    held_v = room.v.data();
    held_dk = room.dk.data();
    held_dv = room.dv.data();
    owner = next_owner;
    share();
  }

  // home
  if (world > 1) {
    pass(held_dk, numbers(owner), dk.data(), numbers(rank));
    pass(held_dv, numbers(owner), dv.data(), numbers(rank));
  }
}

}  // namespace lesson07
