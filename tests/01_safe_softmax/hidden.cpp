#include "judge/task.hpp"

using namespace course;

namespace {

std::vector<Example> examples(Draw& draw, int) {
  std::vector<Example> all;
  const auto add = [&](std::string what, Tensor x) {
    all.push_back({std::move(what), {{"x", std::move(x)}}});
  };
  add("a wide matrix", score_rows(draw, draw.integer(3, 6), draw.integer(300, 700)));
  add("a tall matrix", score_rows(draw, draw.integer(200, 400), draw.integer(2, 5)));
  add("many masked rows", masked_rows(draw, draw.integer(17, 33), draw.integer(9, 50)));
  add("many wide rows", wide_rows(draw, draw.integer(17, 33), draw.integer(9, 50)));
  add("a late maximum in long rows", late_maximum_rows(draw, 7, draw.integer(100, 300)));
  add("one row, masked or not", masked_rows(draw, 1, draw.integer(1, 9)));
  return all;
}

}  // namespace

void course::add_hidden_examples(LessonJudge& judge) {
  for (Task& task : judge.tasks) task.hidden_examples = examples;
}
