#include "demo/input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
  const auto refuse = [&](const std::string& why) {
    throw UsageError(path.string() + ": has the shape " + to_string(shape) + ", " + why);
  };
  constexpr int most_tokens = std::numeric_limits<int>::max();
  if (shape.size() < 2 || shape.size() > 4)
    refuse("expected [seq, dim], [heads, seq, dim] or [batch, heads, seq, dim]");
  if (element_count(shape) == 0) refuse("which is empty, expected at least 1 along every axis");
  if (shape[shape.size() - 2] > most_tokens) refuse(fmt::format("expected at most {} tokens", most_tokens));
}

/// A line where there are more heads than tokens, which is no fault of itself; empty where there are not.
std::string doubt_of(const fs::path& path, const Shape& shape) {
  if (shape.size() < 3) return "";
  const Index heads = shape[shape.size() - 3], tokens = shape[shape.size() - 2];
  if (heads <= tokens) return "";
  const char* const axes = shape.size() == 3 ? "1, 0, 2" : "0, 2, 1, 3";
  return fmt::format(
      "{}: {} is read as {} heads of {} token{}. If it is {} heads of {} tokens, save x.transpose({})",
      path.string(), to_string(shape), heads, tokens, tokens == 1 ? "" : "s", tokens, heads, axes);
}

