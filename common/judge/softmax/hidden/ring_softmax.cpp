#include "judge/softmax/ring_softmax.hpp"

#include "player/softmax_steps.hpp"
#include "ring/shards.hpp"

namespace course {

std::vector<Example> ring_softmax::hidden_examples(InputGenerator& generator, int ranks) {
  const auto row = [&](std::string what, double low, double high) {
    std::vector<int> shards(ranks);  // a third of them 0
    for (int& scores : shards) scores = generator.integer(0, 2) == 0 ? 0 : generator.integer(1, 40);
    Tensor x = generator.uniform_tensor({total_tokens(shards)}, low, high);
    return make_example(std::move(what), std::move(x), std::move(shards));
  };
  std::vector<Example> all{row("shards of any length", -4, 4), row("scores over 240", -120, 120),
                           row("scores near -3e3", -3010, -3000), row("scattered masks", -3, 3)};
  for (float& score : all.back().inputs["x"].values()) {
    if (generator.integer(0, 1) == 0) score = softmax_steps::minus_infinity;
  }
  return all;
}

}  // namespace course
