#include <cstdio>
#include <string>
#include <vector>

#include "bench/device/attention.hpp"
#include "bench/device/shared_passes.hpp"
#include "bench/device/stopwatch.hpp"
#include "bench/device/timings.hpp"
#include "cuda_flash_backward.hpp"
#include "cuda_flash_forward.hpp"

namespace course::bench::device {

namespace {

/// The least share that the course sets itself of what shared memory allows.
constexpr double share_of_passes = 0.65;

void add_row(RelativeError& error, const std::vector<float>& found, const std::vector<double>& right) {
  for (std::size_t c = 0; c < right.size(); ++c) error.add(found[c], right[c]);
}

/// What limits a kernel whose shared memory takes more clocks than its multiply-adds.
std::string limit_text(const WarpClocks& clocks) {
  char text[160];
  std::snprintf(text, sizeof text,
                "shared memory, by count: %.0f passes a warp and tile, %.0f clocks of useful multiply-adds, "
                "so at most %.0f %%",
                clocks.shared_memory, clocks.useful, 100 * clocks.share());
  return text;
}

}  // namespace

Reference reference_of(int ranks, int shard_tokens, int head_dim) {
  const auto entries = [=](Numbers (*numbers)(int rank)) {
    std::vector<Numbers> of_ranks;
    for (int rank = 0; rank < ranks; ++rank) of_ranks.push_back(numbers(rank));
    return [=](int i, int c) {
      return of_ranks[i / shard_tokens](static_cast<std::size_t>(i % shard_tokens) * head_dim + c);
    };
  };
  return {ranks * shard_tokens, head_dim,           entries(q_numbers),
          entries(k_numbers),   entries(v_numbers), entries(d_o_numbers)};
}

Attention::Attention(int of_heads, int of_tokens, int keys, int columns, int rank, const Stream& in)
    : stream(in),
      heads(of_heads),
      tokens(of_tokens),
      head_dim(columns),
      q(static_cast<std::size_t>(heads) * tokens * head_dim),
      k(q.count()),
      v(q.count()),
      d_o(q.count()),
      m(static_cast<std::size_t>(heads) * tokens),
      l(m.count()),
      o(q.count()),
      lse(m.count()),
      delta(m.count()),
      dq(q.count()),
      dk(q.count()),
      dv(q.count()),
      first_(std::vector<int>(tokens, 0), stream),
      last_(std::vector<int>(tokens, keys), stream) {
  draw(q, q_numbers(rank), stream);
  draw(k, k_numbers(rank), stream);
  draw(v, v_numbers(rank), stream);
  draw(d_o, d_o_numbers(rank), stream);
  cuda_check(cudaStreamSynchronize(stream.get()));
}

void Attention::forget() const {
  fill(m, -INFINITY, stream);
  fill(l, 0.0f, stream);
  fill(o, 0.0f, stream);
}

void Attention::see(const float* block_k, const float* block_v, int keys, cudaStream_t in) const {
  lesson10::attend_block(q.get(), block_k, block_v, {m.get(), l.get(), o.get()},
                         {heads, tokens, keys, head_dim}, in);
}

void Attention::finish(cudaStream_t in) const {
  lesson10::finish({m.get(), l.get(), o.get()}, lse.get(), {heads, tokens, 0, head_dim}, in);
}

void Attention::begin_backward() const {
  lesson11::row_delta(o.get(), d_o.get(), delta.get(), {heads, tokens, 0, head_dim}, stream.get());
  for (const DeviceFloats* gradient : {&dq, &dk, &dv}) fill(*gradient, 0.0f, stream);
}

void Attention::add_gradients(const float* block_k, const float* block_v, int keys, float* block_dk,
                              float* block_dv, cudaStream_t in) const {
  const lesson11::Block block{
      q.get(), block_k, block_v, d_o.get(), lse.get(), delta.get(), {first_.data(), last_.data()}};
  lesson11::add_gradients(block, dq.get(), block_dk, block_dv, {heads, tokens, keys, head_dim}, in);
}

double Attention::forward_error(const Reference& reference, int first) const {
  RelativeError error;
  for (const int token : {0, tokens - 1}) add_row(error, row(o, token), reference.o(first + token));
  return error.value();
}

double Attention::backward_error(const Reference& reference, int first, std::span<const float> all_lse,
                                 std::span<const float> all_delta) const {
  RelativeError error;
  for (const int token : {0, tokens - 1}) add_row(error, row(dq, token), reference.dq(first + token));
  const Reference::KeyGradients of_key = reference.of_key(first, all_lse, all_delta);
  add_row(error, row(dk, 0), of_key.dk);
  add_row(error, row(dv, 0), of_key.dv);
  return error.value();
}

std::vector<float> Attention::of_head_0(const DeviceFloats& tensor) const {
  std::vector<float> numbers(tensor.count() / static_cast<std::size_t>(heads));
  tensor.read(numbers.data(), 0, numbers.size(), stream);
  return numbers;
}

std::vector<float> Attention::row(const DeviceFloats& tensor, int token) const {
  std::vector<float> numbers(head_dim);
  tensor.read(numbers.data(), static_cast<std::size_t>(token) * head_dim, numbers.size(), stream);
  return numbers;
}

void time_attention(Timings& timings, const Sizes& sizes, int head_dim, bool backward) {
  const std::string name = (backward ? "backward, d = " : "forward, d = ") + std::to_string(head_dim);
  const Stream stream;
  const Attention one(sizes.heads, sizes.tokens, sizes.tokens, head_dim, 0, stream);
  const Reference reference = reference_of(1, sizes.tokens, head_dim);
  const auto forward_call = [&] { one.see(one.k.get(), one.v.get(), one.tokens, stream.get()); };
  const auto backward_call = [&] {
    one.add_gradients(one.k.get(), one.v.get(), one.tokens, one.dk.get(), one.dv.get(), stream.get());
  };
  one.forget();
  forward_call();
  one.finish(stream.get());
  require_right(name, one.forward_error(reference, 0));
  if (backward) {
    one.begin_backward();
    backward_call();
    require_right(name, one.backward_error(reference, 0, one.of_head_0(one.lse), one.of_head_0(one.delta)));
  } else {
    one.forget();
  }
  cudaDeviceProp device;
  cuda_check(cudaGetDeviceProperties(&device, 0));
  const int a_clock = multiply_adds_a_clock(device.major, device.minor);
  const WarpClocks clocks = (backward ? backward_clocks : forward_clocks)(head_dim, a_clock);
  const double operations =
      backward ? one.backward_operations(one.tokens) : one.forward_operations(one.tokens);
  const double seconds = backward ? median_seconds(sizes.effort, stream, backward_call)
                                  : median_seconds(sizes.effort, stream, forward_call);
  timings.add({.name = name,
               .against = multiply_adds_row,
               .bound = share_of_passes * clocks.share(),
               .limited_by = limit_text(clocks)},
              1e-9 * operations / seconds);
}

}  // namespace course::bench::device
