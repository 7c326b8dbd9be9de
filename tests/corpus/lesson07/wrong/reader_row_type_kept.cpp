// wrong: the MPI datatype of a row is made in every call and never freed
// line: (left out) MPI_Type_free(&row);
// mistake: communicator_not_freed
#include "ring_backward.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace lesson07 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

Traffic backward_traffic(std::span<const int> shard_tokens, Index heads, Index head_dim, int rank) {
  const int p = static_cast<int>(shard_tokens.size());
  if (p == 1) return {0, 0};
  std::int64_t tokens_with_work_ahead = 0, tokens_on_the_way_home = 0;
  for (int s = 1; s <= p; ++s) {
    const int owner = (rank - s + 1 + p) % p;
    if (s <= p - 1) tokens_with_work_ahead += shard_tokens[owner];
    tokens_on_the_way_home += shard_tokens[owner];
  }
  const std::int64_t bytes = heads * head_dim * std::int64_t{2 * sizeof(float)};
  return {bytes * tokens_with_work_ahead, bytes * tokens_on_the_way_home};
}

void ring_attention_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                             HeadsView<const float> o, MatrixView<const float> lse,
                             HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                             HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm) {
  int rank, p;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &p);
  const Index h = k.heads();
  const Index d = k.head_dim();

  std::fill_n(dq.data(), dq.size(), 0.0f);
  std::fill_n(dk.data(), dk.size(), 0.0f);
  std::fill_n(dv.data(), dv.size(), 0.0f);
  std::vector<float> delta(h * q.seq());
  for (Index i = 0; i < h * q.seq(); ++i) {
    float sum = 0.0f;
    for (Index c = 0; c < d; ++c) sum += o.data()[i * d + c] * d_o.data()[i * d + c];
    delta[i] = sum;
  }
  const MatrixView<const float> big_d{delta.data(), h, q.seq()};

  if (p == 1) {
    block.accumulate(q, k, v, d_o, lse, big_d, rank, dq, dk, dv);
    return;
  }

  // Messages are counted in rows of one key, so that long blocks do not exceed an int.
  MPI_Datatype row;
  MPI_Type_contiguous(static_cast<int>(d), MPI_FLOAT, &row);
  MPI_Type_commit(&row);

  struct Held {
    HeadsView<const float> k, v;
    HeadsView<float> dk, dv;
  };
  const Index longest = *std::max_element(shard_tokens.begin(), shard_tokens.end());
  const Index room = h * longest * d;
  std::vector<float> storage(8 * room);
  const auto place = [&](int hop, Index tokens) {
    float* start = storage.data() + (hop % 2) * 4 * room;
    return std::array<HeadsView<float>, 4>{
        HeadsView<float>{start, h, tokens, d}, HeadsView<float>{start + room, h, tokens, d},
        HeadsView<float>{start + 2 * room, h, tokens, d}, HeadsView<float>{start + 3 * room, h, tokens, d}};
  };

  const int destination = (rank + 1) % p;
  const int source = (rank + p - 1) % p;
  std::vector<MPI_Request> requests;
  const auto start = [&](HeadsView<const float> out, HeadsView<float> in, int tag) {
    const int out_rows = static_cast<int>(out.heads() * out.seq());
    const int in_rows = static_cast<int>(in.heads() * in.seq());
    requests.push_back(MPI_REQUEST_NULL);
    MPI_Irecv(in.data(), in_rows, row, source, tag, comm, &requests.back());
    requests.push_back(MPI_REQUEST_NULL);
    MPI_Isend(out.data(), out_rows, row, destination, tag, comm, &requests.back());
  };
  const auto complete = [&] {
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    requests.clear();
  };

  Held held{k, v, dk, dv};
  for (int hop = 0; hop < p; ++hop) {
    const int owner = (rank - hop + p) % p;
    if (hop > 0) {
      const auto [new_k, new_v, new_dk, new_dv] = place(hop, shard_tokens[owner]);
      start(held.k, new_k, 0);
      start(held.v, new_v, 1);
      start(held.dk, new_dk, 2);
      start(held.dv, new_dv, 3);
      complete();
      held = Held{new_k, new_v, new_dk, new_dv};
    }
    block.accumulate(q, held.k, held.v, d_o, lse, big_d, owner, dq, held.dk, held.dv);
  }
  start(held.dk, dk, 2);
  start(held.dv, dv, 3);
  complete();
}

}  // namespace lesson07
