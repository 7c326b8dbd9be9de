// wrong: accumulate is told for every block that this rank owns it
// line: block.accumulate(q, keys, values, d_o, lse, delta, rank, dq, d_keys, d_values);
// mistake: owner_off
// rating: led
#include "ring_backward.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace lesson07 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

Traffic backward_traffic(std::span<const int> shard_tokens, Index heads, Index head_dim, int rank) {
  const std::int64_t n_all = std::accumulate(shard_tokens.begin(), shard_tokens.end(), std::int64_t{0});
  const std::int64_t n_right = shard_tokens[(static_cast<std::size_t>(rank) + 1) % shard_tokens.size()];
  const std::int64_t bytes = 8 * heads * head_dim;
  Traffic result;
  result.keys_values = bytes * (n_all - n_right);
  result.gradients = shard_tokens.size() > 1 ? bytes * n_all : 0;
  return result;
}

void ring_attention_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                             HeadsView<const float> o, MatrixView<const float> lse,
                             HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                             HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm) {
  int rank, world;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &world);
  const Index H = q.heads();
  const Index n = q.seq();
  const Index d = q.head_dim();

  std::vector<float> delta_data(H * n);
  for (Index x = 0; x < H * n; ++x) {
    const float* a = o.data() + x * d;
    const float* b = d_o.data() + x * d;
    delta_data[x] = std::inner_product(a, a + d, b, 0.0f);
  }
  const MatrixView<const float> delta(delta_data.data(), H, n);

  const auto work = [&](HeadsView<const float> keys, HeadsView<const float> values, HeadsView<float> d_keys,
                        HeadsView<float> d_values) {
    block.accumulate(q, keys, values, d_o, lse, delta, rank, dq, d_keys, d_values);
  };

  std::fill_n(dq.data(), H * n * d, 0.0f);
  std::fill_n(dk.data(), H * n * d, 0.0f);
  std::fill_n(dv.data(), H * n * d, 0.0f);
  work(k, v, dk, dv);
  if (world == 1) return;

  const int next = (rank + 1) % world;
  const int last = (rank + world - 1) % world;
  const auto hop = [&](HeadsView<const float> out, HeadsView<float> in, int tag) {
    MPI_Sendrecv(out.data(), static_cast<int>(out.size()), MPI_FLOAT, next, tag, in.data(),
                 static_cast<int>(in.size()), MPI_FLOAT, last, tag, comm, MPI_STATUS_IGNORE);
  };

  const Index room = H * d * *std::max_element(shard_tokens.begin(), shard_tokens.end());
  std::vector<float> k_rooms(2 * room), v_rooms(2 * room), dk_rooms(2 * room), dv_rooms(2 * room);

  HeadsView<const float> k_now = k;
  HeadsView<const float> v_now = v;
  HeadsView<float> dk_now = dk;
  HeadsView<float> dv_now = dv;
  for (int s = 1; s < world; ++s) {
    const Index tokens = shard_tokens[(rank - s + world) % world];
    const Index at = (s % 2) * room;
    const HeadsView<float> k_new(k_rooms.data() + at, H, tokens, d);
    const HeadsView<float> v_new(v_rooms.data() + at, H, tokens, d);
    const HeadsView<float> dk_new(dk_rooms.data() + at, H, tokens, d);
    const HeadsView<float> dv_new(dv_rooms.data() + at, H, tokens, d);
    hop(k_now, k_new, 10);
    hop(v_now, v_new, 11);
    hop(dk_now, dk_new, 12);
    hop(dv_now, dv_new, 13);
    work(k_new, v_new, dk_new, dv_new);
    k_now = k_new;
    v_now = v_new;
    dk_now = dk_new;
    dv_now = dv_new;
  }
  hop(dk_now, dk, 12);
  hop(dv_now, dv, 13);
}

}  // namespace lesson07
