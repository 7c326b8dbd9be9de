// wrong: the owner is taken modulo P as an unsigned number, which is right for P = 1, 2, 4, 8 only
// line: return static_cast<std::size_t>(rank - hops) % world;
// rating: led
#include "ring_backward.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lesson07 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

namespace {

// Whose block is here after so many hops. In unsigned arithmetic % is never negative.
std::size_t block_here(int rank, int hops, std::size_t world) {
  return static_cast<std::size_t>(rank - hops) % world;
}

// Even ranks send first, odd ranks receive first.
void pass_on(const float* out, std::size_t out_count, float* in, std::size_t in_count, int rank, int world,
             MPI_Comm comm) {
  const int next = (rank + 1) % world;
  const int prev = (rank + world - 1) % world;
  const auto send = [&] { MPI_Send(out, static_cast<int>(out_count), MPI_FLOAT, next, 0, comm); };
  const auto receive = [&] {
    MPI_Recv(in, static_cast<int>(in_count), MPI_FLOAT, prev, 0, comm, MPI_STATUS_IGNORE);
  };
  if (rank % 2 == 0) {
    send();
    receive();
  } else {
    receive();
    send();
  }
}

}  // namespace

Traffic backward_traffic(std::span<const int> shard_tokens, Index heads, Index head_dim, int rank) {
  const std::size_t world = shard_tokens.size();
  Traffic traffic{};
  if (world == 1) return traffic;
  for (std::size_t hop = 1; hop <= world; ++hop) {
    const std::int64_t tokens = shard_tokens[block_here(rank, static_cast<int>(hop) - 1, world)];
    const std::int64_t bytes = 2 * tokens * heads * head_dim * static_cast<std::int64_t>(sizeof(float));
    if (hop != world) traffic.keys_values += bytes;
    traffic.gradients += bytes;
  }
  return traffic;
}

void ring_attention_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                             HeadsView<const float> o, MatrixView<const float> lse,
                             HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                             HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm) {
  int rank = 0, world = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &world);

  std::vector<float> delta;
  delta.reserve(q.heads() * q.seq());
  for (Index h = 0; h < q.heads(); ++h) {
    for (Index i = 0; i < q.seq(); ++i) {
      float d = 0;
      for (Index c = 0; c < q.head_dim(); ++c) d += d_o(h, i, c) * o(h, i, c);
      delta.push_back(d);
    }
  }

  auto clear = [](HeadsView<float> x) { std::fill(x.data(), x.data() + x.size(), 0.0f); };
  clear(dq);
  clear(dk);
  clear(dv);

  const Index per_token = k.heads() * k.head_dim();
  std::vector<float> rooms[2][4];
  if (world > 1) {
    const int longest = *std::max_element(shard_tokens.begin(), shard_tokens.end());
    for (auto& room : rooms) {
      for (auto& tensor : room) tensor.assign(per_token * longest, 0.0f);
    }
  }

  const float* kk = k.data();
  const float* vv = v.data();
  float* dkk = dk.data();
  float* dvv = dv.data();
  for (int hop = 0;; ++hop) {
    const std::size_t owner = block_here(rank, hop, shard_tokens.size());
    const Index n = shard_tokens[owner];
    block.accumulate(q, {kk, k.heads(), n, k.head_dim()}, {vv, k.heads(), n, k.head_dim()}, d_o, lse,
                     {delta.data(), q.heads(), q.seq()}, static_cast<int>(owner), dq,
                     {dkk, k.heads(), n, k.head_dim()}, {dvv, k.heads(), n, k.head_dim()});
    if (world == 1) return;

    const Index next_n = shard_tokens[block_here(rank, hop + 1, shard_tokens.size())];
    if (hop == world - 1) {  // the work is done: home
      pass_on(dkk, n * per_token, dk.data(), dk.size(), rank, world, comm);
      pass_on(dvv, n * per_token, dv.data(), dv.size(), rank, world, comm);
      return;
    }
    auto& room = rooms[hop % 2];
    pass_on(kk, n * per_token, room[0].data(), next_n * per_token, rank, world, comm);
    pass_on(vv, n * per_token, room[1].data(), next_n * per_token, rank, world, comm);
    pass_on(dkk, n * per_token, room[2].data(), next_n * per_token, rank, world, comm);
    pass_on(dvv, n * per_token, room[3].data(), next_n * per_token, rank, world, comm);
    kk = room[0].data();
    vv = room[1].data();
    dkk = room[2].data();
    dvv = room[3].data();
  }
}

}  // namespace lesson07
