#include "judge/task.hpp"

using namespace course;

namespace {

Example example_of(std::string what, QKV qkv, int block) {
  return {std::move(what),
          {{"q", std::move(qkv.q)}, {"k", std::move(qkv.k)}, {"v", std::move(qkv.v)}},
          {{"block", {static_cast<double>(block)}}}};
}

std::vector<Example> examples(InputGenerator& generator, int) {
  const int keys = generator.integer(40, 120);
  const int queries = generator.integer(20, 90);
  const int block = generator.integer(2, keys - 1);
  const Index first = generator.integer(0, 380);
  return {
      example_of("ordinary scores", random_qkv(generator, 2, queries, keys, generator.integer(2, 40)), block),
      example_of("steep scores", random_qkv(generator, 2, queries, keys, 16, 6), block),
      example_of("a late maximum", late_maximum_qkv(generator, 3, queries, keys, 9), block),
      example_of("scores far apart", wide_scores_qkv(generator, 3, queries, keys, 9), block),
      example_of("real input", minilm_qkv(first, 130, {generator.integer(0, 11)}, 3), 48)};
}

}  // namespace

void course::add_hidden_examples(LessonJudge& judge) {
  for (Task& task : judge.tasks) task.hidden_examples = examples;
}
