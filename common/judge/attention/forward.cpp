#include "judge/attention/forward.hpp"

#include <algorithm>
#include <cmath>

#include "judge/numbers/dot.hpp"
#include "reference/reference.hpp"

namespace course {

Index integer(const Example& example, const char* name) {
  return static_cast<Index>(example.arguments.at(name).front());
}

Index ragged_block(InputGenerator& generator, Index tokens) {
  Index block = generator.integer(3, static_cast<int>(tokens / 3));
  while ((tokens + 1) % block < 2) ++block;
  return block;
}

template <class T>
Answer attention_answer(const Example& example) {
  const reference::Attention<T> whole =
      reference::attention(input<T>(example, "q"), input<T>(example, "k"), input<T>(example, "v"));
  return {{"o", cast<double>(whole.o)}, {"lse", cast<double>(whole.lse)}};
}

template Answer attention_answer<float>(const Example&);
template Answer attention_answer<double>(const Example&);

Task attention_task(std::string id, std::string function) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"o", {"head", "row", "col"}, 1}, {"lse", {"head", "row"}, 1}},
          .examples = {},
          .expected = attention_answer<double>,
          .baseline = attention_answer<float>,
          .exponents = {{"o", largest_score}},
          .of_family = true};
}

double largest_score(const Example& example) {
  const HeadsView<const float> q = example.inputs.at("q").heads();
  const HeadsView<const float> k = example.inputs.at("k").heads();
  double largest = 0;
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index i = 0; i < q.seq(); ++i) {
      for (Index j = 0; j < k.seq(); ++j)
        largest = std::max(largest, std::abs(dot(q.head(head).row(i), k.head(head).row(j))));
    }
  }
  return largest / std::sqrt(std::max<double>(1, static_cast<double>(q.head_dim())));
}

}  // namespace course
