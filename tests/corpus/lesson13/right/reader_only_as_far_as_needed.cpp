// right: each block travels only as far as the last rank that sees it, its gradients only if it has travelled, on a communicator of its own; sums in double
#include "causal_ring.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace lesson13 {

using course::HeadsView;
using course::Index;
using course::KeyRange;
using course::MatrixView;

namespace {

class OwnComm {
 public:
  explicit OwnComm(MPI_Comm comm) { MPI_Comm_dup(comm, &comm_); }
  ~OwnComm() { MPI_Comm_free(&comm_); }
  OwnComm(const OwnComm&) = delete;
  OwnComm& operator=(const OwnComm&) = delete;
  operator MPI_Comm() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

struct Plan {
  int P;
  Index offset;
  std::vector<Index> n, f;

  Plan(std::span<const int> shard_tokens, Index c) : P(static_cast<int>(shard_tokens.size())), offset(c) {
    Index position = 0;
    for (const int tokens : shard_tokens) {
      n.push_back(tokens);
      f.push_back(position);
      position += tokens;
    }
  }

  int ring(int r) const { return ((r % P) + P) % P; }

  std::vector<KeyRange> ranges(int r, int b) const {
    std::vector<KeyRange> seen(static_cast<std::size_t>(n[r]));
    key_ranges(f[r], f[b], n[b], offset, seen);
    return seen;
  }

  /// The last query sees the most, and the first key is the one that is seen by the most.
  bool sees(int r, int b) const { return n[r] > 0 && n[b] > 0 && f[b] <= f[r] + n[r] - 1 + offset; }

  /// How many hops the block of b makes: to the last rank ahead that sees it.
  int reach(int b) const {
    for (int hops = P - 1; hops > 0; --hops) {
      if (sees(ring(b + hops), b)) return hops;
    }
    return 0;
  }

  Index longest() const { return *std::max_element(n.begin(), n.end()); }
};

/// Sends and receives that are under way together.
class Hop {
 public:
  explicit Hop(MPI_Comm comm) : comm_(comm) {}
  void send(const float* from, Index count, int to, int tag) {
    MPI_Isend(from, static_cast<int>(count), MPI_FLOAT, to, tag, comm_, &open_.emplace_back());
  }
  void receive(float* to, Index count, int from, int tag) {
    MPI_Irecv(to, static_cast<int>(count), MPI_FLOAT, from, tag, comm_, &open_.emplace_back());
  }
  void wait() {
    MPI_Waitall(static_cast<int>(open_.size()), open_.data(), MPI_STATUSES_IGNORE);
    open_.clear();
  }

 private:
  MPI_Comm comm_;
  std::vector<MPI_Request> open_;
};

}  // namespace

void key_ranges(Index first_query, Index first_key, Index keys, Index offset, std::span<KeyRange> seen) {
  for (Index i = 0; i < static_cast<Index>(seen.size()); ++i) {
    const Index newest = first_query + i + offset;  // the last position that query i sees
    if (keys == 0 || newest < first_key) {
      seen[i] = {keys, keys};
    } else if (newest >= first_key + keys - 1) {
      seen[i] = {0, keys};
    } else {
      seen[i] = {0, newest - first_key + 1};
    }
  }
}

Index work(int rank, int step, std::span<const int> shard_tokens, Index offset) {
  const Plan plan(shard_tokens, offset);
  const int b = plan.ring(rank - step);
  const Index queries = plan.n[rank], keys = plan.n[b];
  if (queries == 0 || keys == 0) return 0;
  // Query i sees e + i keys, cut to 0 .. keys. Queries before `begin` see none; those from `full` on see all.
  const Index e = plan.f[rank] + offset + 1 - plan.f[b];
  const Index begin = std::clamp(-e, Index{0}, queries);
  const Index full = std::clamp(keys - e, begin, queries);
  const Index mixed = full - begin;
  return mixed * e + (begin + full - 1) * mixed / 2 + (queries - full) * keys;
}

void attend_seen(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                 std::span<const KeyRange> seen, course::AttentionState& state) {
  const Index d = q.head_dim();
  const double scale = 1.0 / std::sqrt(static_cast<double>(d));
  std::vector<double> s(k.seq()), sum(d);
  for (Index h = 0; h < q.heads(); ++h) {
    for (Index i = 0; i < q.seq(); ++i) {
      const auto [first, last] = seen[i];
      if (first >= last) continue;
      const float* const query = &q(h, i, 0);
      float m = state.m()(h, i);
      for (Index j = first; j < last; ++j) {
        const float* const key = &k(h, j, 0);
        double dot = 0;
        for (Index c = 0; c < d; ++c) dot += static_cast<double>(query[c]) * key[c];
        s[j] = scale * dot;
        m = std::max(m, static_cast<float>(s[j]));
      }
      const double keep = std::exp(static_cast<double>(state.m()(h, i)) - m);
      double l = keep * state.l()(h, i);
      for (Index c = 0; c < d; ++c) sum[c] = keep * state.o()(h, i, c);
      for (Index j = first; j < last; ++j) {
        const double p = std::exp(s[j] - m);
        l += p;
        for (Index c = 0; c < d; ++c) sum[c] += p * v(h, j, c);
      }
      state.m()(h, i) = m;
      state.l()(h, i) = static_cast<float>(l);
      for (Index c = 0; c < d; ++c) state.o()(h, i, c) = static_cast<float>(sum[c]);
    }
  }
}

void causal_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                           Index offset, const course::MaskedBlockAttention& block, MPI_Comm comm) {
  const OwnComm own(comm);
  int r = 0;
  MPI_Comm_rank(own, &r);
  const Plan plan(shard_tokens, offset);
  const int to = plan.ring(r + 1), from = plan.ring(r - 1);
  const Index H = k.heads(), d = k.head_dim();
  const auto numbers = [&](int b) { return H * plan.n[b] * d; };

  std::vector<float> k_room[2], v_room[2];
  for (int i = 0; i < 2; ++i) {
    k_room[i].resize(H * plan.longest() * d);
    v_room[i].resize(H * plan.longest() * d);
  }

  course::AttentionState state(q.heads(), q.seq(), d);
  if (plan.sees(r, r)) block.accumulate(q, k, v, plan.ranges(r, r), r, state);

  Hop hop(own);
  for (int s = 1; s < plan.P; ++s) {
    const int going = plan.ring(r - s + 1), coming = plan.ring(r - s);
    if (plan.reach(coming) >= s) {
      hop.receive(k_room[s % 2].data(), numbers(coming), from, 0);
      hop.receive(v_room[s % 2].data(), numbers(coming), from, 1);
    }
    if (plan.reach(going) >= s) {
      hop.send(s == 1 ? k.data() : k_room[(s - 1) % 2].data(), numbers(going), to, 0);
      hop.send(s == 1 ? v.data() : v_room[(s - 1) % 2].data(), numbers(going), to, 1);
    }
    hop.wait();
    if (plan.sees(r, coming)) {
      block.accumulate(q, {k_room[s % 2].data(), H, plan.n[coming], d}, {v_room[s % 2].data(), H, plan.n[coming], d},
                       plan.ranges(r, coming), coming, state);
    }
  }
  block.finish(state, o, lse);
}

