#include <limits>
#include <numeric>

#include "judge/task.hpp"

using namespace course;

namespace {

/// Any lengths, a third of them 0.
std::vector<int> any_shards(Draw& draw, int ranks) {
  std::vector<int> shards(ranks);
  for (int& scores : shards) scores = draw.integer(0, 2) == 0 ? 0 : draw.integer(1, 40);
  return shards;
}

Example row(Draw& draw, std::string what, std::vector<int> shards, double low, double high) {
  const int n = std::accumulate(shards.begin(), shards.end(), 0);
  return {std::move(what), {{"x", draw.uniform_tensor({n}, low, high)}}, {}, std::move(shards)};
}

/// Entries that are -inf with probability 1/2.
Example half_masked(Draw& draw, std::vector<int> shards) {
  Example example = row(draw, "scattered masks", std::move(shards), -3, 3);
  for (float& score : example.inputs["x"].values()) {
    if (draw.integer(0, 1) == 0) score = -std::numeric_limits<float>::infinity();
  }
  return example;
}

std::vector<Example> examples(Draw& draw, int ranks) {
  return {row(draw, "shards of any length", any_shards(draw, ranks), -4, 4),
          row(draw, "scores over 240", any_shards(draw, ranks), -120, 120),
          row(draw, "scores near -3e3", any_shards(draw, ranks), -3010, -3000),
          half_masked(draw, any_shards(draw, ranks))};
}

}  // namespace

void course::add_hidden_examples(LessonJudge& judge) {
  for (Task& task : judge.tasks) task.hidden_examples = examples;
}
