#include <algorithm>
#include <vector>

#include "cuda_flash_backward.hpp"
#include "gpu/device_tensor.hpp"
#include "gpu/named_calls.hpp"
#include "player/adapter.hpp"

namespace {

using course::DeviceTensor;
using course::Tensor;
using lesson11::Block;
using lesson11::Shape;

int extent(const Tensor& x, course::Index axis) {
  return static_cast<int>(x.extent(axis));
}

int argument(const course::Call& call, const char* name) {
  return call.integers(name).front();
}

/// A gradient, which begins as zeros.
class Gradient {
 public:
  Gradient(course::Call& call, const char* output, const char* input, const course::Stream& stream)
      : tensor_(cleared(call.output(output, call.input(input).shape()))), device_(tensor_, stream) {}

  float* from(std::size_t begin) const { return device_.data() + begin; }
  void read(const course::Stream& stream) const { device_.read(tensor_, stream); }

 private:
  static Tensor& cleared(Tensor& tensor) {
    std::ranges::fill(tensor.values(), 0.0f);
    return tensor;
  }

  Tensor& tensor_;
  DeviceTensor device_;
};

/// A case's blocks of queries and of keys.
class Blocks {
 public:
  Blocks(const course::Call& call, const course::Stream& stream)
      : query_block_(argument(call, "query_block")),
        key_block_(argument(call, "block")),
        step_(argument(call, "step")),
        blind_(call.integers("blind")),
        whole_{extent(call.input("q"), 0), extent(call.input("q"), 1), extent(call.input("k"), 1),
               extent(call.input("q"), 2)},
        q_(call.input("q"), stream),
        k_(call.input("k"), stream),
        v_(call.input("v"), stream),
        d_o_(call.input("d_o"), stream),
        lse_(call.input("lse"), stream),
        delta_(call.input("delta"), stream),
        first_(keys_seen(argument(call, "offset") + 1 - argument(call, "width"), argument(call, "width") > 0),
               stream),
        last_(keys_seen(argument(call, "offset") + 1, true), stream) {}

  /// Calls `add` with a block, its shape and where its queries and its keys begin in a tensor: all heads at
  /// once where there is one block, else one head after the other, so that each gradient is added to by
  /// several calls.
  template <class Add>
  void walk(const Add& add) const {
    if (query_block_ >= whole_.queries && key_block_ >= whole_.keys) return visit(0, 0, 0, whole_, add);
    for (int head = 0; head < whole_.heads; ++head) {
      for (int query = 0; query < whole_.queries; query += query_block_) {
        for (int key = 0; key < whole_.keys; key += key_block_) {
          const Shape shape{1, std::min(query_block_, whole_.queries - query),
                            std::min(key_block_, whole_.keys - key), whole_.head_dim};
          visit(head, query, key, shape, add);
        }
      }
    }
  }

 private:
  template <class Add>
  void visit(int head, int query, int key, const Shape& shape, const Add& add) const {
    const std::size_t row = static_cast<std::size_t>(head) * whole_.queries + query;
    const std::size_t queries = row * whole_.head_dim;
    const std::size_t keys = (static_cast<std::size_t>(head) * whole_.keys + key) * whole_.head_dim;
    const std::size_t range = static_cast<std::size_t>(key / key_block_) * whole_.queries + query;
    const Block block{q_.data() + queries,
                      k_.data() + keys,
                      v_.data() + keys,
                      d_o_.data() + queries,
                      lse_.data() + row,
                      delta_.data() + row,
                      {first_.data() + range, last_.data() + range}};
    add(block, shape, queries, keys);
  }

  bool is_blind(int query) const { return blind_[0] <= query && query < blind_[1]; }

  /// A key of every query, counted in one block of keys after the other: step * i + offset, or the first
  /// where it is the same for all or the query sees none.
  std::vector<int> keys_seen(int offset, bool moves) const {
    std::vector<int> all;
    for (int key = 0; key == 0 || key < whole_.keys; key += key_block_) {
      for (int i = 0; i < whole_.queries; ++i)
        all.push_back((moves && !is_blind(i) ? std::clamp(step_ * i + offset, 0, whole_.keys) : 0) - key);
    }
    return all;
  }

  int query_block_, key_block_, step_;
  std::vector<int> blind_;
  Shape whole_;
  DeviceTensor q_, k_, v_, d_o_, lse_, delta_;
  course::DeviceArray<int> first_, last_;
};

void row_delta(course::Call& call) {
  const Tensor& o = call.input("o");
  Tensor& delta = call.output("delta", {o.extent(0), o.extent(1)});
  const course::Stream stream;
  const DeviceTensor device_o(o, stream), device_d_o(call.input("d_o"), stream), device_delta(delta, stream);
  const Shape shape{extent(o, 0), extent(o, 1), 0, extent(o, 2)};
  course::call_to_launch(lesson11::row_delta, device_o.data(), device_d_o.data(), device_delta.data(), shape,
                         stream.get());
  device_delta.read(delta, stream);
}

void add_key_gradients(course::Call& call) {
  const course::Stream stream;
  const Blocks blocks(call, stream);
  const Gradient dk(call, "dk", "k", stream), dv(call, "dv", "v", stream);
  blocks.walk([&](const Block& block, const Shape& shape, std::size_t, std::size_t keys) {
    course::call_to_launch(lesson11::add_key_gradients, block, dk.from(keys), dv.from(keys), shape,
                           stream.get());
  });
  for (const Gradient* gradient : {&dk, &dv}) gradient->read(stream);
}

void add_gradients(course::Call& call) {
  const course::Stream stream;
  const Blocks blocks(call, stream);
  const Gradient dq(call, "dq", "q", stream), dk(call, "dk", "k", stream), dv(call, "dv", "v", stream);
  blocks.walk([&](const Block& block, const Shape& shape, std::size_t queries, std::size_t keys) {
    course::call_to_launch(lesson11::add_gradients, block, dq.from(queries), dk.from(keys), dv.from(keys),
                           shape, stream.get());
  });
  for (const Gradient* gradient : {&dq, &dk, &dv}) gradient->read(stream);
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{
      {"row_delta", row_delta}, {"add_key_gradients", add_key_gradients}, {"add_gradients", add_gradients}};
  return adapter;
}
