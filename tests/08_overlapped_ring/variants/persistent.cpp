#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <vector>

#include "overlapped_ring.hpp"

namespace lesson08 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

TokensToHide tokens_to_hide(const Setup& setup) {
  const double ratio = (setup.causal ? 2 : 1) * setup.flops_per_s / setup.bytes_per_s;
  const double group = setup.query_heads / setup.key_heads;
  return {0.5 * setup.element_bytes * ratio / group,
          0.2 * (setup.element_bytes + setup.gradient_bytes) * ratio / group};
}

namespace {

// Room for a pair of tensors of the largest shard. All messages are that long, so that the same requests
// serve every hop.
class Room {
 public:
  Room(HeadsView<const float> own, std::span<const int> shard_tokens)
      : heads_(own.heads()),
        head_dim_(own.head_dim()),
        half_(heads_ * head_dim_ * *std::max_element(shard_tokens.begin(), shard_tokens.end())),
        numbers_(2 * half_) {}

  HeadsView<float> first(Index tokens) { return {numbers_.data(), heads_, tokens, head_dim_}; }
  HeadsView<float> second(Index tokens) { return {numbers_.data() + half_, heads_, tokens, head_dim_}; }
  float* data() { return numbers_.data(); }
  int size() const { return static_cast<int>(numbers_.size()); }

 private:
  Index heads_, head_dim_, half_;
  std::vector<float> numbers_;
};

struct Ring {
  explicit Ring(MPI_Comm communicator) : comm(communicator) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
  int owner(int hop) const { return (rank + size - hop) % size; }
  MPI_Comm comm;
  int rank = 0;
  int size = 1;
};

// One hop's requests, made once and started often.
class Link {
 public:
  Link(const Ring& ring, Room& out, Room& in, int tag) {
    MPI_Send_init(out.data(), out.size(), MPI_FLOAT, ring.owner(-1), tag, ring.comm, &requests_[0]);
    MPI_Recv_init(in.data(), in.size(), MPI_FLOAT, ring.owner(1), tag, ring.comm, &requests_[1]);
  }
  ~Link() {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void start() { MPI_Startall(2, requests_.data()); }
  void poke() {
    int flag = 0;
    MPI_Testall(2, requests_.data(), &flag, MPI_STATUSES_IGNORE);
  }
  void wait() { MPI_Waitall(2, requests_.data(), MPI_STATUSES_IGNORE); }

 private:
  std::array<MPI_Request, 2> requests_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

// Keys and values between two rooms, back and forth.
struct Travel {
  Travel(const Ring& ring, HeadsView<const float> k, HeadsView<const float> v,
         std::span<const int> shard_tokens)
      : rooms{Room(k, shard_tokens), Room(k, shard_tokens)},
        even(ring, rooms[0], rooms[1], 0),
        odd(ring, rooms[1], rooms[0], 0) {
    std::copy_n(k.data(), k.size(), rooms[0].first(k.seq()).data());
    std::copy_n(v.data(), v.size(), rooms[0].second(v.seq()).data());
  }
  Link& link(int hop) { return hop % 2 == 0 ? even : odd; }

  std::array<Room, 2> rooms;
  Link even, odd;
};

}  // namespace

void overlapped_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                               HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                               const course::TiledBlockAttention& block, MPI_Comm comm) {
  const Ring ring(comm);
  Travel travel(ring, k, v, shard_tokens);
  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  for (int hop = 0; hop < ring.size; ++hop) {
    const int owner = ring.owner(hop);
    Link& link = travel.link(hop);
    Room& held = travel.rooms[hop % 2];
    if (hop + 1 < ring.size) link.start();
    block.accumulate(q, held.first(shard_tokens[owner]), held.second(shard_tokens[owner]), owner, state,
                     [&] { link.poke(); });
    link.wait();
  }
  block.finish(state, o, lse);
}

void overlapped_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                              HeadsView<const float> o, MatrixView<const float> lse,
                              HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                              HeadsView<float> dv, std::span<const int> shard_tokens,
                              const course::TiledBlockAttentionBackward& block, MPI_Comm comm) {
  const Ring ring(comm);
  Travel travel(ring, k, v, shard_tokens);
  Room arriving(k, shard_tokens);
  std::array<Room, 2> sums{Room(k, shard_tokens), Room(k, shard_tokens)};
  Link after_even(ring, sums[0], arriving, 1);
  Link after_odd(ring, sums[1], arriving, 1);
  std::vector<float> delta(lse.size());
  for (Index i = 0; i < lse.size(); ++i) {
    const float* o_row = o.data() + i * o.head_dim();
    delta[i] = std::inner_product(o_row, o_row + o.head_dim(), d_o.data() + i * o.head_dim(), 0.0f);
  }
  std::fill_n(dq.data(), dq.size(), 0.0f);
  for (int hop = 0; hop < ring.size; ++hop) {
    const int owner = ring.owner(hop);
    const Index tokens = shard_tokens[owner];
    Link& link = travel.link(hop);
    Link& gradients = hop % 2 == 1 ? after_even : after_odd;
    Room& held = travel.rooms[hop % 2];
    Room& sum = sums[hop % 2];
    if (hop + 1 < ring.size) link.start();
    if (hop > 0) gradients.start();
    std::fill_n(sum.data(), sum.size(), 0.0f);
    block.accumulate(q, held.first(tokens), held.second(tokens), d_o, lse,
                     MatrixView<const float>(delta.data(), lse.rows(), lse.cols()), owner, dq,
                     sum.first(tokens), sum.second(tokens), [&] {
                       link.poke();
                       gradients.poke();
                     });
    link.wait();
    gradients.wait();
    if (hop == 0) continue;
    std::transform(sum.data(), sum.data() + sum.size(), arriving.data(), sum.data(), std::plus<float>());
  }
  Room* home = &sums[0];
  if (ring.size > 1) {
    Link& last = ring.size % 2 == 1 ? after_even : after_odd;
    last.start();
    last.wait();
    home = &arriving;
  }
  std::copy_n(home->first(dk.seq()).data(), dk.size(), dk.data());
  std::copy_n(home->second(dv.seq()).data(), dv.size(), dv.data());
}

}  // namespace lesson08
