#include <gtest/gtest.h>

#include <numeric>

#include "judge/program/session.hpp"
#include "reference/reference.hpp"
#include "ring/shards.hpp"

namespace course {

namespace {

Example laid_out(InputGenerator& generator, std::string what, Layout layout) {
  const Index tokens = layout.tokens();
  QKV qkv = random_qkv(generator, 2, tokens, tokens, 4);
  Tensor positions({tokens});
  std::iota(positions.values().begin(), positions.values().end(), 0.0f);
  return {std::move(what),
          {{"q", std::move(qkv.q)},
           {"k", std::move(qkv.k)},
           {"v", std::move(qkv.v)},
           {"positions", std::move(positions)}},
          {},
          std::move(layout)};
}

std::vector<Example> examples(InputGenerator& generator, int ranks) {
  const int tokens = generator.integer(3 * ranks, 5 * ranks);
  return {laid_out(generator, "stripes", Layout::striped(tokens, ranks)),
          laid_out(generator, "zigzag chunks", Layout::zigzag(even_shards(tokens, 2 * ranks))),
          laid_out(generator, "zigzag chunks of any length",
                   Layout::zigzag(any_shards(generator, 2 * ranks, 2)))};
}

template <class T>
Answer attention_of(const Example& example, const TensorOf<T>& q) {
  const auto input = [&](const char* name) { return cast<T>(example.inputs.at(name)); };
  return {{"o", cast<double>(reference::attention(q, input("k"), input("v"), reference::Mask::causal()).o)}};
}

template <class T>
Answer masked_attention(const Example& example) {
  return attention_of(example, cast<T>(example.inputs.at("q")));
}

Answer masked_by_local_index(const Example& example) {
  std::vector<Tensor64> o;
  for (int rank = 0; rank < example.ranks(); ++rank)
    o.push_back(
        attention_of(example, example.layout.shard(cast<double>(example.inputs.at("q")), 1, rank))["o"]);
  return {{"o", example.layout.join(o, 1)}};
}

Task toy_task(const std::string& function) {
  return {.id = function,
          .function = function,
          .outputs = {{"o", {"head", "row", "col"}, 1}},
          .examples = examples,
          .expected = masked_attention<double>,
          .baseline = masked_attention<float>,
          .mistakes = {{"mask_by_local_index", masked_by_local_index}},
          .split_axis = {{"q", 1}, {"positions", 0}}};
}

TEST(Layouts, AreCutPlayedAndJoinedByPosition) {
  const Task right = toy_task("mask_by_position");
  const Task mistaken = toy_task("mask_by_local_index");
  std::vector<GradedTest> tests;
  for (const Task* task : {&right, &mistaken})
    for (const int ranks : {2, 3, 4}) tests.push_back({task, ranks});
  Session session{
      tests, Launcher({.subject = SUBJECT, .player = {PLAYER_MPI}, .mpi = true}), {.must_be_sharp = true}};
  session.play();
  using Status = TestVerdict::Status;
  for (const auto& [test, played, drawn, outcomes, verdict] : session.first.tests) {
    const bool is_right = test->task == &right;
    EXPECT_EQ(verdict.status, is_right ? Status::Passed : Status::Failed) << test->name() << verdict.text;
    EXPECT_EQ(verdict.mistakes,
              is_right ? std::set<std::string>{} : std::set<std::string>{"mask_by_local_index"})
        << test->name() << verdict.text;
  }
}

}  // namespace

}  // namespace course
