#include <limits>
#include <numeric>

#include "judge/task.hpp"

using namespace course;

namespace {

/// Any lengths, a third of them 0.
std::vector<int> any_shards(InputGenerator& generator, int ranks) {
  std::vector<int> shards(ranks);
  for (int& scores : shards) scores = generator.integer(0, 2) == 0 ? 0 : generator.integer(1, 40);
  return shards;
}

Example row(InputGenerator& generator, std::string what, std::vector<int> shards, double low, double high) {
  const int n = std::accumulate(shards.begin(), shards.end(), 0);
  return {std::move(what), {{"x", generator.uniform_tensor({n}, low, high)}}, {}, std::move(shards)};
}

/// Entries that are -inf with probability 1/2.
Example half_masked(InputGenerator& generator, std::vector<int> shards) {
  Example example = row(generator, "scattered masks", std::move(shards), -3, 3);
  for (float& score : example.inputs["x"].values()) {
    if (generator.integer(0, 1) == 0) score = -std::numeric_limits<float>::infinity();
  }
  return example;
}

std::vector<Example> examples(InputGenerator& generator, int ranks) {
  return {row(generator, "shards of any length", any_shards(generator, ranks), -4, 4),
          row(generator, "scores over 240", any_shards(generator, ranks), -120, 120),
          row(generator, "scores near -3e3", any_shards(generator, ranks), -3010, -3000),
          half_masked(generator, any_shards(generator, ranks))};
}

}  // namespace

void course::add_hidden_examples(LessonJudge& judge) {
  for (Task& task : judge.tasks) task.hidden_examples = examples;
}
