#include <gtest/gtest.h>

#include <cmath>

#include "judge/attention/block/block_backward.hpp"
#include "judge/attention/block/block_backward_steps.hpp"
#include "judge/attention/forward.hpp"
#include "judge/attention/gradient_checks.hpp"
#include "judge/attention/ring/ring_backward.hpp"
#include "judge/attention/ring/ring_backward_steps.hpp"
#include "judge/attention/ring/ring_forward.hpp"
#include "judge/checks/communication_checks.hpp"
#include "judge/numbers/compare.hpp"
#include "ring/shards.hpp"
#include "ring_log.hpp"

namespace course {

namespace {

const Task task = ring_backward::task("2", "f");

/// What is explained of an answer whose dq is as given, dk and dv as they should be or not.
std::string explained(const Example& example, bool dq_right, bool dk_right, bool leftover) {
  Answer answer = task.expected(example);
  if (!dq_right) answer["dq"][0] += 10;
  if (!dk_right) answer["dk"][0] += 10;
  Outcome outcome = returned_with_log(answer, example);
  for (int rank = 0; rank < example.ranks(); ++rank) {
    Tensor left({example.ranks(), block_log::leftover_columns}, -1.0f);
    if (leftover && rank == 1)
      std::ranges::copy(std::vector<float>{1, 0, 2, 3, 1}, left.matrix().row(2).begin());
    outcome.outputs[rank][block_log::leftover_output] = left;
  }
  const Played played = compare(task, example, task.expected(example), outcome);
  const std::vector<Finding> found = ring_backward::begins_shares_at_0(played);
  EXPECT_EQ(found.size(), leftover && dq_right && !dk_right ? 1 : 0);
  return task.explain(played);
}

TEST(RingBackward, SaysWhereToLook) {
  InputGenerator generator(3);
  const auto example = [&](int ranks) {
    const int n = 3 * ranks;
    return ring_backward::with_gradient(
        generator,
        ring_forward::make_example("a ring", std::vector<int>(ranks, 3), random_qkv(generator, 2, n, n, 4)));
  };
  EXPECT_EQ(explained(example(1), false, false, false), "look at delta, which dv does without");
  EXPECT_EQ(explained(example(1), true, false, false), "");
  EXPECT_EQ(explained(example(3), false, false, false),
            "every rank was given the right blocks: look at delta, which dv does without");
  EXPECT_EQ(explained(example(3), true, false, false),
            "every rank was given the right blocks: look at where dk and dv go between them, what is added "
            "to them, and how they come home");
  EXPECT_TRUE(explained(example(3), true, false, true)
                  .starts_with(
                      "every rank was given the right blocks: rank 1, block of rank 2: block.accumulate was "
                      "given dv that is not 0 at [head 0, row 2, col 3], in memory where the block of rank 1 "
                      "was computed before; "));
  EXPECT_EQ(explained(example(3), false, false, true),
            "every rank was given the right blocks: look at delta, which dv does without");
}

Example ring_of_heads(Index heads, int ranks) {
  InputGenerator generator(5);
  const int n = 3 * ranks;
  return ring_backward::with_gradient(generator,
                                      ring_forward::make_example("a ring", std::vector<int>(ranks, 3),
                                                                 random_qkv(generator, heads, n, n, 4)));
}

TEST(RingBackward, SaysThatDqIsOneBlocksShare) {
  const Example example = ring_of_heads(2, 3);
  const auto told = [&](const ring_backward::Steps& steps) {
    Answer answer = task.expected(example);
    answer["dq"] = ring_backward::gradients<double>(steps, example).at("dq");
    const Outcome outcome = returned_with_log(answer, example);
    return task.explain(compare(task, example, task.expected(example), outcome));
  };
  EXPECT_EQ(told({.dq_overwritten = true}),
            "every rank was given the right blocks: dq is the share of the last block alone, as if it were "
            "cleared or overwritten at each block");
  EXPECT_EQ(told({.blocks = -2}),
            "every rank was given the right blocks: dq is the share of the own block alone");
  EXPECT_EQ(told({.blocks = -1}), "");
}

/// What is explained of gradients one hop short of home, of ranks that sent these bytes.
std::string explained_one_hop_short(const Example& example, std::int64_t bytes) {
  Answer answer = ring_backward::gradients<double>({.gradient_hops = -1}, example);
  Outcome outcome = returned_with_log(answer, example);
  outcome.reports.resize(example.ranks());
  for (int rank = 0; rank < example.ranks(); ++rank)
    outcome.reports[rank].traffic = {{.to = example.ahead(rank), .bytes = bytes}};
  return task.explain(compare(task, example, task.expected(example), outcome));
}

TEST(RingBackward, TellsALastHopThatWasMadeFromOneThatIsMissing) {
  const Example example = ring_of_heads(2, 3);
  EXPECT_EQ(
      explained_one_hop_short(example, checks::bytes_of_block(example, 5 * 3)),
      "every rank was given the right blocks: every rank sent the bytes of all hops, the last too: look "
      "at what is returned after it");
  const std::string elsewhere =
      "every rank was given the right blocks: look at where dk and dv go between them, what is added to "
      "them, and how they come home";
  EXPECT_EQ(explained_one_hop_short(example, checks::bytes_of_block(example, 4 * 3)), elsewhere);
  Outcome uncounted =
      returned_with_log(ring_backward::gradients<double>({.gradient_hops = -1}, example), example);
  EXPECT_EQ(task.explain(compare(task, example, task.expected(example), uncounted)), elsewhere);
}

TEST(RingBackward, OnOneRankSuspectsLseWhereAllAreWrong) {
  const Example example = ring_of_heads(2, 1);
  const Answer answer = ring_backward::gradients<double>({.delta = ring_backward::Delta::ForLse}, example);
  const Outcome outcome = returned_with_log(answer, example);
  EXPECT_EQ(task.explain(compare(task, example, task.expected(example), outcome)),
            "with one rank nothing travels: look at lse, and at the order of accumulate's arguments");
}

TEST(RingBackward, SaysNothingOfWhereANaNTravelled) {
  const Example example = ring_of_heads(2, 3);
  Answer answer = task.expected(example);
  answer["dk"][0] = std::nan("");
  const Outcome outcome = returned_with_log(answer, example);
  EXPECT_EQ(task.explain(compare(task, example, task.expected(example), outcome)), "");
}

TEST(Messages, WhoseCountsLackAFactorAreFractionsOfBlocks) {
  const Example example = ring_of_heads(3, 2);
  Outcome outcome = returned_with_log(task.expected(example), example);
  outcome.reports.resize(2);
  const auto told = [&](std::int64_t times) {
    for (int rank = 0; rank < 2; ++rank)
      outcome.reports[rank].traffic = {{.to = 1 - rank, .bytes = checks::bytes_of_block(example, 9) / times}};
    const std::vector<Finding> found =
        log_reading::sends_whole_blocks(checks::backward_hops)(example, outcome);
    return found.empty() ? "" : found[0].text;
  };
  EXPECT_EQ(told(3), "") << "all blocks are whole: something else was not sent";
  outcome.outputs[1][block_log::output].matrix().row(1)[2] += 1;
  EXPECT_EQ(told(3), "every rank sent 1/3 of the bytes of its hops, as by a count without heads");
  EXPECT_EQ(
      told(4),
      "every rank sent 1/4 of the bytes of its hops, as by a count without head_dim, or of numbers where "
      "MPI_BYTE counts bytes");
  EXPECT_EQ(told(1), "");
  EXPECT_EQ(told(2), "");
}

std::string said_of(const Answer& answer, const Example& example) {
  const Outcome outcome = returned(answer, example.layout);
  const Played played = compare(task, example, task.expected(example), outcome);
  std::string text;
  for (const Finding& finding : is_right_on_every_rank(played)) text += finding.text + "\n";
  return text;
}

/// What arrives at the queries of one rank is a millionth of what arrives at the others.
Example with_a_faint_rank(InputGenerator& generator, const std::vector<int>& shards, int faint) {
  const int n = total_tokens(shards);
  QKV qkv = random_qkv(generator, 2, n, n, 5);
  Tensor d_o = generator.normal(qkv.q.shape());
  for (Index head = 0; head < 2; ++head) {
    for (int i = 0; i < shards[faint]; ++i) {
      for (float& value : d_o.heads().head(head).row(shard_offsets(shards)[faint] + i)) value *= 1e-6f;
    }
  }
  return ring_backward::make_example("a faint rank", shards, std::move(qkv), std::move(d_o));
}

TEST(RightOnEveryRank, HoldsForFloat32) {
  InputGenerator generator(2);
  for (int i = 0; i < 10; ++i) {
    const std::vector<int> shards = any_shards(generator, generator.integer(1, 5), 2);
    const int n = total_tokens(shards);
    const Example drawn = ring_backward::make_example("", shards, random_qkv(generator, 2, n, n, 5, 3),
                                                      generator.normal({2, n, 5}));
    EXPECT_EQ(said_of(task.baseline(drawn), drawn), "");
    const Example real = ring_backward::real_example(generator, "real", shards, {generator.integer(0, 11)});
    EXPECT_EQ(said_of(task.baseline(real), real), "");
  }
}

TEST(RingBackward, GivesTheGradientsOfTheWholeInEveryLayout) {
  InputGenerator generator(5);
  for (const Layout& layout :
       {Layout({3, 0, 6, 4}), Layout::striped(13, 4), Layout::zigzag(even_shards(13, 8))}) {
    const Example example = ring_backward::make_example("", layout, random_qkv(generator, 2, 13, 13, 5),
                                                        generator.normal({2, 13, 5}));
    const Answer expected = task.expected(example);
    for (const auto& [name, gradient] : task.baseline(example))
      EXPECT_LT(relative_error(gradient, expected.at(name)), 1e-5) << name;
  }
}

TEST(BlockBackward, FollowsRangesOfKeysThatBeginAnywhere) {
  using reference::Mask, block_backward::Weights;
  InputGenerator generator(1);
  for (const Mask& mask :
       {Mask::window(5), Mask::window(3, 4), Mask::documents({0, 4, 13}) & Mask::causal(-1)}) {
    Example example = block_backward::drawn_example(generator, "", random_qkv(generator, 2, 13, 17, 5),
                                                    block_backward::LseGradient::Drawn, {4, 4});
    const AttentionProblem problem = problem_of(example, input(example, "d_lse"), mask);
    const reference::Attention<double> forward = reference::attention(problem.q, problem.k, problem.v, mask);
    example.inputs["o"] = cast<float>(forward.o);
    example.inputs["lse"] = cast<float>(forward.lse);
    const Answer right = right_gradients(problem);
    for (const auto& [name, gradient] : block_backward::gradients<double>({}, example, mask))
      EXPECT_LT(relative_error(gradient, right.at(name)), 1e-5) << name;
    for (const Weights wrong : {Weights::NothingHidden, Weights::CountedPerBlock, Weights::BlockMaximum}) {
      for (const auto& [name, gradient] :
           block_backward::gradients<double>({.weights = wrong}, example, mask))
        EXPECT_GT(relative_error(gradient, right.at(name)), 1e-2) << name;
    }
  }
}

TEST(RightOnEveryRank, SeesAFaintRankThatIsWrong) {
  InputGenerator generator(3);
  const std::vector<int> shards{4, 3, 5};
  for (const int faint : {0, 1, 2}) {
    const Example example = with_a_faint_rank(generator, shards, faint);
    Answer answer = task.expected(example);
    EXPECT_EQ(said_of(answer, example), "");
    for (Index head = 0; head < 2; ++head) {
      for (int i = 0; i < shards[faint]; ++i) {
        for (double& value : answer.at("dq").heads().head(head).row(shard_offsets(shards)[faint] + i))
          value *= 1.01;
      }
    }
    EXPECT_TRUE(is_right(compare(task, example, task.expected(example), returned(answer, example.layout))));
    EXPECT_EQ(said_of(answer, example).find("dq on rank " + std::to_string(faint) + " is off by"), 0u);
  }
}

TEST(RightOnEveryRank, IsSilentWhereTheAnswerIsWrongAnyway) {
  InputGenerator generator(4);
  const std::vector<int> shards{4, 3, 5};
  const Example example = ring_backward::real_example(generator, "real", shards, {1, 5});
  Answer answer = task.expected(example);
  for (double& value : answer.at("dk").values()) value *= 2;
  EXPECT_EQ(said_of(answer, example), "");
}

}  // namespace

}  // namespace course
