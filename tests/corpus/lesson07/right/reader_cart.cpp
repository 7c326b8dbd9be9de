// right: a periodic MPI_Cart_create ring with non-blocking messages of the blocks' own lengths; empty messages are left out on both sides
#include "ring_backward.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace lesson07 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

namespace {

/// The ring as a Cartesian communicator, freed at the end.
class Circle {
 public:
  explicit Circle(MPI_Comm comm) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    const int periodic = 1;
    MPI_Cart_create(comm, 1, &size, &periodic, 0, &circle_);
    MPI_Cart_shift(circle_, 0, 1, &from_, &to_);
  }
  Circle(const Circle&) = delete;
  Circle& operator=(const Circle&) = delete;
  ~Circle() { MPI_Comm_free(&circle_); }

  void begin(HeadsView<const float> out, HeadsView<float> in, int tag) {
    if (in.size() > 0) {
      MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_FLOAT, from_, tag, circle_, &open_[opened_++]);
    }
    if (out.size() > 0) {
      MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_FLOAT, to_, tag, circle_, &open_[opened_++]);
    }
  }
  void end() {
    MPI_Waitall(opened_, open_, MPI_STATUSES_IGNORE);
    opened_ = 0;
  }

 private:
  MPI_Comm circle_ = MPI_COMM_NULL;
  int from_ = 0;
  int to_ = 0;
  MPI_Request open_[8];
  int opened_ = 0;
};

int before(int rank, int world) {
  return rank > 0 ? rank - 1 : world - 1;
}

}  // namespace

Traffic backward_traffic(std::span<const int> shard_tokens, Index heads, Index head_dim, int rank) {
  const int world = static_cast<int>(shard_tokens.size());
  const std::int64_t two_rows = std::int64_t{2 * sizeof(float)} * heads * head_dim;
  Traffic sent;
  for (int hop = 1, held = rank; world > 1 && hop <= world; ++hop, held = before(held, world)) {
    const bool somebody_computes = hop < world;
    if (somebody_computes) sent.keys_values += two_rows * shard_tokens[held];
    sent.gradients += two_rows * shard_tokens[held];
  }
  return sent;
}

void ring_attention_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                             HeadsView<const float> o, MatrixView<const float> lse,
                             HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                             HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm) {
  int rank = 0, world = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &world);

  std::vector<float> numbers(lse.size(), 0.0f);
  const MatrixView<float> delta(numbers.data(), lse.rows(), lse.cols());
  for (Index h = 0; h < o.heads(); ++h) {
    for (Index i = 0; i < o.seq(); ++i) {
      float& d = delta(h, i);
      for (Index c = 0; c < o.head_dim(); ++c) d += d_o(h, i, c) * o(h, i, c);
    }
  }

  for (const HeadsView<float>& x : {dq, dk, dv}) std::fill_n(x.data(), x.size(), 0.0f);
  block.accumulate(q, k, v, d_o, lse, delta, rank, dq, dk, dv);
  if (world == 1) return;

  Circle circle(comm);
  const int longest = *std::max_element(shard_tokens.begin(), shard_tokens.end());
  const std::size_t room = k.heads() * longest * k.head_dim();
  std::vector<float> first(4 * room), second(4 * room);
  const auto tensor = [&](std::vector<float>& in, int number, int owner) {
    return HeadsView<float>(in.data() + number * room, k.heads(), shard_tokens[owner], k.head_dim());
  };

  HeadsView<const float> held_k = k, held_v = v;
  HeadsView<float> held_dk = dk, held_dv = dv;
  for (int owner = before(rank, world); owner != rank; owner = before(owner, world)) {
    const auto new_k = tensor(first, 0, owner);
    const auto new_v = tensor(first, 1, owner);
    const auto new_dk = tensor(first, 2, owner);
    const auto new_dv = tensor(first, 3, owner);
    circle.begin(held_k, new_k, 0);
    circle.begin(held_v, new_v, 1);
    circle.begin(held_dk, new_dk, 2);
    circle.begin(held_dv, new_dv, 3);
    circle.end();
    block.accumulate(q, new_k, new_v, d_o, lse, delta, owner, dq, new_dk, new_dv);
    held_k = new_k;
    held_v = new_v;
    held_dk = new_dk;
    held_dv = new_dv;
    std::swap(first, second);  // the views keep pointing to the numbers, which do not move
  }
  circle.begin(held_dk, dk, 2);
  circle.begin(held_dv, dv, 3);
  circle.end();
}

}  // namespace lesson07
