#include "judge/attention/latent/latent.hpp"

#include <cmath>

#include "judge/attention/forward.hpp"
#include "judge/attention/grouped/rings.hpp"
#include "judge/attention/grouped/tasks.hpp"
#include "judge/numbers/rounding.hpp"

namespace course::latent {

namespace {

struct LatentSizes {
  Index heads, nope_dim, rope_dim, latent_dim, value_dim;
};

Example latent_example(InputGenerator& generator, std::string what, const Layout& layout,
                       const LatentSizes& x) {
  const Index n = layout.tokens();
  const float key_size = 1 / std::sqrt(static_cast<float>(x.latent_dim));
  const std::vector<int> tokens = layout.shard_tokens();
  return {std::move(what),
          {{"q_nope", generator.normal({x.heads, n, x.nope_dim})},
           {"q_rope", generator.normal({x.heads, n, x.rope_dim})},
           {"latent", generator.normal({1, n, x.latent_dim + x.rope_dim}, 1.5f)},
           {"key_up", generator.normal({x.heads, x.nope_dim, x.latent_dim}, key_size)},
           {"value_up", generator.normal({x.heads, x.value_dim, x.latent_dim}, key_size)}},
          {{"shard_tokens", {tokens.begin(), tokens.end()}}},
          layout};
}

/// Keys and values as each head has them: not absorbed.
template <class T>
struct Expanded {
  TensorOf<T> q, k, v;

  explicit Expanded(const Example& example) {
    const TensorOf<T> q_nope = input<T>(example, "q_nope"), q_rope = input<T>(example, "q_rope"),
                      latent = input<T>(example, "latent"), key_up = input<T>(example, "key_up"),
                      value_up = input<T>(example, "value_up");
    const Index heads = q_nope.extent(0), n = q_nope.extent(1), nope = q_nope.extent(2),
                rope = q_rope.extent(2), width = value_up.extent(1), latent_dim = key_up.extent(2);
    q = concatenate<T>({q_nope, q_rope}, 2);
    k = TensorOf<T>({heads, n, nope + rope});
    v = TensorOf<T>({heads, n, width});
    const auto product = [&](const TensorOf<T>& up, Index head, Index row, Index token) {
      T sum = 0;
      for (Index c = 0; c < latent_dim; ++c) sum += up.heads()(head, row, c) * latent.heads()(0, token, c);
      return sum;
    };
    for (Index head = 0; head < heads; ++head) {
      for (Index token = 0; token < n; ++token) {
        for (Index c = 0; c < nope; ++c) k.heads()(head, token, c) = product(key_up, head, c, token);
        for (Index c = 0; c < rope; ++c)
          k.heads()(head, token, nope + c) = latent.heads()(0, token, latent_dim + c);
        for (Index c = 0; c < width; ++c) v.heads()(head, token, c) = product(value_up, head, c, token);
      }
    }
  }
};

template <class T>
Answer latent_answer(const Example& example) {
  const Expanded<T> x(example);
  const auto whole = reference::attention(x.q, x.k, x.v);
  return {{"o", cast<double>(whole.o)}, {"lse", cast<double>(whole.lse)}};
}

/// Three products round beside attention itself: two before the scores, and one behind the output. That all
/// together round off less than four times what attention does is not derived.
Answer latent_rounding(const Example& example) {
  const Expanded<double> x(example);
  Answer rounded = rounding::attention(x.q, x.k, x.v, example.ranks());
  for (auto& [name, deviation] : rounded)
    for (double& number : deviation.values()) number *= 4;
  return rounded;
}

std::vector<Example> latent_examples(InputGenerator& generator, int ranks) {
  const std::vector<Layout> shards = grouped::all_kinds_of_shards(generator, ranks);
  std::vector<Example> all{
      latent_example(generator, "a latent wider than a head", shards[0], {4, 3, 2, 8, 5}),
      latent_example(generator, "a latent narrower than a head", shards[1], {3, 6, 2, 4, 3}),
      latent_example(generator, "no rotary part", shards[2], {2, 4, 0, 6, 4}),
      latent_example(generator, "a large rotary part", shards[3], {3, 2, 7, 5, 2})};
  if (ranks == grouped::ranks_of_large_blocks) {
    all.push_back(latent_example(generator, "latents of a quarter of a megabyte",
                                 Layout(std::vector<int>(ranks, 4)), {1, 2, 2, 16382, 2}));
    all.back().large = true;
  }
  return all;
}

/// The absorbed queries, the state and the output before value_up are as long as a block each; one block is
/// held, and the library copies one: twice that.
constexpr int rooms_of_latents = 2 * (3 + 1 + 1);

std::int64_t bytes_of_latents(const Example& example, int tokens) {
  return example.inputs.at("latent").extent(2) * tokens * static_cast<std::int64_t>(sizeof(float));
}

std::int64_t twice(const Example&) {
  return 2;
}

/// The latent's first columns as values.
Example as_grouped(const Example& example) {
  Example grouped = example;
  grouped.worked = nullptr;
  const Tensor& latent = example.inputs.at("latent");
  grouped.inputs["k"] = latent;
  grouped.inputs["v"] = slice(latent, 2, 0, example.inputs.at("d_o").extent(2));
  return grouped;
}

/// dk, and in its first columns dv as well.
Tensor64 with_values(Tensor64 dk, const Tensor64& dv) {
  for (Index j = 0; j < dk.extent(1); ++j) {
    for (Index c = 0; c < dv.extent(2); ++c) dk.heads()(0, j, c) += dv.heads()(0, j, c);
  }
  return dk;
}

template <class Gradients>
Answer latent_gradients(const Example& example, const Gradients& gradients) {
  const Answer all = gradients(as_grouped(example));
  Tensor64 d_latent = with_values(all.at("dk"), all.at("dv"));
  return {{"dq", all.at("dq")}, {"d_latent", std::move(d_latent)}};
}

std::vector<Example> latent_backward_examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](const char* what, Index heads, Index latent_dim, Index rope_dim) {
    Example example = grouped::make_example(generator, what, grouped::of_one_rank(generator.integer(6, 9)),
                                            {heads, 1, latent_dim + rope_dim, latent_dim});
    example.inputs["latent"] = example.inputs.at("k");
    example.inputs["v"] = slice(example.inputs.at("k"), 2, 0, latent_dim);
    example = grouped::with_gradient(generator, std::move(example));
    for (const auto& [before, of] : {std::pair{"before_dq", "q"}, {"before_d_latent", "latent"}})
      example.inputs[before] = generator.normal(example.inputs.at(of).shape(), 0.1f);
    for (const char* only_of_grouped : {"k", "v"}) example.inputs.erase(only_of_grouped);
    example.layout = {};
    all.push_back(std::move(example));
  };
  add("a rotary part", 4, 5, 3);
  add("no rotary part", 3, 6, 0);
  add("a large rotary part", 2, 2, 6);
  add("one head", 1, 4, 2);
  return all;
}

}  // namespace

