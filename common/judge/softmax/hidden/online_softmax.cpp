#include "judge/softmax/online_softmax.hpp"

namespace course::online_softmax {

std::vector<Example> hidden_examples(InputGenerator& generator, int) {
  const int block = generator.integer(2, 33);
  const auto rows = [&](std::string what, Tensor scores) {
    return make_example(generator, std::move(what), std::move(scores), generator.integer(1, 12), block);
  };
  return {rows("long rows", score_rows(generator, 4, generator.integer(150, 400))),
          rows("masked rows", masked_rows(generator, 12, generator.integer(30, 90))),
          rows("wide rows", wide_rows(generator, 12, generator.integer(30, 90))),
          rows("a late maximum", late_maximum_rows(generator, 6, generator.integer(30, 90)))};
}

}  // namespace course::online_softmax
