#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/reference.hpp"
#include "runner/launcher.hpp"
#include "runner/temporary_folder.hpp"

namespace course {

namespace {

namespace fs = std::filesystem;
using Tensors = std::map<std::string, Tensor>;

constexpr Index heads = 2, tokens = 6, head_dim = 4;
constexpr int ranks = 3;

Tensor numbers(int seed) {
  Tensor tensor({heads, tokens, head_dim});
  for (Index i = 0; i < tensor.size(); ++i) tensor[i] = std::sin(static_cast<float>(i * (seed + 2) + seed));
  return tensor;
}

fs::path library(const std::string& lesson) {
  return fs::path(LIBRARIES) / (lesson + "_solution.so");
}

/// A ring over `ranks` ranks; what it does not get of its own it takes from other cases.
Case ring_case(const std::string& name, const std::string& lesson, const std::string& function,
               std::vector<std::string> inputs, std::map<std::string, std::string> from) {
  Case one{{function, {{"shard_tokens", std::vector<double>(ranks, tokens)}}, std::move(from)}};
  for (int rank = 0; rank < ranks; ++rank) {
    Tensors& own = one.inputs.emplace_back();
    for (const std::string& input : inputs) own[input] = numbers(rank + 10 * input[0]);
  }
  for (const char* output : {"o", "lse", "dq", "dk", "dv"}) one.outputs[output] = {1 << 20, 0};
  one.subject = library(lesson);
  one.name = name;
  return one;
}

Case forward_case() {
  return ring_case("forward", "lesson05", "ring_attention", {"q", "k", "v"}, {});
}

Case overlapped_case(const std::string& name, const std::string& block) {
  Case one = ring_case(name, "lesson08", "overlapped_ring_attention", {},
                       {{"q", "forward"}, {"k", "forward"}, {"v", "forward"}});
  one.block_mode = block;
  return one;
}

LauncherOptions timed_options(int rounds) {
  LauncherOptions options{.subject = {}, .player = {PLAYER_MPI}, .mpi = true};
  options.timed = TimedPlay{rounds, false, library("lesson04"), library("lesson06")};
  return options;
}

std::vector<Outcome> play(const std::vector<Case>& cases, const LauncherOptions& options) {
  return Launcher(options).play(cases);
}

Tensor joined(const Outcome& outcome, const std::string& name) {
  std::vector<Tensor> parts;
  for (const Tensors& outputs : outcome.outputs) parts.push_back(outputs.at(name));
  return concatenate(parts, 1);
}

Tensor joined_input(const Case& one, const std::string& name) {
  std::vector<Tensor> parts;
  for (const Tensors& inputs : one.inputs) parts.push_back(inputs.at(name));
  return concatenate(parts, 1);
}

void expect_near(const Tensor& given, const Tensor& expected) {
  ASSERT_EQ(given.shape(), expected.shape());
  for (Index i = 0; i < given.size(); ++i) ASSERT_NEAR(given[i], expected[i], 1e-5) << i;
}

/// Why these cases could not be timed: one of them says it, and none has times.
std::string failure_of(const std::vector<Case>& cases, const LauncherOptions& options = timed_options(1)) {
  std::string text;
  for (const Outcome& outcome : play(cases, options)) {
    EXPECT_NE(outcome.ending, Outcome::Ending::Finished);
    EXPECT_TRUE(text.empty() || outcome.text.empty());
    text += outcome.text;
  }
  return text;
}

int count_spans(const RankTiming& timing, const std::string& label) {
  return static_cast<int>(
      std::ranges::count_if(timing.spans, [&](const Span& span) { return span.label == label; }));
}

TEST(TimedPlay, TimesEveryCallOfEveryCaseAndKeepsTheSpansOfTheFastest) {
  const std::vector<Outcome> outcomes =
      play({forward_case(), overlapped_case("overlapped", "")}, timed_options(3));
  for (const Outcome& outcome : outcomes) {
    ASSERT_EQ(outcome.ending, Outcome::Ending::Finished) << outcome.text;
    ASSERT_EQ(outcome.timings.size(), static_cast<std::size_t>(ranks));
    std::vector<double> slowest(3, 0);
    for (const RankTiming& timing : outcome.timings) {
      ASSERT_EQ(timing.calls.size(), 3u);
      EXPECT_EQ(timing.shown, outcome.timings[0].shown) << "the ranks agree";
      for (std::size_t i = 0; i < 3; ++i)
        slowest[i] = std::max(slowest[i], timing.calls[i].end_s - timing.calls[i].begin_s);
      const CallTime shown = timing.calls[static_cast<std::size_t>(timing.shown)];
      EXPECT_GE(timing.spans.front().begin_s, shown.begin_s);
      EXPECT_LE(timing.spans.back().end_s, shown.end_s + 1e-5);
      for (int owner = 0; owner < ranks; ++owner)
        EXPECT_GE(count_spans(timing, "block of rank " + std::to_string(owner)), 1);
      EXPECT_GE(timing.cores, 1);
      EXPECT_EQ(timing.host_id, outcome.timings[0].host_id);
    }
    EXPECT_EQ(std::ranges::min_element(slowest) - slowest.begin(), outcome.timings[0].shown);
  }
  for (const RankTiming& timing : outcomes[0].timings)
    EXPECT_LT(timing.calls[0].end_s, outcomes[1].timings[0].calls[0].begin_s) << "in turns";
  for (const RankTiming& timing : outcomes[1].timings)
    EXPECT_LT(timing.calls[0].end_s, outcomes[0].timings[0].calls[1].begin_s) << "in turns";
}

TEST(TimedPlay, SaysHowLongEachBlockHadACore) {
  Case silent = forward_case();
  silent.spans = false;
  const Outcome outcome = play({silent}, timed_options(2)).at(0);
  ASSERT_EQ(outcome.ending, Outcome::Ending::Finished) << outcome.text;
  for (int rank = 0; rank < ranks; ++rank) {
    for (const CallTime& call : outcome.timings[rank].calls) {
      ASSERT_EQ(call.blocks.size(), static_cast<std::size_t>(ranks));
      double sum_s = 0;
      for (int step = 0; step < ranks; ++step) {
        EXPECT_EQ(call.blocks[step].owner, (rank - step + ranks) % ranks);
        EXPECT_GT(call.blocks[step].cpu_s, 0);
        sum_s += call.blocks[step].cpu_s;
      }
      EXPECT_LT(sum_s, call.end_s - call.begin_s) << "a thread has one core at a time";
    }
  }
}

TEST(TimedPlay, ComputesMaskedBlocksWithALessonsOwn) {
  // Positions dealt out one by one: every block is a triangle.
  std::vector<double> positions;
  for (int rank = 0; rank < ranks; ++rank)
    for (int row = 0; row < tokens; ++row) positions.push_back(row * ranks + rank);
  const auto by_position = [&](const Tensor& by_rank) {
    std::vector<Tensor> rows(positions.size());
    for (std::size_t row = 0; row < positions.size(); ++row)
      rows[static_cast<std::size_t>(positions[row])] = slice(by_rank, 1, static_cast<Index>(row), 1);
    return concatenate(rows, 1);
  };
  const std::map<std::string, std::string> from{
      {"q", "forward"}, {"k", "forward"}, {"v", "forward"}, {"o", "forward"}, {"lse", "forward"}};
  Case forward = ring_case("forward", "lesson14", "causal_ring_attention", {"q", "k", "v"}, {});
  Case backward = ring_case("backward", "lesson14", "causal_ring_backward", {"d_o"}, from);
  Case idle = ring_case("idle", "lesson14", "causal_ring_attention", {"q", "k", "v"}, {});
  idle.block_mode = "idle";
  for (Case* one : {&forward, &backward, &idle}) one->arguments["positions"] = positions;
  const std::vector<Outcome> outcomes = play({forward, backward, idle}, timed_options(2));
  ASSERT_EQ(outcomes[2].ending, Outcome::Ending::Finished) << outcomes[1].text << outcomes[2].text;
  const Tensor q = by_position(joined_input(forward, "q")), k = by_position(joined_input(forward, "k")),
               v = by_position(joined_input(forward, "v")), d_o = by_position(joined_input(backward, "d_o"));
  const auto causal = reference::Mask::causal();
  const auto gradients = reference::attention_gradients(q, k, v, d_o, causal);
  expect_near(by_position(joined(outcomes[0], "o")), reference::attention(q, k, v, causal).o);
  expect_near(by_position(joined(outcomes[1], "dq")), gradients.dq);
  expect_near(by_position(joined(outcomes[1], "dk")), gradients.dk);
  expect_near(by_position(joined(outcomes[1], "dv")), gradients.dv);
  EXPECT_TRUE(std::isnan(joined(outcomes[2], "o")[0])) << "nothing was computed";
  LauncherOptions without = timed_options(1);
  without.timed->block = library("lesson06");
  EXPECT_NE(failure_of({forward}, without).find("--block has no such block computation"), std::string::npos);
}

TEST(TimedPlay, HandsOnWhatAnotherCaseWasGivenAndReturned) {
  const Case forward = forward_case();
  const std::vector<Outcome> outcomes = play(
      {forward,
       ring_case(
           "backward", "lesson07", "ring_attention_backward", {"d_o"},
           {{"q", "forward"}, {"k", "forward"}, {"v", "forward"}, {"o", "forward"}, {"lse", "forward"}})},
      timed_options(2));
  ASSERT_EQ(outcomes[1].ending, Outcome::Ending::Finished) << outcomes[1].text;
  const Tensor q = joined_input(forward, "q"), k = joined_input(forward, "k"), v = joined_input(forward, "v");
  expect_near(joined(outcomes[0], "o"), reference::attention(q, k, v).o);
  std::vector<Tensor> d_o;
  for (int rank = 0; rank < ranks; ++rank) d_o.push_back(numbers(rank + 10 * 'd'));
  const auto gradients = reference::attention_gradients(q, k, v, concatenate(d_o, 1));
  expect_near(joined(outcomes[1], "dq"), gradients.dq);
  expect_near(joined(outcomes[1], "dk"), gradients.dk);
  expect_near(joined(outcomes[1], "dv"), gradients.dv);
}

TEST(TimedPlay, ComputesWithoutProgressOrNotAtAllWhereTheCaseSaysSo) {
  const std::vector<Outcome> outcomes =
      play({forward_case(), overlapped_case("overlapped", ""), overlapped_case("unaided", "without_progress"),
            overlapped_case("idle", "idle")},
           timed_options(1));
  ASSERT_EQ(outcomes[3].ending, Outcome::Ending::Finished) << outcomes[3].text;
  expect_near(joined(outcomes[2], "o"), joined(outcomes[1], "o"));
  EXPECT_TRUE(std::isnan(joined(outcomes[3], "o")[0])) << "nothing was computed";
  EXPECT_GT(count_spans(outcomes[1].timings[0], "progress"), 0);
  EXPECT_EQ(count_spans(outcomes[2].timings[0], "progress"), 0);
  EXPECT_EQ(count_spans(outcomes[0].timings[0], "progress"), 0) << "a ring that has no use for tiles";
  EXPECT_EQ(outcomes[3].reports[0].traffic, outcomes[1].reports[0].traffic);
}

TEST(TimedPlay, RecordsNoSpansWhereTheCaseSaysSo) {
  Case silent = overlapped_case("silent", "");
  silent.spans = false;
  const std::vector<Outcome> outcomes = play({forward_case(), silent}, timed_options(2));
  ASSERT_EQ(outcomes[1].ending, Outcome::Ending::Finished) << outcomes[1].text;
  EXPECT_GT(outcomes[0].timings[0].spans.size(), 0u);
  EXPECT_EQ(outcomes[1].timings[0].spans.size(), 0u);
  EXPECT_EQ(outcomes[1].timings[0].calls.size(), 2u);
  expect_near(joined(outcomes[1], "o"), joined(outcomes[0], "o"));
}

TEST(TimedPlay, LetsEachRankPlayByItself) {
  Case apart = forward_case();
  apart.apart = true;
  apart.arguments["shard_tokens"] = {tokens};
  const std::vector<Outcome> outcomes = play({apart}, timed_options(2));
  ASSERT_EQ(outcomes[0].ending, Outcome::Ending::Finished) << outcomes[0].text;
  for (int rank = 0; rank < ranks; ++rank) {
    const Tensors& own = apart.inputs[rank];
    expect_near(outcomes[0].outputs[rank].at("o"),
                reference::attention(own.at("q"), own.at("k"), own.at("v")).o);
    EXPECT_TRUE(outcomes[0].reports[rank].traffic.empty());
    EXPECT_EQ(outcomes[0].timings[rank].shown, outcomes[0].timings[0].shown) << "the ranks agree";
  }
}

TEST(TimedPlay, ComputesARanksOwnBlockAsOftenAsARingHasBlocks) {
  Case own = forward_case();
  own.function = "own_blocks";
  own.arguments["blocks"] = {ranks};
  own.subject = library("lesson04");
  const Outcome outcome = play({own}, timed_options(1)).at(0);
  ASSERT_EQ(outcome.ending, Outcome::Ending::Finished) << outcome.text;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const Tensors& given = own.inputs[rank];
    auto expected = reference::attention(given.at("q"), given.at("k"), given.at("v"));
    for (float& lse : expected.lse.values()) lse += std::log(static_cast<float>(ranks));
    expect_near(outcome.outputs[rank].at("o"), expected.o);
    expect_near(outcome.outputs[rank].at("lse"), expected.lse);
    EXPECT_EQ(count_spans(outcome.timings[rank], "block of rank 0"), ranks);
    EXPECT_TRUE(outcome.reports[rank].traffic.empty());
  }
}

TEST(TimedPlay, TakesThePlainBlocksWhereNoneAreGiven) {
  LauncherOptions options = timed_options(1);
  options.timed->block.clear();
  const Case forward = forward_case();
  const std::vector<Outcome> outcomes = play({forward}, options);
  ASSERT_EQ(outcomes[0].ending, Outcome::Ending::Finished) << outcomes[0].text;
  expect_near(
      joined(outcomes[0], "o"),
      reference::attention(joined_input(forward, "q"), joined_input(forward, "k"), joined_input(forward, "v"))
          .o);
}

TEST(TimedPlay, SaysWhatIsWrong) {
  Case unknown = forward_case();
  unknown.function = "no_such_function";
  EXPECT_NE(failure_of({unknown}).find("threw: the adapter has no function no_such_function"),
            std::string::npos);
  Case orphan = overlapped_case("overlapped", "");
  EXPECT_NE(failure_of({orphan}).find("takes k from forward, which is not played before it"),
            std::string::npos);
  EXPECT_NE(failure_of({forward_case(), overlapped_case("overlapped", "sleepy")})
                .find("block sleepy: expected idle or without_progress"),
            std::string::npos);
  LauncherOptions options = timed_options(1);
  options.timed->block = library("lesson05");
  EXPECT_NE(failure_of({forward_case()}, options).find("lesson05_solution.so has no course_blocks"),
            std::string::npos);
  options.timed->block = library("lesson06");
  EXPECT_NE(failure_of({forward_case()}, options).find("has no such block computation"), std::string::npos);
}

/// A process has the inputs of the rank that it was before; the order of the keys changes no answer.
TEST(TimedPlay, PlaysACaseInAnotherOrderOfTheWorld) {
  Case turned = overlapped_case("turned", "");
  for (int rank = 0; rank < ranks; ++rank) turned.world_ranks.push_back((rank + 1) % ranks);
  const std::vector<Outcome> outcomes = play({forward_case(), turned}, timed_options(2));
  ASSERT_EQ(outcomes[1].ending, Outcome::Ending::Finished) << outcomes[1].text;
  EXPECT_EQ(outcomes[1].world_ranks, turned.world_ranks);
  for (std::size_t rank = 0; rank < outcomes[1].outputs.size(); ++rank)
    expect_near(outcomes[1].outputs[rank].at("o"), outcomes[0].outputs[(rank + 1) % ranks].at("o"));
}

TEST(TimedPlay, PlaysOnOneProcessToo) {
  Case one{{"blockwise_attention", {{"block", {4.0}}}}, "", "", {{}}, {{"o", {1 << 20, 0}}}};
  for (const char* name : {"q", "k", "v"}) one.inputs[0][name] = numbers(name[0]);
  one.subject = library("lesson04");
  LauncherOptions options{.subject = {}, .player = {PLAYER_SOLO}};
  options.timed = TimedPlay{5, true, {}, {}};
  const std::vector<Outcome> outcomes = play({one}, options);
  ASSERT_EQ(outcomes[0].ending, Outcome::Ending::Finished) << outcomes[0].text;
  const RankTiming& timing = outcomes[0].timings[0];
  std::vector<double> seconds;
  for (const CallTime& call : timing.calls) seconds.push_back(call.end_s - call.begin_s);
  const double shown = seconds[static_cast<std::size_t>(timing.shown)];
  std::ranges::sort(seconds);
  EXPECT_EQ(shown, seconds[2]) << "the median";
  ASSERT_EQ(timing.spans.size(), 1u);
  EXPECT_EQ(timing.spans[0].kind, Span::Kind::Compute);
  one.function = "no_such_function";
  EXPECT_EQ(failure_of({one}, options), "threw: the adapter has no function no_such_function");
}

}  // namespace

}  // namespace course
