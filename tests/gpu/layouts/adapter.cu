#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "cuda_flash_backward.hpp"
#include "cuda_flash_forward.hpp"
#include "cuda_ring.hpp"
#include "gpu/device_tensor.hpp"
#include "player/position_lists.hpp"
#include "striped_and_zigzag.hpp"

/// Causal attention on any layout, made of four lessons' answers: lesson 12's ring tells its block
/// computation whose keys it has, lesson 14 says which of them each query sees, and the kernels of lessons 10
/// and 11 compute these alone.
namespace {

using course::DeviceTensor;
using course::Tensor;
using lesson14::Positions;

/// A mistake: each rank counts its rows from 0.
std::vector<Positions> rows_by_rank(const course::Call& call) {
  std::vector<Positions> by_rank = course::positions_by_rank(call);
  for (Positions& positions : by_rank) std::iota(positions.begin(), positions.end(), 0);
  return by_rank;
}

/// On the device, the keys of one rank's block that each of this rank's queries sees.
class Seen {
 public:
  Seen(const std::vector<course::KeyRange>& ranges, const course::Stream& stream)
      : first_(keys(ranges, &course::KeyRange::first), stream),
        last_(keys(ranges, &course::KeyRange::last), stream) {}
  const int* first() const { return first_.data(); }
  const int* last() const { return last_.data(); }

 private:
  static std::vector<int> keys(const std::vector<course::KeyRange>& ranges,
                               course::Index course::KeyRange::*end) {
    std::vector<int> all;
    for (const course::KeyRange& range : ranges) all.push_back(static_cast<int>(range.*end));
    return all;
  }

  course::DeviceArray<int> first_, last_;
};

/// What both passes have in common.
class Rank {
 public:
  Rank(const course::Call& call, const std::vector<Positions>& positions)
      : q(call.input("q")),
        k(call.input("k"), stream),
        v(call.input("v"), stream),
        device_q(q, stream),
        comm(lesson12::connect(call.communicator<MPI_Comm>())),
        tokens_(call.integers("shard_tokens")) {
    int rank = 0;
    MPI_Comm_rank(call.communicator<MPI_Comm>(), &rank);
    for (const Positions& keys : positions)
      seen_.push_back(std::make_unique<Seen>(lesson14::key_ranges(positions.at(rank), keys), stream));
  }
  ~Rank() { ncclCommDestroy(comm); }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  lesson12::Shards shards() const { return {tokens_, heads(), head_dim()}; }
  /// Of lesson 10 or 11; with the keys of rank `owner`.
  template <class Shape>
  Shape shape(int owner) const {
    return {heads(), static_cast<int>(q.extent(1)), tokens_.at(owner), head_dim()};
  }
  template <class KeyRange>
  KeyRange seen(int owner) const {
    return {seen_.at(owner)->first(), seen_.at(owner)->last()};
  }

  const course::Stream stream;
  const Tensor& q;
  const DeviceTensor k, v, device_q;
  const ncclComm_t comm;

 private:
  int heads() const { return static_cast<int>(q.extent(0)); }
  int head_dim() const { return static_cast<int>(q.extent(2)); }

  std::vector<int> tokens_;
  std::vector<std::unique_ptr<Seen>> seen_;  ///< by whose keys
};

void ring_attention(course::Call& call, const std::vector<Positions>& positions) {
  const Rank rank(call, positions);
  const course::Stream& stream = rank.stream;
  Tensor& o = call.output("o", rank.q.shape());
  Tensor& lse = call.output("lse", {rank.q.extent(0), rank.q.extent(1)});
  const Tensor nothing_seen(lse.shape(), -std::numeric_limits<float>::infinity());
  const DeviceTensor m(nothing_seen, stream), l(Tensor(lse.shape()), stream), out(Tensor(o.shape()), stream);
  const DeviceTensor device_lse(lse, stream);
  const lesson10::State state{m.data(), l.data(), out.data()};
  const auto accumulate = [&](const float* k, const float* v, int owner, cudaStream_t in) {
    lesson10::attend_range(rank.device_q.data(), k, v, rank.seen<lesson10::KeyRange>(owner), state,
                           rank.shape<lesson10::Shape>(owner), in);
  };
  const auto finish = [&](cudaStream_t in) {
    lesson10::finish(state, device_lse.data(), rank.shape<lesson10::Shape>(0), in);
  };
  lesson12::ring_attention(rank.k.data(), rank.v.data(), rank.shards(), {accumulate, finish}, rank.comm,
                           stream.get());
  out.read(o, stream);
  device_lse.read(lse, stream);
}

void ring_backward(course::Call& call) {
  const Rank rank(call, course::positions_by_rank(call));
  const course::Stream& stream = rank.stream;
  Tensor& dq = call.output("dq", rank.q.shape());
  Tensor& dk = call.output("dk", rank.q.shape());
  Tensor& dv = call.output("dv", rank.q.shape());
  const DeviceTensor o(call.input("o"), stream), d_o(call.input("d_o"), stream),
      lse(call.input("lse"), stream), delta(Tensor(call.input("lse").shape()), stream);
  const DeviceTensor device_dq(Tensor(dq.shape()), stream), device_dk(dk, stream), device_dv(dv, stream);
  lesson11::row_delta(o.data(), d_o.data(), delta.data(), rank.shape<lesson11::Shape>(0), stream.get());
  const auto accumulate = [&](const float* k, const float* v, int owner, float* block_dk, float* block_dv,
                              cudaStream_t in) {
    const lesson11::Block block{rank.device_q.data(),
                                k,
                                v,
                                d_o.data(),
                                lse.data(),
                                delta.data(),
                                rank.seen<lesson11::KeyRange>(owner)};
    lesson11::add_gradients(block, device_dq.data(), block_dk, block_dv, rank.shape<lesson11::Shape>(owner),
                            in);
  };
  lesson12::ring_backward(rank.k.data(), rank.v.data(), device_dk.data(), device_dv.data(), rank.shards(),
                          {accumulate}, rank.comm, stream.get());
  device_dq.read(dq, stream);
  device_dk.read(dk, stream);
  device_dv.read(dv, stream);
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{
      {"ring_attention", [](course::Call& call) { ring_attention(call, course::positions_by_rank(call)); }},
      {"ring_attention_by_row", [](course::Call& call) { ring_attention(call, rows_by_rank(call)); }},
      {"ring_backward", ring_backward}};
  return adapter;
}
