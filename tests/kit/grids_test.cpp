#include <gtest/gtest.h>

#include <regex>

#include "judge/checks/traffic_checks.hpp"
#include "judge/program/session.hpp"
#include "ring/shards.hpp"

namespace course {

namespace {

// Toy tasks: x [heads, tokens, d] of token shards becomes y [heads, tokens, d] of head shards; and y of each
// rank is the sum of x over its column of a grid.

constexpr Index heads = 5;

/// How many heads each rank has: of 6 ranks, one has none.
Layout head_shares(const Example& example) {
  return Layout(even_shards(heads, example.ranks()));
}

std::vector<Example> transposes(InputGenerator& generator, int ranks) {
  const Layout layout(unequal_shards(generator, ranks));
  const std::vector<int> tokens = layout.shard_tokens();
  return {{"unequal shards",
           {{"x", generator.normal({heads, layout.tokens(), 3})}},
           {{"shard_tokens", {tokens.begin(), tokens.end()}}},
           layout}};
}

std::int64_t bytes_of_transpose(const Example& example, int from, int to) {
  return from == to
             ? 0
             : head_shares(example).tokens(to) * example.layout.tokens(from) * 3 * Index{sizeof(float)};
}

Task transpose_task(const std::string& function) {
  const auto same = [](const Example& example) {
    return Answer{{"y", cast<double>(example.inputs.at("x"))}};
  };
  return {.id = function,
          .function = function,
          .outputs = {{.name = "y", .axes = {"head", "row", "col"}, .layout = head_shares}},
          .examples = transposes,
          .expected = same,
          .baseline = same,
          .communication_checks = {checks::sends_only_what_is_needed(bytes_of_transpose, "")},
          .split_axis = {{"x", 1}}};
}

/// Two columns; of an odd number of ranks, one.
int columns_of(int ranks) {
  return ranks % 2 == 0 ? 2 : 1;
}

std::vector<Example> grids(InputGenerator& generator, int ranks) {
  const int columns = columns_of(ranks);
  Example example{"a grid",
                  {{"x", generator.normal({1, 2 * ranks, 3})}},
                  {{"columns", {double(columns)}}},
                  Layout(std::vector<int>(ranks, 2))};
  example.topology = Topology::grid(columns);
  return {std::move(example)};
}

Answer sums_of_columns(const Example& example) {
  const Tensor64 x = cast<double>(example.inputs.at("x"));
  std::vector<Tensor64> sums;
  for (int rank = 0; rank < example.ranks(); ++rank) {
    Tensor64 sum({1, 2, 3});
    for (int other = 0; other < example.ranks(); ++other) {
      if (example.topology.hops_between(other, rank, example.ranks()) < 0) continue;
      const Tensor64 shard = example.layout.shard(x, 1, other);
      for (Index i = 0; i < sum.size(); ++i) sum[i] += shard[i];
    }
    sums.push_back(std::move(sum));
  }
  return {{"y", example.layout.join(sums, 1)}};
}

Task grid_task(const std::string& function) {
  return {.id = function,
          .function = function,
          .outputs = {{"y", {"head", "row", "col"}, 1}},
          .examples = grids,
          .expected = sums_of_columns,
          .baseline = sums_of_columns,
          .communication_checks = {checks::sends_only_to_next("")},
          .split_axis = {{"x", 1}}};
}

std::map<int, TestVerdict> verdicts_of(const Task& task) {
  std::vector<GradedTest> tests;
  for (const int ranks : {1, 2, 3, 4, 6}) tests.push_back({&task, ranks});
  Session session{
      tests, Launcher({.subject = SUBJECT, .player = {PLAYER_MPI}, .mpi = true}), {.must_be_sharp = true}};
  session.play();
  std::map<int, TestVerdict> verdicts;
  for (const PlayedTest& test : session.first.tests) verdicts[test.test->ranks] = test.verdict;
  return verdicts;
}

using Status = TestVerdict::Status;

TEST(OutputsByHeads, AreJoinedInTheOrderOfRanks) {
  for (const auto& [ranks, verdict] : verdicts_of(transpose_task("tokens_to_heads")))
    EXPECT_EQ(verdict.status, Status::Passed) << ranks << verdict.text;
}

/// The place of a wrong entry is its rank's head, counted among those that the rank has.
TEST(OutputsByHeads, SayWhoseHeadIsWrong) {
  for (const auto& [ranks, verdict] : verdicts_of(transpose_task("tokens_from_the_second"))) {
    EXPECT_EQ(verdict.status, Status::Failed) << ranks;
    std::smatch place;
    const std::regex words("(?:rank ([0-9]): )?y.head ([0-9]), row");
    ASSERT_TRUE(std::regex_search(verdict.text, place, words)) << verdict.text;
    ASSERT_EQ(place[1].matched, ranks > 1) << verdict.text;
    const int rank = ranks > 1 ? std::stoi(place[1]) : 0;
    EXPECT_LT(std::stoi(place[2]), even_shards(heads, ranks).at(rank)) << verdict.text;
  }
}

/// Each rank is given the heads of its share, of all tokens.
TEST(InputsByHeads, AreCutAsOutputsAreJoined) {
  Task task = transpose_task("keep_heads");
  task.split_axis = {{"x", 0}};
  task.split_layout = {{"x", head_shares}};
  for (const auto& [ranks, verdict] : verdicts_of(task))
    EXPECT_EQ(verdict.status, Status::Passed) << ranks << verdict.text;
}

TEST(Grids, LetBlocksGoDownTheirColumns) {
  for (const auto& [ranks, verdict] : verdicts_of(grid_task("sum_down_columns")))
    EXPECT_EQ(verdict.status, Status::Passed) << ranks << verdict.text;
}

TEST(Grids, SayWhoSentToAnotherColumn) {
  const std::map<int, TestVerdict> verdicts = verdicts_of(grid_task("sum_round_all"));
  for (const auto& [ranks, text] : {std::pair{4, "to rank 1; it should send to rank 2 only"},
                                    {6, "to rank 1; it should send to rank 2 only"}}) {
    EXPECT_EQ(verdicts.at(ranks).status, Status::Failed) << ranks;
    EXPECT_NE(verdicts.at(ranks).text.find(text), std::string::npos) << verdicts.at(ranks).text;
  }
}

TEST(Topologies, SayWhereHopsLead) {
  const Topology ring = Topology::ring(-1), grid = Topology::grid(2), tree = Topology::tree(2),
                 rings = Topology::double_ring(3);
  EXPECT_EQ(ring.ahead(0, 1, 5), 4);
  EXPECT_EQ(ring.hops_between(4, 0, 5), 4);
  EXPECT_EQ(grid.ahead(1, 2, 6), 5);
  EXPECT_EQ(grid.ahead(5, 1, 6), 1);
  EXPECT_EQ(grid.ahead(1, -1, 6), 5);
  EXPECT_EQ(grid.hops_between(0, 1, 6), -1);
  EXPECT_EQ(grid.row_of(3, 6), (std::vector<int>{2, 3}));
  EXPECT_THROW(grid.ahead(4, 1, 5), std::invalid_argument);
  EXPECT_THROW(grid.row_of(4, 5), std::invalid_argument);
  EXPECT_EQ(rings.ahead(2, 1, 6), 0);
  EXPECT_EQ(rings.ahead(2, 3, 6), 5);
  EXPECT_EQ(rings.ahead(4, -4, 6), 0);
  EXPECT_EQ(rings.hops_between(1, 3, 6), 5);
  EXPECT_EQ(rings.row_of(4, 6), (std::vector<int>{3, 4, 5}));
  EXPECT_THROW(rings.ahead(0, 1, 4), std::invalid_argument);
  EXPECT_EQ(tree.ahead(6, 1, 7), 2);
  EXPECT_EQ(tree.ahead(6, 2, 7), 0);
  EXPECT_EQ(tree.ahead(0, 1, 7), 0);
  EXPECT_EQ(tree.hops_between(1, 2, 7), -1);
}

}  // namespace

}  // namespace course
