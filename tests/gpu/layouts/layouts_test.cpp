#include "judge/attention/layouts/layouts.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "judge/attention/ring/ring_backward.hpp"
#include "judge/attention/ring/ring_forward.hpp"
#include "judge/checks/device_checks.hpp"
#include "judge/program/session.hpp"

namespace course {

namespace {

/// Ordinary input of head dimension 32, the smallest that lesson 10's kernels take: contiguous, striped and
/// zigzag shards, and two more kinds, which differ in length.
std::vector<Example> forward_examples(InputGenerator& generator, int ranks) {
  const int tokens = 4 * ranks + generator.integer(1, 2 * ranks - 1);
  std::vector<Example> all;
  for (const auto& [kind, layout] : layouts::all_kinds(generator, tokens, ranks))
    all.push_back(layouts::causal_ring_example(kind, layout, random_qkv(generator, 2, tokens, tokens, 32)));
  return all;
}

std::vector<Example> backward_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all = forward_examples(generator, ranks);
  for (Example& example : all) example = ring_backward::with_gradient(generator, std::move(example));
  return all;
}

/// Held to its answer and to what the simulated GPU finds: nobody logs the blocks.
Task ring(Task task, std::vector<Example> (*examples)(InputGenerator&, int)) {
  task.examples = examples;
  task.communication_checks = {checks::is_right_on_the_device({})};
  task.answer_checks = {};
  task.logs = {};
  task.explain = {};
  return task;
}

/// How a task comes out on 2, 3 and 5 ranks.
std::map<int, TestVerdict> verdicts_of(const Task& task) {
  Session session{{{&task, 2}, {&task, 3}, {&task, 5}},
                  Launcher({.subject = SUBJECT, .player = {PLAYER}, .mpi = true}),
                  {.must_be_sharp = true}};
  session.play();
  std::map<int, TestVerdict> verdicts;
  for (const PlayedTest& test : session.first.tests) verdicts[test.test->ranks] = test.verdict;
  return verdicts;
}

void expect_right(const Task& task) {
  for (const auto& [ranks, verdict] : verdicts_of(task))
    EXPECT_EQ(verdict.status, TestVerdict::Status::Passed) << ranks << " ranks: " << verdict.text;
}

TEST(CudaRing, IsRightOnEveryLayoutWithAMaskByPosition) {
  expect_right(ring(ring_forward::masked_task("2", "ring_attention"), forward_examples));
}

TEST(CudaRing, HasRightGradientsOnEveryLayout) {
  expect_right(ring(ring_backward::masked_task("3", "ring_backward"), backward_examples));
}

TEST(CudaRing, MaskByRowIsFoundWrongAndNamed) {
  const Task task = ring(ring_forward::masked_task("2", "ring_attention_by_row"), forward_examples);
  for (const auto& [ranks, verdict] : verdicts_of(task)) {
    EXPECT_EQ(verdict.status, TestVerdict::Status::Failed) << ranks << " ranks";
    EXPECT_EQ(verdict.mistakes, std::set<std::string>{"mask_by_local_index"}) << verdict.text;
  }
}

}  // namespace

}  // namespace course
