#include "demo/input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/numbers/input_generator.hpp"
#include "protocol/errors.hpp"
#include "tensor/npy.hpp"

namespace course::demo {

namespace {

namespace fs = std::filesystem;

constexpr double float32_range = std::numeric_limits<float>::max();

void require_shape(const fs::path& path, const Shape& shape) {
  if (shape.size() < 2 || shape.size() > 4) {
    throw UsageError(path.string() + ": has the shape " + to_string(shape) +
                     ", expected [seq, dim], [heads, seq, dim] or [batch, heads, seq, dim]");
  }
  if (element_count(shape) == 0) {
    throw UsageError(path.string() + ": has the shape " + to_string(shape) +
                     ", which is empty, expected at least 1 along every axis");
  }
  if (shape[shape.size() - 2] > std::numeric_limits<int>::max()) {
    throw UsageError(path.string() + ": has the shape " + to_string(shape) + ", expected at most " +
                     std::to_string(std::numeric_limits<int>::max()) + " tokens");
  }
}

Tensor read_tensor(const fs::path& path) {
  Tensor tensor = read_npy<float>(path);
  require_shape(path, tensor.shape());
  require_finite(path, tensor);
  return tensor;
}

/// Every shard of q travels with as many rows of k and v.
void require_same_shape(const fs::path& path, const Tensor& tensor, const fs::path& q_path, const Tensor& q) {
  if (tensor.shape() == q.shape()) return;
  throw UsageError(path.string() + ": has the shape " + to_string(tensor.shape()) + ", expected " +
                   to_string(q.shape()) + " like " + q_path.string() +
                   ": each rank holds as many keys and values as queries");
}

/// [seq, dim] becomes one head, [batch, heads, seq, dim] batch * heads of them.
Tensor fold_into_heads(Tensor tensor) {
  const Shape& shape = tensor.shape();
  const Index seq = shape[shape.size() - 2];
  const Index head_dim = shape[shape.size() - 1];
  return {{tensor.size() / (seq * head_dim), seq, head_dim}, std::move(tensor.values())};
}

/// The largest Euclidean norm of a row, in float64.
double largest_row_norm(const Tensor& tensor) {
  const Index head_dim = tensor.extent(2);
  double largest = 0;
  for (Index first = 0; first < tensor.size(); first += head_dim) {
    double square = 0;
    for (Index i = first; i < first + head_dim; ++i) square += static_cast<double>(tensor[i]) * tensor[i];
    largest = std::max(largest, square);
  }
  return std::sqrt(largest);
}

/// No partial sum of a score exceeds |q| |k| (Cauchy and Schwarz), and none of an output seq times the
/// largest value.
void require_float32_suffices(const OwnFiles& files, const Input& input) {
  const double score = largest_row_norm(input.q) * largest_row_norm(input.k);
  if (score > float32_range) {
    throw UsageError(
        fmt::format("{}, {}: scores q . k may reach {:.3g}, expected magnitudes up to float32's {:.3g}",
                    files.q.string(), files.k.string(), score, float32_range));
  }
  double value = 0;
  for (const float v : input.v.values()) value = std::max(value, std::abs(static_cast<double>(v)));
  const double sum = value * static_cast<double>(input.seq());
  if (sum > float32_range) {
    throw UsageError(
        fmt::format("{}: a sum over {} values may reach {:.3g}, expected magnitudes up to float32's {:.3g}",
                    files.v.string(), input.seq(), sum, float32_range));
  }
}

/// No partial sum of dq exceeds 2 |d_o| |v| |k|, and none of dk seq times 2 |d_o| |v| |q|.
void require_float32_suffices_backward(const fs::path& path, const Input& input) {
  const double dp = 2 * largest_row_norm(*input.d_o) * std::max(1.0, largest_row_norm(input.v));
  const double factor = std::max({1.0, largest_row_norm(input.q), largest_row_norm(input.k)});
  const double sum = dp * factor * static_cast<double>(input.seq());
  if (sum <= float32_range) return;
  throw UsageError(
      fmt::format("{}: a sum of gradients may reach {:.3g}, expected magnitudes up to float32's {:.3g}",
                  path.string(), sum, float32_range));
}

Input read_own(const OwnFiles& files, bool backward) {
  Input input;
  input.q = read_tensor(files.q);
  input.shape = input.q.shape();
  input.k = read_tensor(files.k);
  require_same_shape(files.k, input.k, files.q, input.q);
  input.v = read_tensor(files.v);
  require_same_shape(files.v, input.v, files.q, input.q);
  for (Tensor* tensor : {&input.q, &input.k, &input.v}) *tensor = fold_into_heads(std::move(*tensor));
  require_float32_suffices(files, input);
  if (backward) {
    Tensor d_o = read_tensor(*files.d_o);
    if (d_o.shape() != input.shape) {
      throw UsageError(files.d_o->string() + ": has the shape " + to_string(d_o.shape()) + ", expected " +
                       to_string(input.shape) + " like " + files.q.string());
    }
    input.d_o = fold_into_heads(std::move(d_o));
    require_float32_suffices_backward(*files.d_o, input);
  }
  input.description = files.q.string() + ", " + files.k.string() + ", " + files.v.string();
  if (backward) input.description += ", " + files.d_o->string();
  return input;
}

Input draw_input(const Sizes& sizes) {
  InputGenerator generator(sizes.seed);
  QKV drawn = random_qkv(generator, sizes.heads, sizes.seq, sizes.seq, sizes.head_dim);
  Input input{std::move(drawn.q), std::move(drawn.k), std::move(drawn.v), {}, ""};
  input.shape = input.q.shape();
  input.description = fmt::format("generated at random, seed {}", sizes.seed);
  return input;
}

Input read_minilm(bool backward) {
  const fs::path folder = fs::path(COURSE_DATA_DIR) / "minilm";
  Input input = read_own({folder / "q.npy", folder / "k.npy", folder / "v.npy", folder / "do.npy"}, backward);
  input.description =
      fmt::format("the real Q, K, V{} of a sentence encoder's first layer (common/data/minilm)",
                  backward ? " and dO" : "");
  return input;
}

}  // namespace

Input load_input(const Options& options) {
  if (options.files) return read_own(*options.files, options.backward);
  return options.sizes ? draw_input(*options.sizes) : read_minilm(options.backward);
}

}  // namespace course::demo
