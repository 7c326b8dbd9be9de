#include "judge/attention/forward.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "judge/attention/taken_inputs.hpp"
#include "judge/diagnosis/readings.hpp"
#include "judge/numbers/rounding.hpp"

namespace course {

Index integer(const Example& example, const char* name) {
  return static_cast<Index>(example.arguments.at(name).front());
}

std::string arguments_in_words(const Example& example, const std::vector<std::string>& names) {
  std::vector<std::string> words;
  for (const std::string& name : names) {
    const std::vector<double>& numbers = example.arguments.at(name);
    const std::string list = fmt::format("{}", fmt::join(numbers, ", "));
    words.push_back(name + (numbers.size() == 1 ? " " + list : " {" + list + "}"));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::function<std::string(const Played&)> telling_arguments(std::vector<std::string> names) {
  return
      [names = std::move(names)](const Played& played) { return arguments_in_words(*played.example, names); };
}

Index ragged_block(InputGenerator& generator, Index tokens) {
  Index block = generator.integer(3, static_cast<int>(tokens / 3));
  while ((tokens + 1) % block < 2) ++block;
  return block;
}

reference::Mask keys_seen(const Example& example) {
  if (example.arguments.contains("starts")) {
    const std::vector<double>& starts = example.arguments.at("starts");
    return reference::Mask::packed({starts.begin(), starts.end()}, integer(example, "causal") != 0,
                                   integer(example, "window"));
  }
  if (example.arguments.contains("offset")) return reference::Mask::causal(integer(example, "offset"));
  if (!example.arguments.contains("first")) return {};
  const std::vector<double>& first = example.arguments.at("first");
  const std::vector<double>& last = example.arguments.at("last");
  std::vector<reference::KeyRange> ranges(first.size());
  for (std::size_t i = 0; i < ranges.size(); ++i)
    ranges[i] = {static_cast<Index>(first[i]), static_cast<Index>(last.at(i))};
  return reference::Mask::ranges(std::move(ranges));
}

Index merges_of(const Example& example) {
  const Index keys = example.inputs.at("k").extent(1);
  if (!example.arguments.contains("block")) return example.ranks();
  const Index block = integer(example, "block");
  return (keys + block - 1) / block;
}

template <class T>
Answer attention_answer(const Example& example) {
  const reference::Attention<T> whole = reference::attention(input<T>(example, "q"), input<T>(example, "k"),
                                                             input<T>(example, "v"), keys_seen(example));
  return {{"o", cast<double>(whole.o)}, {"lse", cast<double>(whole.lse)}};
}

void add_block(reference::Attention<double>& all, const reference::Attention<double>& block) {
  const Index head_dim = all.o.extent(2);
  for (Index row = 0; row < all.lse.size(); ++row) {
    const double most = std::max(all.lse[row], block.lse[row]);
    if (most == -std::numeric_limits<double>::infinity()) continue;
    const double before = std::exp(all.lse[row] - most), more = std::exp(block.lse[row] - most);
    for (Index i = row * head_dim; i < (row + 1) * head_dim; ++i)
      all.o[i] = (before * all.o[i] + more * block.o[i]) / (before + more);
    all.lse[row] = most + std::log(before + more);
  }
}

namespace {

/// Each query's largest score; -inf, as if it saw no key, under a mask.
Tensor64 maxima(const Example& example) {
  const Tensor &q = example.inputs.at("q"), &k = example.inputs.at("k");
  Tensor64 m({q.extent(0), q.extent(1)}, -std::numeric_limits<double>::infinity());
  if (example.arguments.contains("offset") || example.arguments.contains("first")) return m;
  const Index head_dim = q.extent(2), keys = k.extent(1);
  for (Index row = 0; row < m.size(); ++row) {
    for (Index key = row / q.extent(1) * keys; key < (row / q.extent(1) + 1) * keys; ++key) {
      double score = 0;
      for (Index c = 0; c < head_dim; ++c)
        score += static_cast<double>(q[row * head_dim + c]) * k[key * head_dim + c];
      m[row] = std::max(m[row], score / std::sqrt(static_cast<double>(head_dim)));
    }
  }
  return m;
}

}  // namespace

template Answer attention_answer<float>(const Example&);
template Answer attention_answer<double>(const Example&);

Task attention_task(std::string id, std::string function) {
  std::vector<Reading> readings =
      inputs_taken_wrongly({{{"k", "v"}}, {"q", "k", "v"}}, attention_answer<double>);
  std::ranges::move(lse_formulas(attention_answer<double>, maxima), std::back_inserter(readings));
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"o", {"head", "row", "col"}, 1}, {"lse", {"head", "row"}, 1}},
          .examples = {},
          .expected = attention_answer<double>,
          .baseline = attention_answer<float>,
          .rounding =
              [](const Example& example) {
                return rounding::attention(input(example, "q"), input(example, "k"), input(example, "v"),
                                           merges_of(example), keys_seen(example));
              },
          .of_family = true,
          .readings = std::move(readings)};
}

}  // namespace course
