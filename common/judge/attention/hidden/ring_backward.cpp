#include "judge/attention/ring/ring_backward.hpp"

#include "judge/attention/ring/ring_mask.hpp"
#include "ring/shards.hpp"

namespace course {

std::vector<Example> ring_backward::hidden_examples(InputGenerator& generator, int ranks) {
  const std::vector<int> shards = any_shards(generator, ranks, 8);
  const int n = total_tokens(shards);
  std::vector<Example> all;
  const auto add = [&](std::string what, QKV qkv) {
    Tensor d_o = generator.normal(qkv.q.shape());
    all.push_back(make_example(std::move(what), shards, std::move(qkv), std::move(d_o)));
  };
  add("shards of any length", random_qkv(generator, 4, n, n, generator.integer(2, 33)));
  add("steep scores", random_qkv(generator, 2, n, n, 13, 2));
  add("scores far below 0", very_negative_qkv(generator, 2, n, n, 9, -300));
  all.push_back(real_example(generator, "real input", shards, {generator.integer(0, 11)}));
  return all;
}

std::vector<Example> ring_backward::hidden_masked_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (Example& example : hidden_examples(generator, ranks)) {
    const int tokens = example.layout.tokens();
    Example forward = ring_mask::with_offset(std::move(example), generator.integer(-tokens / 2, tokens / 2));
    for (float& entry : forward.inputs.at("q").values()) entry /= 2;  // as in masked_examples
    for (const char* const name : {"o", "lse"}) forward.inputs.erase(name);
    const auto d_o = forward.inputs.extract("d_o");
    all.push_back(with_gradient(std::move(forward), std::move(d_o.mapped())));
  }
  return all;
}

}  // namespace course
