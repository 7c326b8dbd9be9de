#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include "judge/task.hpp"

/// What task 1 computes, rightly or with a known mistake.
namespace tokens_to_hide {

using namespace course;

/// The columns of `setups`.
enum Column { flops, link, element, gradient, query_heads, key_heads, causal, columns };

/// A row of `setups`, in float64.
using Setup = std::vector<double>;

struct Tokens {
  double forward, backward;
};

using Formula = std::function<Tokens(Setup)>;

/// Time for time: the tokens at which operations and bytes take equally long.
inline Tokens right_tokens(Setup x) {
  const double work = x[query_heads] * (x[causal] != 0 ? 0.5 : 1) / x[flops];
  const double wire = 2 * x[key_heads] / x[link];
  return {wire * x[element] / (4 * work), wire * (x[element] + x[gradient]) / (10 * work)};
}

inline std::function<Answer(const Example&)> by(Formula formula) {
  return [formula = std::move(formula)](const Example& example) -> Answer {
    const Tensor64 setups = cast<double>(example.inputs.at("setups"));
    Answer answer{{"forward", Tensor64({setups.extent(0), 1})},
                  {"backward", Tensor64({setups.extent(0), 1})}};
    for (Index i = 0; i < setups.extent(0); ++i) {
      const auto row = setups.matrix().row(i);
      const Tokens tokens = formula({row.begin(), row.end()});
      answer["forward"][i] = tokens.forward;
      answer["backward"][i] = tokens.backward;
    }
    return answer;
  };
}

inline std::vector<Mistake> known_mistakes() {
  const auto changed = [](void (*change)(Setup&)) {
    return by([change](Setup x) {
      change(x);
      return right_tokens(std::move(x));
    });
  };
  const auto scaled = [](double forward, double backward) {
    return by([forward, backward](Setup x) {
      const Tokens right = right_tokens(std::move(x));
      return Tokens{forward * right.forward, backward * right.backward};
    });
  };
  return {{"two_bytes_assumed", changed([](Setup& x) { x[element] = x[gradient] = 2; })},
          {"gradients_left_out", changed([](Setup& x) { x[gradient] = 0; })},
          {"keys_and_values_left_out", by([](Setup x) {
             const double forward = right_tokens(x).forward;
             x[element] = 0;
             return Tokens{forward, right_tokens(std::move(x)).backward};
           })},
          {"heads_ignored", changed([](Setup& x) { x[key_heads] = x[query_heads]; })},
          {"causal_ignored", changed([](Setup& x) { x[causal] = 0; })},
          {"twice_the_work", scaled(0.5, 0.5)},
          {"twice_the_work", scaled(0.5, 1)},
          {"twice_the_work", scaled(1, 0.5)},
          {"heads_upside_down", changed([](Setup& x) { std::swap(x[query_heads], x[key_heads]); })},
          {"causal_halves", by([](Setup x) {
             const Tokens right = right_tokens(x);
             const double factor = x[causal] != 0 ? 0.25 : 1;
             return Tokens{factor * right.forward, factor * right.backward};
           })}};
}

}  // namespace tokens_to_hide
