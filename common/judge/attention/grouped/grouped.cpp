#include "judge/attention/grouped/grouped.hpp"

#include <cmath>
#include <numeric>

#include "judge/attention/forward.hpp"
#include "judge/attention/gradient_checks.hpp"
#include "judge/numbers/rounding.hpp"
#include "reference/score_bias.hpp"

namespace course::grouped {

namespace {

/// What q is multiplied by, so that the default scale, 1/sqrt(key_dim), is the example's.
double factor_of_q(const Example& example) {
  if (!example.arguments.contains("scale")) return 1;
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

/// An input with a number a query head; empty where the example has none.
std::vector<double> of_query_heads(const Example& example, const char* name) {
  const auto found = example.inputs.find(name);
  return found == example.inputs.end() ? std::vector<double>() : cast<double>(found->second).values();
}

reference::HeadBias head_bias(const Example& example) {
  return {of_query_heads(example, "slopes"), of_query_heads(example, "sinks")};
}

/// With the mask in it; empty where there is nothing to add.
template <class T>
TensorOf<T> bias_of(const Example& example) {
  const reference::HeadBias bias = head_bias(example);
  if (!example.arguments.contains("starts") && bias.is_none()) return {};
  const Tensor &q = example.inputs.at("q"), &k = example.inputs.at("k");
  std::vector<Index> queries(q.extent(1));
  std::iota(queries.begin(), queries.end(), Index{0});
  return reference::score_bias<T>(keys_seen(example), bias, q.extent(0), queries, k.extent(1));
}

template <class T>
TensorOf<T> with_sink(const Example& example, const char* name) {
  return reference::with_sink(input<T>(example, name), head_bias(example));
}

/// Every head of k or v, once for each head of q that shares it.
Tensor64 for_each_query_head(const Example& example, const char* name) {
  const Tensor64 x = with_sink<double>(example, name);
  const Index heads = example.inputs.at("q").extent(0);
  std::vector<Index> which(heads);
  for (Index head = 0; head < heads; ++head) which[head] = head / (heads / x.extent(0));
  return take(x, 0, which);
}

template <class T>
Answer forward(const Example& example) {
  const auto whole = reference::attention(scaled_q<T>(example), with_sink<T>(example, "k"),
                                          with_sink<T>(example, "v"), {}, bias_of<T>(example));
  return {{"o", cast<double>(whole.o)}, {"lse", cast<double>(whole.lse)}};
}

Answer rounding_of_forward(const Example& example) {
  return rounding::attention(scaled_q<double>(example), for_each_query_head(example, "k"),
                             for_each_query_head(example, "v"), merges_of(example), {},
                             bias_of<double>(example));
}

/// Without the sink's key.
template <class T>
TensorOf<T> of_tokens(const TensorOf<T>& gradient, const Example& example) {
  return slice(gradient, 1, 0, example.inputs.at("k").extent(1));
}

template <class T>
Answer backward(const Example& example) {
  auto gradients = reference::attention_gradients(scaled_q<T>(example), with_sink<T>(example, "k"),
                                                  with_sink<T>(example, "v"), input<T>(example, "d_o"), {},
                                                  {}, bias_of<T>(example));
  for (TensorOf<T>* gradient : {&gradients.dk, &gradients.dv}) *gradient = of_tokens(*gradient, example);
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
  Answer rounded = rounding::attention_gradients(
      q, for_each_query_head(example, "k"), for_each_query_head(example, "v"), input(example, "d_o"), {},
      Tensor64({q.extent(0), q.extent(1)}), bias_of<double>(example));
  const Index kv_heads = example.inputs.at("k").extent(0);
  for (const char* name : {"dk", "dv"})
    rounded[name] = joined_in_groups(of_tokens(rounded[name], example), kv_heads);
  rounded["dq"] = scaled(rounded["dq"], factor_of_q(example));
  return rounded;
}

/// o_i . d_o_i [heads, queries], and by `of_delta` the variance of what is rounded off it.
struct RowDelta {
  Tensor64 delta, of_delta;

  RowDelta(const Tensor64& o, const Tensor64& d_o)
      : delta({o.extent(0), o.extent(1)}), of_delta({o.extent(0), o.extent(1)}) {
    for (Index row = 0; row < delta.size(); ++row) {
      double squares = 0;
      for (Index c = 0; c < o.extent(2); ++c) {
        const double product = o[row * o.extent(2) + c] * d_o[row * o.extent(2) + c];
        delta[row] += product;
        squares += product * product;
      }
      // o is given, rounded.
      of_delta[row] = rounding::of_sum(o.extent(2) + 1, squares, delta[row]);
    }
  }
};

SinkGradients gradients_of_sinks(const Example& example) {
  const std::vector<double> sinks = of_query_heads(example, "sinks");
  if (sinks.empty()) return {};
  const Answer right = forward<double>(example);
  const RowDelta rows(right.at("o"), input(example, "d_o"));
  return sink_gradients(sinks, right.at("lse"), rows.delta, rows.of_delta);
}

/// The same numbers for every rank.
Tensor64 on_all_ranks(const Example& example, const std::vector<double>& numbers) {
  std::vector<double> all;
  for (int rank = 0; rank < example.ranks(); ++rank) all.insert(all.end(), numbers.begin(), numbers.end());
  return {{example.ranks(), std::ssize(numbers)}, std::move(all)};
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

Task backward_task_with_sinks(std::string id, std::string function) {
  Task task = backward_task(std::move(id), std::move(function));
  task.outputs.push_back({.name = "d_sinks", .axes = {"rank", "head"}});
  const auto also = [](const std::function<Answer(const Example&)>& gradients,
                       std::vector<double> SinkGradients::*of_sinks) {
    return [=](const Example& example) {
      Answer answer = gradients(example);
      answer["d_sinks"] = on_all_ranks(example, gradients_of_sinks(example).*of_sinks);
      return answer;
    };
  };
  task.expected = also(task.expected, &SinkGradients::values);
  task.baseline = also(task.baseline, &SinkGradients::values);
  task.rounding = also(task.rounding, &SinkGradients::rounded);
  return task;
}

SinkGradients sink_gradients(const std::vector<double>& sinks, const Tensor64& lse, const Tensor64& delta,
                             const Tensor64& of_delta) {
  SinkGradients gradients;
  for (Index head = 0; head < std::ssize(sinks); ++head) {
    double sum = 0, squares = 0, off = 0;
    for (Index i = 0; i < lse.extent(1); ++i) {
      const double exponent = sinks[head] - lse.matrix()(head, i), weight = std::exp(exponent),
                   term = weight * delta.matrix()(head, i);
      sum -= term;
      squares += term * term;
      // lse is given, rounded; exp is off by a step or two of its own.
      const double of_exponent = rounding::of(lse.matrix()(head, i)) + rounding::of(std::abs(exponent) + 2);
      off += of_exponent * term * term + weight * weight * of_delta.matrix()(head, i);
    }
    gradients.values.push_back(sum);
    gradients.rounded.push_back(std::sqrt(off + rounding::of_sum(lse.extent(1), squares, sum)));
  }
  return gradients;
}

std::int64_t bytes_of_tokens(const Example& example, int tokens) {
  const Tensor &k = example.inputs.at("k"), &v = example.inputs.at("v");
  return (k.extent(0) * k.extent(2) + v.extent(0) * v.extent(2)) * tokens *
         static_cast<std::int64_t>(sizeof(float));
}

}  // namespace course::grouped
