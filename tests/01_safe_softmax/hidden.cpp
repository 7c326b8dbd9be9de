#include "judge/task.hpp"

using namespace course;

namespace {

std::vector<Example> examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](std::string what, Tensor x) {
    all.push_back({std::move(what), {{"x", std::move(x)}}});
  };
  add("a wide matrix", score_rows(generator, generator.integer(3, 6), generator.integer(300, 700)));
  add("a tall matrix", score_rows(generator, generator.integer(200, 400), generator.integer(2, 5)));
  add("many masked rows", masked_rows(generator, generator.integer(17, 33), generator.integer(9, 50)));
  add("many wide rows", wide_rows(generator, generator.integer(17, 33), generator.integer(9, 50)));
  add("a late maximum in long rows", late_maximum_rows(generator, 7, generator.integer(100, 300)));
  add("one row, masked or not", masked_rows(generator, 1, generator.integer(1, 9)));
  return all;
}

}  // namespace

void course::add_hidden_examples(LessonJudge& judge) {
  for (Task& task : judge.tasks) task.hidden_examples = examples;
}
