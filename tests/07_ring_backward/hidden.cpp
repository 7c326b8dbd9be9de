#include "judge/ring_backward.hpp"
#include "ring/shards.hpp"

using namespace course;

namespace {

std::vector<Example> examples(Draw& draw, int ranks) {
  const std::vector<int> shards = any_shards(draw, ranks, 8);
  const int n = total_tokens(shards);
  std::vector<Example> all;
  const auto add = [&](std::string what, QKV qkv) {
    Tensor d_o = draw.normal(qkv.q.shape());
    all.push_back(ring_backward::make_example(std::move(what), shards, std::move(qkv), std::move(d_o)));
  };
  add("shards of any length", random_qkv(draw, 4, n, n, draw.integer(2, 33)));
  add("steep scores", random_qkv(draw, 2, n, n, 13, 2));
  add("scores far below 0", very_negative_qkv(draw, 2, n, n, 9, -300));
  all.push_back(ring_backward::real_example(draw, "real input", shards, {draw.integer(0, 11)}));
  return all;
}

}  // namespace

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks[1].hidden_examples = examples;
}
