// wrong: sent_size is never set, so that sums are sent as 0 numbers
// line: (left out) sent_size = size;
// rating: led
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
  const double share = setup.causal ? 0.5 : 1.0;
  const double ratio = setup.key_heads / setup.query_heads * setup.flops_per_s / setup.bytes_per_s / share;
  return {2 * setup.element_bytes / 4 * ratio,
          2 * (setup.element_bytes + setup.gradient_bytes) / 10 * ratio};
}

namespace {

enum Tag { tag_k = 1, tag_v, tag_dk, tag_dv };

struct Ring {
  int rank, size, next, previous;
  explicit Ring(MPI_Comm comm) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    next = (rank + 1) % size;
    previous = (rank + size - 1) % size;
  }
  int owner(int step) const { return (rank - step + size) % size; }
};

Index largest(std::span<const int> shard_tokens) {
  return *std::max_element(shard_tokens.begin(), shard_tokens.end());
}

}  // namespace

void overlapped_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                               HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                               const course::TiledBlockAttention& block, MPI_Comm comm) {
  const Ring ring(comm);
  const Index room = q.heads() * largest(shard_tokens) * q.head_dim();
  std::array<std::vector<float>, 2> k_room, v_room;
  for (auto& r : k_room) r.resize(room);
  for (auto& r : v_room) r.resize(room);
  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  std::vector<MPI_Request> open;
  const auto test = [&open] {
    int done = 0;
    MPI_Testall(static_cast<int>(open.size()), open.data(), &done, MPI_STATUSES_IGNORE);
  };

  HeadsView<const float> held_k = k, held_v = v;
  for (int step = 0; step < ring.size; ++step) {
    const int arriving = ring.owner(step + 1);
    HeadsView<float> next_k(k_room[step % 2].data(), q.heads(), shard_tokens[arriving], q.head_dim());
    HeadsView<float> next_v(v_room[step % 2].data(), q.heads(), shard_tokens[arriving], q.head_dim());
    open.clear();
    if (step + 1 < ring.size) {
      open.resize(4);
      MPI_Irecv(next_k.data(), static_cast<int>(next_k.size()), MPI_FLOAT, ring.previous, tag_k, comm, &open[0]);
      MPI_Irecv(next_v.data(), static_cast<int>(next_v.size()), MPI_FLOAT, ring.previous, tag_v, comm, &open[1]);
      MPI_Isend(held_k.data(), static_cast<int>(held_k.size()), MPI_FLOAT, ring.next, tag_k, comm, &open[2]);
      MPI_Isend(held_v.data(), static_cast<int>(held_v.size()), MPI_FLOAT, ring.next, tag_v, comm, &open[3]);
    }
    block.accumulate(q, held_k, held_v, ring.owner(step), state, test);
    MPI_Waitall(static_cast<int>(open.size()), open.data(), MPI_STATUSES_IGNORE);
    held_k = next_k;
    held_v = next_v;
  }
  block.finish(state, o, lse);
}

void overlapped_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                              HeadsView<const float> o, MatrixView<const float> lse,
                              HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                              HeadsView<float> dv, std::span<const int> shard_tokens,
                              const course::TiledBlockAttentionBackward& block, MPI_Comm comm) {
  const Ring ring(comm);
  const Index heads = q.heads(), d = q.head_dim();
  const Index room = heads * largest(shard_tokens) * d;
  std::array<std::vector<float>, 2> k_room, v_room;
  std::array<std::vector<float>, 3> dk_room, dv_room;
  for (auto& r : k_room) r.resize(room);
  for (auto& r : v_room) r.resize(room);
  for (auto& r : dk_room) r.resize(room);
  for (auto& r : dv_room) r.resize(room);

  std::vector<float> delta_numbers(heads * q.seq());
  MatrixView<float> delta(delta_numbers.data(), heads, q.seq());
  for (Index h = 0; h < heads; ++h)
    for (Index i = 0; i < q.seq(); ++i) {
      const auto a = o.head(h).row(i), b = d_o.head(h).row(i);
      delta(h, i) = std::inner_product(a.begin(), a.end(), b.begin(), 0.0f);
    }
  std::fill_n(dq.data(), dq.size(), 0.0f);

  std::vector<MPI_Request> open;
  const auto test = [&open] {
    int done = 0;
    MPI_Testall(static_cast<int>(open.size()), open.data(), &done, MPI_STATUSES_IGNORE);
  };
  const auto receive = [&](float* data, Index count, int tag) {
    open.emplace_back();
    MPI_Irecv(data, static_cast<int>(count), MPI_FLOAT, ring.previous, tag, comm, &open.back());
  };
  const auto send = [&](const float* data, Index count, int tag) {
    open.emplace_back();
    MPI_Isend(data, static_cast<int>(count), MPI_FLOAT, ring.next, tag, comm, &open.back());
  };

  HeadsView<const float> held_k = k, held_v = v;
  int share = 0, sent = 1, arrived = 2;  // rooms of the gradients
  Index sent_size = 0;
  for (int step = 0; step < ring.size; ++step) {
    const int owner = ring.owner(step), arriving = ring.owner(step + 1);
    HeadsView<float> next_k(k_room[step % 2].data(), heads, shard_tokens[arriving], d);
    HeadsView<float> next_v(v_room[step % 2].data(), heads, shard_tokens[arriving], d);
    const Index size = heads * shard_tokens[owner] * d;
    open.clear();
    if (step + 1 < ring.size) {
      receive(next_k.data(), next_k.size(), tag_k);
      receive(next_v.data(), next_v.size(), tag_v);
      send(held_k.data(), held_k.size(), tag_k);
      send(held_v.data(), held_v.size(), tag_v);
    }
    if (step > 0) {
      receive(dk_room[arrived].data(), size, tag_dk);
      receive(dv_room[arrived].data(), size, tag_dv);
      send(dk_room[sent].data(), sent_size, tag_dk);
      send(dv_room[sent].data(), sent_size, tag_dv);
    }
    std::fill_n(dk_room[share].data(), size, 0.0f);
    std::fill_n(dv_room[share].data(), size, 0.0f);
    block.accumulate(q, held_k, held_v, d_o, lse, delta, owner, dq,
                     HeadsView<float>(dk_room[share].data(), heads, shard_tokens[owner], d),
                     HeadsView<float>(dv_room[share].data(), heads, shard_tokens[owner], d), test);
    MPI_Waitall(static_cast<int>(open.size()), open.data(), MPI_STATUSES_IGNORE);
    if (step > 0) {
      for (Index i = 0; i < size; ++i) dk_room[share][i] += dk_room[arrived][i];
      for (Index i = 0; i < size; ++i) dv_room[share][i] += dv_room[arrived][i];
    }
    std::swap(share, sent);  // what was the share is sent next
    held_k = next_k;
    held_v = next_v;
  }
  if (ring.size == 1) {
    std::copy_n(dk_room[sent].data(), dk.size(), dk.data());
    std::copy_n(dv_room[sent].data(), dv.size(), dv.data());
    return;
  }
  open.clear();
  receive(dk.data(), dk.size(), tag_dk);
  receive(dv.data(), dv.size(), tag_dv);
  send(dk_room[sent].data(), sent_size, tag_dk);
  send(dv_room[sent].data(), sent_size, tag_dv);
  MPI_Waitall(static_cast<int>(open.size()), open.data(), MPI_STATUSES_IGNORE);
}

}  // namespace lesson08
