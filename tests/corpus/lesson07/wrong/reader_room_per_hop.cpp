// wrong: every hop gets a room of its own, so the memory grows with the number of ranks
// line: for (int s = 1; s < P; ++s) rooms.emplace_back(static_cast<std::size_t>(numbers(owner(s))));
// rating: led
#include "ring_backward.hpp"

#include <algorithm>
#include <vector>

namespace lesson07 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

namespace {

struct Room {
  std::vector<float> k, v, dk, dv;
  explicit Room(std::size_t n) : k(n), v(n), dk(n), dv(n) {}
};

void dots(HeadsView<const float> a, HeadsView<const float> b, MatrixView<float> out) {
  for (Index h = 0; h < a.heads(); ++h) {
    const auto x = a.head(h);
    const auto y = b.head(h);
    for (Index i = 0; i < a.seq(); ++i) {
      double sum = 0.0;
      for (Index c = 0; c < a.head_dim(); ++c) sum += static_cast<double>(x(i, c)) * y(i, c);
      out(h, i) = static_cast<float>(sum);
    }
  }
}

}  // namespace

Traffic backward_traffic(std::span<const int> shard_tokens, Index heads, Index head_dim, int rank) {
  const auto P = static_cast<int>(shard_tokens.size());
  const std::int64_t row = heads * head_dim * 8;
  Traffic t;
  int held = rank;
  for (int hop = 1; hop < P; ++hop) {
    t.keys_values += row * shard_tokens[held];
    t.gradients += row * shard_tokens[held];
    held = held > 0 ? held - 1 : P - 1;
  }
  if (P > 1) t.gradients += row * shard_tokens[held];  // home
  return t;
}

void ring_attention_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                             HeadsView<const float> o, MatrixView<const float> lse,
                             HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                             HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm) {
  int r, P;
  MPI_Comm_rank(comm, &r);
  MPI_Comm_size(comm, &P);
  const int right = (r + 1) % P;
  const int left = (r + P - 1) % P;
  const auto owner = [&](int hop) { return (r + P - hop) % P; };
  const auto numbers = [&](int of) { return static_cast<int>(k.heads() * shard_tokens[of] * k.head_dim()); };
  const auto view = [&](std::vector<float>& x, int of) {
    return HeadsView<float>(x.data(), k.heads(), shard_tokens[of], k.head_dim());
  };

  std::vector<float> delta(q.heads() * q.seq());
  const MatrixView<float> D(delta.data(), q.heads(), q.seq());
  dots(o, d_o, D);

  std::fill_n(dq.data(), dq.size(), 0.0f);
  std::fill_n(dk.data(), dk.size(), 0.0f);
  std::fill_n(dv.data(), dv.size(), 0.0f);
  block.accumulate(q, k, v, d_o, lse, D, r, dq, dk, dv);

  // No block may land on one that is being sent. Each block that comes has its own place.
  std::vector<Room> rooms;
  for (int s = 1; s < P; ++s) rooms.emplace_back(static_cast<std::size_t>(numbers(owner(s))));

  HeadsView<const float> send_k = k, send_v = v;
  HeadsView<float> send_dk = dk, send_dv = dv;
  for (int s = 1; s < P; ++s) {
    Room& room = rooms[s - 1];
    const int in = numbers(owner(s));
    const int out = numbers(owner(s - 1));
    MPI_Request all[8];
    MPI_Irecv(room.k.data(), in, MPI_FLOAT, left, 0, comm, all + 0);
    MPI_Irecv(room.v.data(), in, MPI_FLOAT, left, 1, comm, all + 1);
    MPI_Irecv(room.dk.data(), in, MPI_FLOAT, left, 2, comm, all + 2);
    MPI_Irecv(room.dv.data(), in, MPI_FLOAT, left, 3, comm, all + 3);
    MPI_Isend(send_k.data(), out, MPI_FLOAT, right, 0, comm, all + 4);
    MPI_Isend(send_v.data(), out, MPI_FLOAT, right, 1, comm, all + 5);
    MPI_Isend(send_dk.data(), out, MPI_FLOAT, right, 2, comm, all + 6);
    MPI_Isend(send_dv.data(), out, MPI_FLOAT, right, 3, comm, all + 7);
    MPI_Waitall(8, all, MPI_STATUSES_IGNORE);
    send_k = view(room.k, owner(s));
    send_v = view(room.v, owner(s));
    send_dk = view(room.dk, owner(s));
    send_dv = view(room.dv, owner(s));
    block.accumulate(q, send_k, send_v, d_o, lse, D, owner(s), dq, send_dk, send_dv);
  }
  if (P == 1) return;

  MPI_Request all[4];
  MPI_Irecv(dk.data(), numbers(r), MPI_FLOAT, left, 2, comm, all + 0);
  MPI_Irecv(dv.data(), numbers(r), MPI_FLOAT, left, 3, comm, all + 1);
  MPI_Isend(send_dk.data(), numbers(right), MPI_FLOAT, right, 2, comm, all + 2);
  MPI_Isend(send_dv.data(), numbers(right), MPI_FLOAT, right, 3, comm, all + 3);
  MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
}

}  // namespace lesson07
