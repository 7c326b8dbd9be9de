#include "judge/attention/grouped.hpp"

#include <cmath>

#include "judge/attention/forward.hpp"
#include "judge/attention/gradient_checks.hpp"
#include "judge/numbers/rounding.hpp"

namespace course::grouped {

namespace {

/// What q is multiplied by, so that the default scale, 1/sqrt(key_dim), is the example's.
double factor_of_q(const Example& example) {
  const double key_dim = static_cast<double>(example.inputs.at("q").extent(2));
  return example.arguments.at("scale").front() * std::sqrt(key_dim);
}

template <class T>
TensorOf<T> scaled(TensorOf<T> x, double factor) {
  for (T& value : x.values()) value *= static_cast<T>(factor);
  return x;
}

template <class T>
TensorOf<T> scaled_q(const Example& example) {
  return scaled(input<T>(example, "q"), factor_of_q(example));
}

/// Every head of k or v, once for each head of q that shares it.
Tensor64 for_each_query_head(const Example& example, const char* name) {
  const Tensor64 x = input(example, name);
  const Index heads = example.inputs.at("q").extent(0);
  std::vector<Index> which(heads);
  for (Index head = 0; head < heads; ++head) which[head] = head / (heads / x.extent(0));
  return take(x, 0, which);
}

template <class T>
Answer forward(const Example& example) {
  const auto whole =
      reference::attention(scaled_q<T>(example), input<T>(example, "k"), input<T>(example, "v"));
  return {{"o", cast<double>(whole.o)}, {"lse", cast<double>(whole.lse)}};
}

Answer rounding_of_forward(const Example& example) {
  return rounding::attention(scaled_q<double>(example), for_each_query_head(example, "k"),
                             for_each_query_head(example, "v"), merges_of(example));
}

template <class T>
Answer backward(const Example& example) {
  const auto gradients = reference::attention_gradients(scaled_q<T>(example), input<T>(example, "k"),
                                                        input<T>(example, "v"), input<T>(example, "d_o"));
  Answer answer = as_answer(gradients);
  answer["dq"] = scaled(answer["dq"], factor_of_q(example));
  for (auto& [name, gradient] : answer) {
    const auto before = example.inputs.find("before_" + name);
    if (before == example.inputs.end()) continue;
    for (Index i = 0; i < gradient.size(); ++i) gradient[i] += before->second[i];
  }
  return answer;
}

/// The heads of a group round independently: their squares add up.
Tensor64 joined_in_groups(const Tensor64& by_query_head, Index kv_heads) {
  Tensor64 joined({kv_heads, by_query_head.extent(1), by_query_head.extent(2)});
  const Index group = by_query_head.extent(0) / kv_heads;
  const Index head_size = by_query_head.extent(1) * by_query_head.extent(2);
  for (Index i = 0; i < by_query_head.size(); ++i) {
    double& sum = joined[i / (group * head_size) * head_size + i % head_size];
    sum = std::hypot(sum, by_query_head[i]);
  }
  return joined;
}

Answer rounding_of_backward(const Example& example) {
  const Tensor64 q = scaled_q<double>(example);
  Answer rounded =
      rounding::attention_gradients(q, for_each_query_head(example, "k"), for_each_query_head(example, "v"),
                                    input(example, "d_o"), {}, Tensor64({q.extent(0), q.extent(1)}));
  const Index kv_heads = example.inputs.at("k").extent(0);
  for (const char* name : {"dk", "dv"}) rounded[name] = joined_in_groups(rounded[name], kv_heads);
  rounded["dq"] = scaled(rounded["dq"], factor_of_q(example));
  return rounded;
}

/// Each head has numbers 1.5 times as large as the head before, around a mean of its own.
void tell_heads_apart(Tensor& x, float scale, float mean) {
  for (Index head = 0; head < x.extent(0); ++head) {
    for (Index row = 0; row < x.extent(1); ++row) {
      for (float& value : x.heads().head(head).row(row))
        value = scale * (value + mean * static_cast<float>(head + 1));
    }
    scale *= 1.5f;
  }
}

}  // namespace

Example make_example(InputGenerator& generator, std::string what, const Layout& layout, const Sizes& sizes) {
  const Index n = layout.tokens();
  Tensor q = generator.normal({sizes.heads, n, sizes.key_dim});
  Tensor k = generator.normal({sizes.kv_heads, n, sizes.key_dim});
  Tensor v = generator.normal({sizes.kv_heads, n, sizes.value_dim});
  tell_heads_apart(v, 1, 0.5f);
  const std::vector<int> tokens = layout.shard_tokens();
  return {std::move(what),
          {{"q", std::move(q)}, {"k", std::move(k)}, {"v", std::move(v)}},
          {{"shard_tokens", {tokens.begin(), tokens.end()}},
           {"scale", {static_cast<float>(generator.uniform(0.7, 1.4) / std::sqrt(double(sizes.key_dim)))}}},
          layout};
}

Example with_gradient(InputGenerator& generator, Example example) {
  const Answer right = forward<double>(example);
  example.inputs["o"] = cast<float>(right.at("o"));
  example.inputs["lse"] = cast<float>(right.at("lse"));
  example.inputs["d_o"] = generator.normal(right.at("o").shape());
  return example;
}

Task forward_task(std::string id, std::string function) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"o", {"head", "row", "col"}, 1}, {"lse", {"head", "row"}, 1}},
          .examples = {},
          .expected = forward<double>,
          .baseline = forward<float>,
          .rounding = rounding_of_forward,
          .split_axis = {{"q", 1}, {"k", 1}, {"v", 1}}};
}

Task backward_task(std::string id, std::string function) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"dq", {"head", "row", "col"}, 1},
                      {"dk", {"head", "row", "col"}, 1},
                      {"dv", {"head", "row", "col"}, 1}},
          .examples = {},
          .expected = backward<double>,
          .baseline = backward<float>,
          .rounding = rounding_of_backward,
          .split_axis = {{"q", 1}, {"k", 1}, {"v", 1}, {"o", 1}, {"lse", 1}, {"d_o", 1}},
          .largest_tolerance = largest_gradient_tolerance,
          .mistakes_cancel = true};
}

std::int64_t bytes_of_tokens(const Example& example, int tokens) {
  const Tensor &k = example.inputs.at("k"), &v = example.inputs.at("v");
  return (k.extent(0) * k.extent(2) + v.extent(0) * v.extent(2)) * tokens *
         static_cast<std::int64_t>(sizeof(float));
}

}  // namespace course::grouped