void causal_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<const int> shard_tokens, Index offset,
                          const course::MaskedBlockAttentionBackward& block, MPI_Comm comm) {
  const OwnComm own(comm);
  int r = 0;
  MPI_Comm_rank(own, &r);
  const Plan plan(shard_tokens, offset);
  const int to = plan.ring(r + 1), from = plan.ring(r - 1);
  const Index H = k.heads(), d = k.head_dim();
  const auto numbers = [&](int b) { return H * plan.n[b] * d; };

  std::vector<float> delta_numbers(q.heads() * q.seq());
  for (Index x = 0; x < q.heads() * q.seq(); ++x) {
    double sum = 0;
    for (Index c = 0; c < d; ++c) sum += static_cast<double>(o.data()[x * d + c]) * d_o.data()[x * d + c];
    delta_numbers[x] = static_cast<float>(sum);
  }
  const MatrixView<const float> delta(delta_numbers.data(), q.heads(), q.seq());

  std::fill_n(dq.data(), dq.size(), 0.0f);
  std::fill_n(dk.data(), dk.size(), 0.0f);
  std::fill_n(dv.data(), dv.size(), 0.0f);
  if (plan.sees(r, r)) block.accumulate(q, k, v, d_o, lse, delta, plan.ranges(r, r), r, dq, dk, dv);

  struct Room {
    std::vector<float> k, v, dk, dv;
  };
  Room rooms[2];
  for (Room& room : rooms) {
    for (std::vector<float>* numbers : {&room.k, &room.v, &room.dk, &room.dv}) {
      numbers->resize(H * plan.longest() * d);
    }
  }

  Hop hop(own);
  for (int s = 1; s <= plan.P && plan.P > 1; ++s) {
    const int going = plan.ring(r - s + 1), coming = plan.ring(r - s);
    const Room& old_room = rooms[(s - 1) % 2];
    Room& room = rooms[s % 2];
    const bool is_last = s == plan.P;
    if (plan.reach(coming) >= s) {
      hop.receive(room.k.data(), numbers(coming), from, 0);
      hop.receive(room.v.data(), numbers(coming), from, 1);
    }
    if (plan.reach(coming) > 0) {
      hop.receive(is_last ? dk.data() : room.dk.data(), numbers(coming), from, 2);
      hop.receive(is_last ? dv.data() : room.dv.data(), numbers(coming), from, 3);
    }
    if (plan.reach(going) >= s) {
      hop.send(s == 1 ? k.data() : old_room.k.data(), numbers(going), to, 0);
      hop.send(s == 1 ? v.data() : old_room.v.data(), numbers(going), to, 1);
    }
    if (plan.reach(going) > 0) {
      hop.send(s == 1 ? dk.data() : old_room.dk.data(), numbers(going), to, 2);
      hop.send(s == 1 ? dv.data() : old_room.dv.data(), numbers(going), to, 3);
    }
    hop.wait();
    if (!is_last && plan.sees(r, coming)) {
      const Index n = plan.n[coming];
      block.accumulate(q, {room.k.data(), H, n, d}, {room.v.data(), H, n, d}, d_o, lse, delta, plan.ranges(r, coming),
                       coming, dq, {room.dk.data(), H, n, d}, {room.dv.data(), H, n, d});
    }
  }
}

}  // namespace lesson13
