#include "judge/layer/layer.hpp"

#include "judge/attention/exchange/examples.hpp"

namespace course::layers {

std::vector<Example> hidden_forward(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (int i = 0; i < 2; ++i) {
    const Sizes sizes{generator.integer(3, 12), generator.integer(1, 3), 2 * generator.integer(1, 3),
                      generator.integer(2, 20)};
    all.push_back(layer_example(generator, "any sizes, any layout", exchange::any_layout(generator, ranks),
                                sizes, generator.integer(1, 6)));
    all.back().arguments["offset"] = {static_cast<double>(generator.integer(0, 1 << 20))};
  }
  return all;
}

std::vector<Example> hidden_backward(InputGenerator& generator, int ranks) {
  return with_gradients(generator, hidden_forward(generator, ranks));
}

std::vector<Example> hidden_losses(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (int i = 0; i < 2; ++i) {
    InputGenerator draw = generator.fork(i == 0 ? "labels" : "more labels");
    const int some = draw.integer(1, 4);
    all.push_back(loss_example(generator, "any labels, any layout", exchange::any_layout(generator, ranks),
                               generator.integer(2, 9), generator.integer(2, 30), generator.integer(1, 6),
                               [&](int, Index) { return draw.integer(0, 4) < some; }));
  }
  return all;
}

}  // namespace course::layers