Tensor read_tensor(const fs::path& path) {
  Tensor tensor = read_npy<float>(path);
  require_shape(path, tensor.shape());
  require_finite(path, tensor);
  return tensor;
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

/// Throws UsageError unless float32 holds what may be reached.
void require_float32_holds(double reached, const std::string& what) {
  if (reached <= float32_range) return;
  throw UsageError(fmt::format("{} may reach {:.3g}, expected magnitudes up to float32's {:.3g}", what,
                               reached, float32_range));
}

/// No partial sum of a score exceeds |q| |k| (Cauchy and Schwarz), none of an output seq times the largest
/// value, none of dq 2 |d_o| |v| |k|, and none of dk seq times 2 |d_o| |v| |q|.
void require_float32_suffices(const OwnFiles& files, const Input& input) {
  const double q = largest_row_norm(input.q), k = largest_row_norm(input.k),
               seq = static_cast<double>(input.seq());
  require_float32_holds(q * k, files.q.string() + ", " + files.k.string() + ": scores q . k");
  double value = 0;
  for (const float v : input.v.values()) value = std::max(value, std::abs(static_cast<double>(v)));
  require_float32_holds(value * seq, fmt::format("{}: a sum over {} values", files.v.string(), input.seq()));
  if (!input.d_o) return;
  const double dp = 2 * largest_row_norm(*input.d_o) * std::max(1.0, largest_row_norm(input.v));
  require_float32_holds(dp * std::max({1.0, q, k}) * seq, files.d_o.string() + ": a sum of gradients");
}

/// Where the heads are in a shape; nothing where there is no such axis.
std::optional<std::size_t> axis_of_heads(const Shape& shape) {
  if (shape.size() < 3) return std::nullopt;
  return shape.size() - 3;
}

/// Whether shapes are the same but for the number of heads.
bool differ_in_heads(const Shape& q, Shape k) {
  const std::optional<std::size_t> heads = axis_of_heads(q);
  if (!heads || k.size() != q.size() || k == q) return false;
  k[*heads] = q[*heads];
  return k == q;
}

/// Of shape `q`, but that several heads of q may share one.
Tensor read_keys(const fs::path& path, const Shape& q, const fs::path& path_of_q) {
  Tensor tensor = read_tensor(path);
  Shape shape = tensor.shape();
  const std::optional<std::size_t> heads = axis_of_heads(q);
  if (heads && shape.size() == q.size() && q[*heads] % shape[*heads] == 0) shape[*heads] = q[*heads];
  if (shape == q) return fold_into_heads(std::move(tensor));
  throw UsageError(
      fmt::format("{}: has the shape {}, expected {} like {}{}: each rank holds as many keys "
                  "and values as queries",
                  path.string(), to_string(tensor.shape()), to_string(q), path_of_q.string(),
                  heads ? ", or of fewer heads that divide these" : ""));
}

Input read_own(const OwnFiles& files, bool backward) {
  Input input;
  input.description = fmt::format("{}, {}, {}", files.q.string(), files.k.string(), files.v.string());
  input.q = read_tensor(files.q);
  input.shape = input.q.shape();
  input.doubt = doubt_of(files.q, input.shape);
  const auto read_beside = [&](const fs::path& path) {
    Tensor tensor = read_tensor(path);
    if (tensor.shape() == input.shape) return fold_into_heads(std::move(tensor));
    throw UsageError(
        fmt::format("{}: has the shape {}, expected {} like {}: each rank holds as many keys and "
                    "values as queries",
                    path.string(), to_string(tensor.shape()), to_string(input.shape), files.q.string()));
  };
  input.k = read_keys(files.k, input.shape, files.q);
  input.v = read_keys(files.v, input.shape, files.q);
  if (input.k.extent(0) != input.v.extent(0)) {
    throw UsageError(fmt::format("{} has {} heads and {} has {}, expected as many", files.k.string(),
                                 input.k.extent(0), files.v.string(), input.v.extent(0)));
  }
  input.q = fold_into_heads(std::move(input.q));
  if (backward) {
    input.d_o = read_beside(files.d_o);
    input.description += ", " + files.d_o.string();
  }
  require_float32_suffices(files, input);
  return input;
}

Input draw_input(const Sizes& sizes) {
  InputGenerator generator(sizes.seed);
  const auto& [heads, tokens, head_dim] = sizes.extents;
  auto [q, k, v] = random_qkv(generator, heads, tokens, tokens, head_dim);
  return {std::move(q),
          std::move(k),
          std::move(v),
          {heads, tokens, head_dim},
          fmt::format("generated at random, seed {}", sizes.seed)};
}

/// up c, for every row c [latent_dim] of the latent and up [heads, width, latent_dim]: [heads, seq, width].
Tensor expanded(const Tensor& up, const Tensor& latent) {
  const Index heads = up.extent(0), width = up.extent(1), seq = latent.extent(1);
  Tensor made({heads, seq, width});
  for (Index head = 0; head < heads; ++head) {
    for (Index token = 0; token < seq; ++token) {
      for (Index c = 0; c < width; ++c) {
        double sum = 0;
        for (Index i = 0; i < up.extent(2); ++i)
          sum += static_cast<double>(up.heads()(head, c, i)) * latent.heads()(0, token, i);
        made.heads()(head, token, c) = static_cast<float>(sum);
      }
    }
  }
  return made;
}

Input draw_latent(const Sizes& sizes, const LatentSizes& widths) {
  InputGenerator generator(sizes.seed);
  const auto& [heads, seq, head_dim] = sizes.extents;
  const auto& [latent_dim, rope_dim] = widths;
  const float unit = 1 / std::sqrt(static_cast<float>(latent_dim));
  Latent given{generator.normal({heads, seq, head_dim}), generator.normal({heads, seq, rope_dim}),
               generator.normal({1, seq, latent_dim + rope_dim}),
               generator.normal({heads, head_dim, latent_dim}, unit),
               generator.normal({heads, head_dim, latent_dim}, unit)};
  const std::vector<Index> for_every_head(heads, 0);
  const Tensor rotary = take(slice(given.latent, 2, latent_dim, rope_dim), 0, for_every_head);
  Input input{
      .q = concatenate<float>({given.q_nope, given.q_rope}, 2),
      .k = concatenate<float>({expanded(given.key_up, given.latent), rotary}, 2),
      .v = expanded(given.value_up, given.latent),
      .shape = {heads, seq, head_dim},
      .description = fmt::format("a latent of {} and a rotary key of {} numbers a token, generated at "
                                 "random, seed {}",
                                 latent_dim, rope_dim, sizes.seed)};
  input.latent = std::move(given);
  return input;
}

/// What simulated GPUs take seconds for.
constexpr Index simulated_heads = 2, simulated_tokens = 64;

Tensor cut_short(const Tensor& whole) {
  return slice(slice(whole, 0, 0, simulated_heads), 1, 0, simulated_tokens);
}

Input cut_short(Input whole) {
  whole.description = fmt::format("cut short, since simulated GPUs are slow: {}", whole.description);
  for (Tensor* tensor : {&whole.q, &whole.k, &whole.v}) *tensor = cut_short(*tensor);
  if (whole.d_o) whole.d_o = cut_short(*whole.d_o);
  whole.shape = whole.q.shape();
  return whole;
}

Input read_minilm(bool backward) {
  const fs::path folder = fs::path(COURSE_DATA_DIR) / "minilm";
  Input input = read_own({folder / "q.npy", folder / "k.npy", folder / "v.npy", folder / "do.npy"}, backward);
  input.description =
      fmt::format("the real Q, K, V{} of a sentence encoder's first layer (common/data/minilm)",
                  backward ? " and dO" : "");
  return input;
}

/// Those of every head that its query heads have in common: the first of each group.
Input with_kv_heads(Input input, Index kv_heads) {
  const Index heads = input.heads();
  if (kv_heads < 1 || heads % kv_heads != 0) {
    throw UsageError(fmt::format("--kv-heads {}: {} key heads do not divide {} heads, expected {}", kv_heads,
                                 kv_heads, heads, fmt::join(divisors_of(heads), ", ")));
  }
  std::vector<Index> first_of_groups;
  for (Index head = 0; head < heads; head += heads / kv_heads) first_of_groups.push_back(head);
  for (Tensor* tensor : {&input.k, &input.v}) *tensor = take(*tensor, 0, first_of_groups);
  if (kv_heads < heads)
    input.description += fmt::format("; of K and V heads {}", fmt::join(first_of_groups, ", "));
  return input;
}

Input load_whole(const Options& options, bool backward) {
  if (options.files) return read_own(*options.files, backward);
  if (options.latent) return draw_latent(options.sizes.value_or(Sizes{}), *options.latent);
  if (options.sizes) return draw_input(*options.sizes);
  return options.backend == "sim" ? cut_short(read_minilm(backward)) : read_minilm(backward);
}

}  // namespace

RingFor Options::what() const {
  if (by_exchange()) return RingFor::Exchange;
  const bool shared = kv_heads > 0 || (files && differ_in_heads(npy_shape(files->q), npy_shape(files->k)));
  if (row.any() || layout == "documents" || (shared && causal.value_or(false))) return RingFor::PackedRows;
  if (latent) return RingFor::Latent;
  if (shared) return RingFor::SharedHeads;
  return causal.value_or(false) ? RingFor::Causal : RingFor::Everything;
}

std::vector<Index> divisors_of(Index number) {
  std::vector<Index> divisors;
  for (Index one = 1; one <= number; ++one)
    if (number % one == 0) divisors.push_back(one);
  return divisors;
}

Input load_input(const Options& options, bool backward) {
  Input input = load_whole(options, backward);
  return options.kv_heads == 0 ? std::move(input) : with_kv_heads(std::move(input), options.kv_heads);
}

}  // namespace course::demo
