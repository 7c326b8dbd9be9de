#include <algorithm>
#include <cmath>
#include <limits>

#include "cuda_flash_forward.hpp"
#include "gpu/device_tensor.hpp"
#include "gpu/named_calls.hpp"
#include "player/adapter.hpp"

namespace {

using course::DeviceTensor;
using course::Index;
using course::Tensor;

int extent(const Tensor& tensor, Index axis) {
  return static_cast<int>(tensor.extent(axis));
}

/// The state of queries that have seen nothing, on the host and on the device.
struct State {
  State(const Tensor& q, const course::Stream& stream)
      : m({q.extent(0), q.extent(1)}, -std::numeric_limits<float>::infinity()),
        l(m.shape(), 0.0f),
        o(q.shape(), 0.0f),
        device_m(m, stream),
        device_l(l, stream),
        device_o(o, stream) {}

  lesson10::State on_device() const { return {device_m.data(), device_l.data(), device_o.data()}; }
  void read(const course::Stream& stream) {
    device_m.read(m, stream);
    device_l.read(l, stream);
    device_o.read(o, stream);
  }

  Tensor m, l, o;
  DeviceTensor device_m, device_l, device_o;
};

void finish(course::Call& call) {
  const Tensor& given = call.input("o");
  Tensor& o = call.output("o", given.shape());
  Tensor& lse = call.output("lse", {o.extent(0), o.extent(1)});
  const course::Stream stream;
  const DeviceTensor m(call.input("m"), stream), l(call.input("l"), stream), device_o(given, stream),
      device_lse(lse, stream);
  const lesson10::Shape shape{extent(o, 0), extent(o, 1), 0, extent(o, 2)};
  course::call_to_launch(lesson10::finish, lesson10::State{m.data(), l.data(), device_o.data()},
                         device_lse.data(), shape, stream.get());
  device_o.read(o, stream);
  device_lse.read(lse, stream);
}

/// Each query's range counted from a block's first key.
std::vector<int> from(int first_key, std::vector<int> keys) {
  for (int& key : keys) key -= first_key;
  return keys;
}

/// Lets queries see keys first .. first + keys - 1, and waits.
void see_block(course::Call& call, Index first, Index keys, const DeviceTensor& q, const State& state,
               const course::Stream& stream, bool ranges) {
  const Tensor k = slice(call.input("k"), 1, first, keys), v = slice(call.input("v"), 1, first, keys);
  const DeviceTensor device_k(k, stream), device_v(v, stream);
  const Tensor& o = state.o;
  const lesson10::Shape shape{extent(o, 0), extent(o, 1), static_cast<int>(keys), extent(o, 2)};
  if (ranges) {
    const int key = static_cast<int>(first);
    const course::DeviceArray<int> first_keys(from(key, call.integers("first")), stream),
        last_keys(from(key, call.integers("last")), stream);
    course::call_to_launch(lesson10::attend_range, q.data(), device_k.data(), device_v.data(),
                           lesson10::KeyRange{first_keys.data(), last_keys.data()}, state.on_device(), shape,
                           stream.get());
    course::cuda_check(cudaStreamSynchronize(stream.get()));
  } else {
    course::call_to_launch(lesson10::attend_block, q.data(), device_k.data(), device_v.data(),
                           state.on_device(), shape, stream.get());
    course::cuda_check(cudaStreamSynchronize(stream.get()));
  }
}

/// Walks the blocks, and divides on the host. With no keys the function is called once, without keys.
void see_blocks(course::Call& call, bool ranges) {
  const Tensor& q = call.input("q");
  const course::Stream stream;
  const DeviceTensor device_q(q, stream);
  State state(q, stream);
  const Index all = call.input("k").extent(1), block = call.integer("block");
  Index first = 0;
  do {
    see_block(call, first, std::min(block, all - first), device_q, state, stream, ranges);
    first += block;
  } while (first < all);
  if (call.integer("empty_block") != 0) see_block(call, 0, 0, device_q, state, stream, ranges);
  state.read(stream);
  Tensor& o = call.output("o", q.shape());
  Tensor& lse = call.output("lse", state.m.shape());
  for (Index row = 0; row < lse.size(); ++row) {
    lse[row] = state.m[row] + std::log(state.l[row]);
    for (Index i = row * q.extent(2); i < (row + 1) * q.extent(2); ++i)
      o[i] = state.l[row] == 0 ? state.o[i] : state.o[i] / state.l[row];
  }
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"finish", finish},
                                       {"attend_block", [](course::Call& call) { see_blocks(call, false); }},
                                       {"attend_range", [](course::Call& call) { see_blocks(call, true); }}};
  return adapter;
}
