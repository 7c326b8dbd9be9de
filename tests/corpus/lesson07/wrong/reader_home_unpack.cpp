// wrong: at home dv is taken from behind the dk of the block held last, not from behind the own dk
// line: std::copy_n(gradients[now].begin() + count, dv.size(), dv.data());
// rating: led
#include "ring_backward.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace lesson07 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

Traffic backward_traffic(std::span<const int> shard_tokens, Index heads, Index head_dim, int rank) {
  const std::size_t ranks = shard_tokens.size();
  if (ranks == 1) return {};
  const auto all = std::accumulate(shard_tokens.begin(), shard_tokens.end(), std::int64_t{0});
  const std::int64_t last = shard_tokens[(rank + 1) % ranks];
  const std::int64_t token = 2 * 4 * std::int64_t{heads} * head_dim;
  return {token * (all - last), token * all};
}

// K and V go in one message, dK and dV in another: the second tensor stands right behind the first.
void ring_attention_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                             HeadsView<const float> o, MatrixView<const float> lse,
                             HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                             HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm) {
  int me, P;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &P);
  const int next = (me + 1) % P;
  const int previous = (me - 1 + P) % P;

  const Index H = k.heads(), d = k.head_dim();
  std::vector<float> D(H * q.seq(), 0.0f);
  for (Index row = 0; row < H * q.seq(); ++row) {
    D[row] = std::inner_product(o.data() + row * d, o.data() + (row + 1) * d, d_o.data() + row * d, 0.0f);
  }
  const MatrixView<const float> delta(D.data(), H, q.seq());
  std::fill(dq.data(), dq.data() + dq.size(), 0.0f);

  const Index largest = *std::max_element(shard_tokens.begin(), shard_tokens.end());
  std::array<std::vector<float>, 2> keys_values;
  std::array<std::vector<float>, 2> gradients;
  for (int i = 0; i < 2; ++i) {
    keys_values[i].assign(2 * H * largest * d, 0.0f);
    gradients[i].assign(2 * H * largest * d, 0.0f);
  }
  std::copy_n(k.data(), k.size(), keys_values[0].begin());
  std::copy_n(v.data(), v.size(), keys_values[0].begin() + k.size());

  int now = 0;
  Index count = k.size();  // numbers in one tensor of the block we hold
  for (int step = 0; step < P; ++step) {
    const int owner = (me - step + P) % P;
    const Index tokens = shard_tokens[owner];
    float* kv = keys_values[now].data();
    float* g = gradients[now].data();
    block.accumulate(q, HeadsView<const float>(kv, H, tokens, d),
                     HeadsView<const float>(kv + count, H, tokens, d), d_o, lse, delta, owner, dq,
                     HeadsView<float>(g, H, tokens, d), HeadsView<float>(g + count, H, tokens, d));
    if (step == P - 1) break;

    const Index arriving = H * shard_tokens[(owner - 1 + P) % P] * d;
    MPI_Sendrecv(kv, static_cast<int>(2 * count), MPI_FLOAT, next, 1, keys_values[1 - now].data(),
                 static_cast<int>(2 * arriving), MPI_FLOAT, previous, 1, comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(g, static_cast<int>(2 * count), MPI_FLOAT, next, 2, gradients[1 - now].data(),
                 static_cast<int>(2 * arriving), MPI_FLOAT, previous, 2, comm, MPI_STATUS_IGNORE);
    now = 1 - now;
    count = arriving;
  }

  if (P > 1) {
    MPI_Sendrecv(gradients[now].data(), static_cast<int>(2 * count), MPI_FLOAT, next, 3,
                 gradients[1 - now].data(), static_cast<int>(2 * dk.size()), MPI_FLOAT, previous, 3, comm,
                 MPI_STATUS_IGNORE);
    now = 1 - now;
  }
  std::copy_n(gradients[now].begin(), dk.size(), dk.data());
  std::copy_n(gradients[now].begin() + count, dv.size(), dv.data());
}

}  // namespace lesson07
