// wrong: the receive that brings dk and dv home is started before hop 1, which still has to send the own dk and dv from there
// line: MPI_Irecv(dk.data(), count_of(rank), MPI_FLOAT, left, home_dk, comm, &home[0]);
// mistake: receives_over_the_send_buffer
#include "ring_backward.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace lesson07 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

namespace {

enum Tag { tag_k, tag_v, tag_dk, tag_dv, home_dk, home_dv };

int owner_of(int rank, int hop, int ranks) {
  return ((rank - hop) % ranks + ranks) % ranks;
}

}  // namespace

Traffic backward_traffic(std::span<const int> shard_tokens, Index heads, Index head_dim, int rank) {
  const int ranks = static_cast<int>(shard_tokens.size());
  std::int64_t kv_tokens = 0;
  std::int64_t gradient_tokens = 0;
  for (int s = 0; s < ranks && ranks > 1; ++s) {
    const int tokens = shard_tokens[owner_of(rank, s, ranks)];
    if (s + 1 < ranks) kv_tokens += tokens;
    gradient_tokens += tokens;
  }
  const std::int64_t bytes = static_cast<std::int64_t>(2 * sizeof(float)) * heads * head_dim;
  return Traffic{.keys_values = kv_tokens * bytes, .gradients = gradient_tokens * bytes};
}

void ring_attention_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                             HeadsView<const float> o, MatrixView<const float> lse,
                             HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                             HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm) {
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int left = owner_of(rank, 1, ranks);
  const int right = owner_of(rank, -1, ranks);
  const auto heads = k.heads();
  const auto dim = k.head_dim();
  const auto count_of = [&](int r) { return static_cast<int>(heads * shard_tokens[r] * dim); };

  std::vector<float> delta_storage(lse.size());
  MatrixView<float> delta{delta_storage.data(), lse.rows(), lse.cols()};
  for (Index h = 0; h < heads; ++h) {
    for (Index i = 0; i < delta.cols(); ++i) {
      const auto a = o.head(h).row(i);
      const auto b = d_o.head(h).row(i);
      for (std::size_t c = 0; c < a.size(); ++c) delta(h, i) += a[c] * b[c];
    }
  }
  for (auto* gradient : {&dq, &dk, &dv}) std::fill_n(gradient->data(), gradient->size(), 0.0f);

  // The own block first; its sums begin in the outputs.
  block.accumulate(q, k, v, d_o, lse, delta, rank, dq, dk, dv);
  if (ranks == 1) return;

  // Ready for what comes home, so that the last hop has nobody to wait for.
  std::array<MPI_Request, 2> home;
  MPI_Irecv(dk.data(), count_of(rank), MPI_FLOAT, left, home_dk, comm, &home[0]);
  MPI_Irecv(dv.data(), count_of(rank), MPI_FLOAT, left, home_dv, comm, &home[1]);

  const Index capacity = heads * dim * *std::max_element(shard_tokens.begin(), shard_tokens.end());
  std::array<std::array<std::vector<float>, 4>, 2> rooms;
  for (auto& room : rooms) {
    for (auto& tensor : room) tensor.resize(capacity);
  }

  const float* k_held = k.data();
  const float* v_held = v.data();
  float* dk_held = dk.data();
  float* dv_held = dv.data();
  for (int hop = 1; hop < ranks; ++hop) {
    auto& room = rooms[hop & 1];
    const int out = count_of(owner_of(rank, hop - 1, ranks));
    const int owner = owner_of(rank, hop, ranks);
    const int in = count_of(owner);
    std::array<MPI_Request, 8> requests;
    for (int t = tag_k; t <= tag_dv; ++t) {
      MPI_Irecv(room[t].data(), in, MPI_FLOAT, left, t, comm, &requests[t]);
    }
    MPI_Isend(k_held, out, MPI_FLOAT, right, tag_k, comm, &requests[4]);
    MPI_Isend(v_held, out, MPI_FLOAT, right, tag_v, comm, &requests[5]);
    MPI_Isend(dk_held, out, MPI_FLOAT, right, tag_dk, comm, &requests[6]);
    MPI_Isend(dv_held, out, MPI_FLOAT, right, tag_dv, comm, &requests[7]);
    MPI_Waitall(8, requests.data(), MPI_STATUSES_IGNORE);

    k_held = room[tag_k].data();
    v_held = room[tag_v].data();
    dk_held = room[tag_dk].data();
    dv_held = room[tag_dv].data();
    const Index n = shard_tokens[owner];
    block.accumulate(q, {room[tag_k].data(), heads, n, dim}, {room[tag_v].data(), heads, n, dim}, d_o, lse,
                     delta, owner, dq, {dk_held, heads, n, dim}, {dv_held, heads, n, dim});
  }

  MPI_Send(dk_held, count_of(right), MPI_FLOAT, right, home_dk, comm);
  MPI_Send(dv_held, count_of(right), MPI_FLOAT, right, home_dv, comm);
  MPI_Waitall(2, home.data(), MPI_STATUSES_IGNORE);
}

}  // namespace lesson07
