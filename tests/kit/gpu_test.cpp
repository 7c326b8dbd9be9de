#include <gtest/gtest.h>

#include "judge/checks/communication_checks.hpp"
#include "judge/checks/kernel_costs.hpp"
#include "judge/program/session.hpp"
#include "protocol/fact_kinds.hpp"

namespace course {

namespace {

Example blocks(InputGenerator& generator, std::string what, int ranks, int tokens, double block) {
  std::vector<int> shards(ranks, tokens);
  Tensor x = generator.normal({Index{ranks} * tokens});
  return {std::move(what), {{"x", std::move(x)}}, {{"block", {block}}, {"factor", {3}}}, std::move(shards)};
}

std::vector<Example> examples(InputGenerator& generator, int ranks) {
  return {blocks(generator, "whole blocks", ranks, 128, 32),
          blocks(generator, "a last block that is shorter", ranks, 77, 32),
          blocks(generator, "a block of 1024 threads", ranks, 1500, 1024),
          blocks(generator, "one thread a block", ranks, 5, 1)};
}

Answer expected(const Example& example) {
  const auto block = static_cast<Index>(example.arguments.at("block").front());
  std::vector<Tensor64> pieces;
  for (int rank = 0; rank < example.ranks(); ++rank) {
    const Tensor64 x = example.layout.shard(cast<double>(example.inputs.at("x")), 0, rank);
    Tensor64 y(x.shape());
    for (Index i = 0; i < x.size(); ++i) {
      const Index first = i / block * block;
      y[i] = 3 * x[first + std::min(block, x.size() - first) - 1 - (i - first)];
    }
    pieces.push_back(std::move(y));
  }
  return {{"y", example.layout.join(pieces, 0)}};
}

Task toy_task() {
  return {.id = "1",
          .function = "reversed_blocks",
          .outputs = {{"y", {"row"}}},
          .examples = examples,
          .expected = expected,
          .baseline = expected,
          .descriptions = {{"divergent_barrier", "not every thread of a block reaches the barrier"}},
          .communication_checks = {checks::without_fact(fact_divergent_barrier, "divergent_barrier"),
                                   checks::without_fact(fact_refused_launch, ""),
                                   checks::without_fact(fact_device_memory, ""),
                                   checks::without_fact(fact_race_in_block, ""),
                                   checks::without_fact(fact_host_pointer, "")},
          .split_axis = {{"x", 0}}};
}

/// The test of a task with the kernel of tests/kit/gpu with this name; `ranks`: 0 is one GPU without ranks.
PlayedTest played(const GradedTest& test, const std::string& kernel) {
  const std::string player = std::string(PLAYERS) + (test.ranks == 0 ? "/player_gpu" : "/player_gpu_mpi");
  Session session{{test},
                  Launcher({.subject = std::string(SUBJECTS) + "/kit_gpu_" + kernel + ".so",
                            .player = {player},
                            .mpi = test.ranks > 0}),
                  {}};
  session.play();
  return std::move(session.first.tests.front());
}

/// How a kernel is judged, on one GPU and on three ranks with one each.
std::vector<TestVerdict> verdicts_of(const std::string& kernel) {
  const Task task = toy_task();
  std::vector<TestVerdict> verdicts;
  for (const int ranks : {0, 3}) verdicts.push_back(played({&task, ranks}, kernel).verdict);
  return verdicts;
}

using Status = TestVerdict::Status;

TEST(Gpu, KernelIsPlayedOnTheSimulatorAloneAndWithRanks) {
  for (const TestVerdict& verdict : verdicts_of("right"))
    EXPECT_EQ(verdict.status, Status::Passed) << verdict.text;
}

TEST(Gpu, DivergentBarrierIsNamedWithItsLine) {
  for (const TestVerdict& verdict : verdicts_of("divergent_barrier")) {
    EXPECT_EQ(verdict.status, Status::Failed);
    EXPECT_EQ(verdict.mistakes, std::set<std::string>{"divergent_barrier"}) << verdict.text;
    EXPECT_NE(verdict.text.find("waits at __syncthreads() on line 22"), std::string::npos) << verdict.text;
  }
}

TEST(Gpu, MissingBarrierIsARaceWhateverTheNumbersAre) {
  for (const TestVerdict& verdict : verdicts_of("no_barrier")) {
    EXPECT_EQ(verdict.status, Status::Failed);
    EXPECT_NE(verdict.text.find("no barrier between them orders the two"), std::string::npos) << verdict.text;
  }
}

TEST(Gpu, HostPointerInAKernelIsNamedWithItsThreadAndLine) {
  for (const TestVerdict& verdict : verdicts_of("host_pointer")) {
    EXPECT_EQ(verdict.status, Status::Failed);
    EXPECT_NE(verdict.text.find("on line 20 reads the host's memory, which no kernel can reach"),
              std::string::npos)
        << verdict.text;
    EXPECT_NE(verdict.text.find("reverse<2>, block ("), std::string::npos) << verdict.text;
  }
}

TEST(Gpu, RefusedLaunchIsToldAndWhatItLeavesIsNoArithmetic) {
  for (const TestVerdict& verdict : verdicts_of("too_many_threads")) {
    EXPECT_EQ(verdict.status, Status::Failed);
    EXPECT_NE(verdict.text.find("reverse<2><<<...>>> on line"), std::string::npos) << verdict.text;
    EXPECT_NE(verdict.text.find("2048 threads a block, at most 1024"), std::string::npos) << verdict.text;
    EXPECT_NE(verdict.text.find("taken from device or shared memory that nobody had written to"),
              std::string::npos)
        << verdict.text;
    EXPECT_EQ(verdict.text.find("arithmetic"), std::string::npos) << verdict.text;
  }
}

TEST(Gpu, CopyBeyondAnAllocationIsAnErrorAndAFinding) {
  for (const TestVerdict& verdict : verdicts_of("beyond_the_end")) {
    EXPECT_EQ(verdict.status, Status::Failed);
    EXPECT_NE(verdict.text.find("goes beyond the end of its allocation"), std::string::npos) << verdict.text;
  }
}

TEST(Gpu, WhatKernelsAskForIsReportedOfTheExampleThatIsCounted) {
  // Four blocks of a warp, each of which also hands one factor to all of its lanes.
  const KernelCounts counts{.kernel = "reverse<2>",
                            .launches = 1,
                            .bytes_read = 512,
                            .bytes_written = 512,
                            .requests = 8,
                            .sectors = 32,
                            .shared_requests = 16,
                            .shared_passes = 16};
  const Task task = counted(toy_task(), "whole blocks", counts);
  for (const int ranks : {0, 3}) {
    const PlayedTest test = played({&task, ranks}, "right");
    for (std::size_t i = 0; i < test.outcomes.size(); ++i) {
      for (const RankReport& report : test.outcomes[i].reports)
        EXPECT_EQ(report.kernels, i == 0 ? CountsByKernel{counts} : CountsByKernel{});
    }
    EXPECT_EQ(drift_from_solution(task, test.played), "");
    EXPECT_NE(test.verdict.costs.find("what it costs on whole blocks, simulated"), std::string::npos)
        << test.verdict.costs;
  }
}

}  // namespace

}  // namespace course