Task ring_task(std::string id, std::string function, const char* sent_twice) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"o", {"head", "row", "col"}, 1}, {"lse", {"head", "row"}, 1}},
          .examples = latent_examples,
          .expected = latent_answer<double>,
          .baseline = latent_answer<float>,
          .rounding = latent_rounding,
          .communication_checks = grouped::ring_checks(
              grouped::sends_whole_rounds(bytes_of_latents, checks::forward_hops, twice, sent_twice),
              bytes_of_latents, rooms_of_latents),
          .split_axis = {{"q_nope", 1}, {"q_rope", 1}, {"latent", 1}}};
}

Task block_backward_task(std::string id, std::string function) {
  const Task of_groups = grouped::backward_task("", "");
  const auto added_to_before = [](const std::function<Answer(const Example&)>& gradients) {
    return [gradients](const Example& example) {
      Answer answer = latent_gradients(example, gradients);
      const auto before = example.inputs.find("before_d_latent");
      for (Index i = 0; i < answer["d_latent"].size(); ++i) answer["d_latent"][i] += before->second[i];
      return answer;
    };
  };
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"dq", {"head", "row", "col"}, 1}, {"d_latent", {"head", "row", "col"}, 1}},
          .examples = latent_backward_examples,
          .expected = added_to_before(of_groups.expected),
          .baseline = added_to_before(of_groups.baseline),
          .rounding = [gradients = of_groups.rounding](
                          const Example& example) { return latent_gradients(example, gradients); },
          .largest_tolerance = of_groups.largest_tolerance,
          .mistakes_cancel = true};
}

}  // namespace course::latent
