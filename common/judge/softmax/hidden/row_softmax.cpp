#include "judge/softmax/row_softmax.hpp"

namespace course {

std::vector<Example> row_softmax::hidden_examples(InputGenerator& generator, int) {
  return {make_example("a wide matrix",
                       score_rows(generator, generator.integer(3, 6), generator.integer(300, 700))),
          make_example("a tall matrix",
                       score_rows(generator, generator.integer(200, 400), generator.integer(2, 5))),
          make_example("many masked rows",
                       masked_rows(generator, generator.integer(17, 33), generator.integer(9, 50))),
          make_example("many wide rows",
                       wide_rows(generator, generator.integer(17, 33), generator.integer(9, 50))),
          make_example("a late maximum in long rows",
                       late_maximum_rows(generator, 7, generator.integer(100, 300))),
          make_example("one row, masked or not", masked_rows(generator, 1, generator.integer(1, 9)))};
}

}  // namespace course
