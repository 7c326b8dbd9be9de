#include "judge/planning/tokens_to_hide.hpp"

#include <cmath>
#include <functional>
#include <vector>

namespace course::tokens_to_hide {

namespace {

/// The columns of `setups`.
enum Column { flops, link, element, gradient, query_heads, key_heads, causal, columns };

/// A row of `setups`, in float64.
using Setup = std::vector<double>;

struct Tokens {
  double forward, backward;
};

using Formula = std::function<Tokens(Setup)>;

/// Time for time: the tokens at which operations and bytes take equally long.
Tokens right_tokens(Setup x) {
  const double work = x[query_heads] * (x[causal] != 0 ? 0.5 : 1) / x[flops];
  const double wire = 2 * x[key_heads] / x[link];
  return {wire * x[element] / (4 * work), wire * (x[element] + x[gradient]) / (10 * work)};
}

std::function<Answer(const Example&)> by(Formula formula) {
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

std::vector<Mistake> known_mistakes() {
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
          {"one_width", changed([](Setup& x) { x[gradient] = x[element]; })},
          {"one_width", by([](Setup x) {
             const double forward = right_tokens(x).forward;
             x[element] = x[gradient];
             return Tokens{forward, right_tokens(std::move(x)).backward};
           })},
          {"heads_ignored", changed([](Setup& x) { x[key_heads] = x[query_heads]; })},
          {"causal_ignored", changed([](Setup& x) { x[causal] = 0; })},
          {"twice_the_work", scaled(0.5, 0.5)},
          {"twice_the_work", scaled(0.5, 1)},
          {"twice_the_work", scaled(1, 0.5)},
          {"half_the_work", scaled(2, 2)},
          {"half_the_work", scaled(2, 1)},
          {"half_the_work", scaled(1, 2)},
          {"seven_products", scaled(1, 10.0 / 14)},
          {"heads_upside_down", changed([](Setup& x) { std::swap(x[query_heads], x[key_heads]); })},
          {"causal_halves", by([](Setup x) {
             const Tokens right = right_tokens(x);
             const double factor = x[causal] != 0 ? 0.25 : 1;
             return Tokens{factor * right.forward, factor * right.backward};
           })}};
}

enum class Wire { Float32, Bf16, Mixed };

/// Rows of one kind: machines from a laptop core to an accelerator, links from Ethernet to NVLink.
Example setups(InputGenerator& generator, std::string what, Wire wire, bool is_grouped, bool is_causal) {
  constexpr Index rows = 6;
  Tensor all({rows, columns});
  for (Index i = 0; i < rows; ++i) {
    const auto power_of_ten = [&](double low, double high) {
      return static_cast<float>(std::pow(10.0, generator.uniform(low, high)));
    };
    const float heads = static_cast<float>(generator.integer(1, 16));
    const auto row = all.matrix().row(i);
    row[flops] = power_of_ten(10, 15);
    row[link] = power_of_ten(8, 12);
    row[element] = wire == Wire::Float32 ? 4 : 2;
    row[gradient] = wire == Wire::Bf16 ? 2 : 4;
    row[key_heads] = heads;
    row[query_heads] = heads * static_cast<float>(is_grouped ? generator.integer(2, 8) : 1);
    row[causal] = is_causal ? 1 : 0;
  }
  return {std::move(what), {{"setups", std::move(all)}}};
}

std::vector<Example> all_setups(InputGenerator& generator, int) {
  return {setups(generator, "bf16", Wire::Bf16, false, false),
          setups(generator, "float32", Wire::Float32, false, false),
          setups(generator, "bf16 with float32 gradients", Wire::Mixed, false, false),
          setups(generator, "a causal mask", Wire::Bf16, false, true),
          setups(generator, "grouped queries", Wire::Bf16, true, false),
          setups(generator, "all of it", Wire::Mixed, true, true)};
}

}  // namespace

Task task(std::string id, std::string function) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"forward", {"setup", ""}}, {"backward", {"setup", ""}}},
          .examples = all_setups,
          .expected = by(right_tokens),
          .baseline = by(right_tokens),
          .mistakes = known_mistakes()};
}

}  // namespace course::tokens_to_hide
