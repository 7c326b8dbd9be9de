#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "../common/complaint.hpp"
#include "bench/exchange_bytes.hpp"
#include "bench/played.hpp"
#include "bench/rows.hpp"
#include "bench/worker.hpp"

namespace course::bench {

namespace {

// ---- what ranks send ----

/// In n H d numbers, without lse.
double in_shards(std::int64_t bytes, const ExchangeSize& size, double lse) {
  const auto shard = static_cast<double>(size.tokens * size.heads);
  return (static_cast<double>(bytes) / 4 - lse * shard) / (shard * static_cast<double>(size.head_dim));
}

TEST(ExchangeBytes, AreThoseOfLesson18) {
  const ExchangeSize few{8, 5, 32, 8, 64}, equal{8, 5, 32, 32, 64};
  const auto lse = [](int group) { return (group - 1.0) / group; };
  for (const auto& [size, of_grids] :
       {std::pair{few, std::vector{3.5, 2.75, 2.375, 2.1875}}, {equal, std::vector{14.0, 8.0, 5.0, 3.5}}}) {
    EXPECT_DOUBLE_EQ(in_shards(ring_bytes(size), size, 0), of_grids[0]);
    EXPECT_DOUBLE_EQ(in_shards(grid_bytes(size, 1), size, 0), of_grids[0]);
    EXPECT_DOUBLE_EQ(in_shards(grid_bytes(size, 2), size, lse(2)), of_grids[1]);
    EXPECT_DOUBLE_EQ(in_shards(grid_bytes(size, 4), size, lse(4)), of_grids[2]);
    EXPECT_DOUBLE_EQ(in_shards(ulysses_bytes(size), size, lse(8)), of_grids[3]);
  }
}

TEST(ExchangeBytes, CopyKeyHeadsThatSeveralRanksNeed) {
  const ExchangeSize size{8, 5, 32, 2, 64};  // 2 n d (P - 1)(H / P + 1), and lse
  EXPECT_EQ(ulysses_bytes(size), 4 * (2 * 5 * 64 * 7 * (4 + 1) + 5 * 4 * 7));
}

TEST(ExchangeBytes, SayWhatSendsLeast) {
  EXPECT_EQ(preferred_by_bytes({4, 5, 32, 32, 64}), "4 > 1 + 32/32: Ulysses");
  EXPECT_EQ(preferred_by_bytes({4, 5, 32, 8, 64}), "4 < 1 + 32/8: a ring, a gather or a double ring");
  EXPECT_EQ(preferred_by_bytes({16, 5, 32, 8, 64}), "16 > 32/(8 - 1): Ulysses");
  EXPECT_EQ(preferred_by_bytes({8, 5, 32, 2, 64}), "8 < 32/(2 - 1): a ring, a gather or a double ring");
  EXPECT_EQ(preferred_by_bytes({2, 5, 32, 32, 64}), "2 = 1 + 32/32: all send as much");
}

// ---- rows ----

const std::vector<Row> blank{
    {"product"}, {"forward", "product", 0.9}, {"backward", "product"}, {"forward", "torch", 1.5}, {"torch"}};

TEST(Rows, HoldOneRateAgainstAnother) {
  const std::vector<Row> rows = with_rates(blank, {{"product", 100}, {"forward", 80}, {"torch", 40}});
  ASSERT_EQ(rows.size(), 4u) << "backward was not timed";
  EXPECT_EQ(rows[0].name, "product");
  EXPECT_FALSE(rows[0].ratio);
  EXPECT_EQ(rows[1].against, "product");
  EXPECT_EQ(rows[1].ratio, 0.8);
  EXPECT_EQ(rows[1].bound, 0.9);
  EXPECT_EQ(rows[2].against, "torch");
  EXPECT_EQ(rows[2].ratio, 2.0);
  EXPECT_EQ(rows[3].rate, 40);
}

TEST(Rows, ThatNeedWhatWasNotTimedAreLeftOut) {
  EXPECT_EQ(with_rates(blank, {{"forward", 80}}).size(), 0u);
  EXPECT_EQ(with_rates(blank, {}).size(), 0u);
}

TEST(Rows, InJsonHaveTheFieldsOfTheContract) {
  const nlohmann::json json =
      nlohmann::json::parse(rows_json(with_rates(blank, {{"product", 100}, {"forward", 80}})));
  const nlohmann::json product{{"name", "product"},  {"value", 100.0},   {"unit", "GFLOP/s"},
                               {"against", nullptr}, {"ratio", nullptr}, {"bound", nullptr}};
  const nlohmann::json forward{{"name", "forward"},    {"value", 80.0}, {"unit", "GFLOP/s"},
                               {"against", "product"}, {"ratio", 0.8},  {"bound", 0.9}};
  EXPECT_EQ(json, (nlohmann::json{{"rows", {product, forward}}}));
  EXPECT_EQ(nlohmann::json::parse(rows_json({})), (nlohmann::json{{"rows", nlohmann::json::array()}}));
}

TEST(Rows, InTheTableSayWhereTheyAreBelowTheirBound) {
  const std::vector<Row> rows = with_rates(blank, {{"product", 100}, {"forward", 80}, {"torch", 40}});
  EXPECT_EQ(table_text(rows),
            "product    100.0 GFLOP/s\n"
            "forward     80.0 GFLOP/s     80 % of product, bound 90 %: below\n"
            "forward     80.0 GFLOP/s    200 % of torch, bound 150 %\n"
            "torch       40.0 GFLOP/s\n");
}

TEST(Rows, TellUnitsAndWhatLimitsThem) {
  const std::vector<Row> rows =
      with_rates({{.name = "copy", .unit = "GB/s", .limited_by = "memory"}}, {{"copy", 3}});
  EXPECT_EQ(table_text(rows),
            "copy      3.0 GB/s\n"
            "  limited by memory\n");
  const std::string json = rows_json(rows, {{"device", "one"}});
  const nlohmann::json report = nlohmann::json::parse(json);
  EXPECT_EQ(report.at("device"), "one");
  EXPECT_EQ(report.at("rows")[0].at("unit"), "GB/s");
  EXPECT_EQ(report.at("rows")[0].at("limited_by"), "memory");
}

TEST(Rows, ComeBackFromJson) {
  const std::vector<Row> rows = with_rates(
      {{.name = "copy", .unit = "GB/s", .limited_by = "memory"}, {"softmax", "copy", 0.9, "80 % there"}},
      {{"copy", 3}, {"softmax", 2}});
  EXPECT_EQ(rows_json(rows_in(rows_json(rows))), rows_json(rows));
  EXPECT_ANY_THROW(rows_in("{}"));
}

TEST(Rows, TellWhatIsPublishedBesideTheRatio) {
  const std::vector<Row> rows = with_rates(
      {{"ring", "one", {}, "90 % there"}, {"ring", "one", 0.9, "90 % there"}}, {{"ring", 8}, {"one", 10}});
  EXPECT_EQ(table_text(rows),
            "ring      8.0 GFLOP/s     80 % of one; published: 90 % there\n"
            "ring      8.0 GFLOP/s     80 % of one, bound 90 %: below; published: 90 % there\n");
  EXPECT_EQ(nlohmann::json::parse(rows_json(rows)).at("rows")[0].at("published"), "90 % there");
}

// ---- steps ----

/// An outcome of one call, by rank its blocks.
Outcome outcome_of(const std::vector<std::vector<BlockTime>>& blocks) {
  Outcome outcome;
  for (const auto& own : blocks) outcome.timings.emplace_back().calls = {{0, 100, {}}, {100, 200, own}};
  return outcome;
}

TEST(StepSeconds, AreThoseOfTheSlowestRankOfEachStep) {
  // Step 0: own blocks, 3 by rank 1. Step 1: ranks 1 and 2 hold those of 0 and 1, 5 by rank 2; rank 0 skips.
  // Step 2: 7.
  const Outcome outcome = outcome_of({{{0, 1}}, {{1, 3}, {0, 4}}, {{2, 2}, {1, 5}, {0, 7}}});
  EXPECT_EQ(step_seconds(outcome, false), (std::vector<double>{0, 3 + 5 + 7}));
}

TEST(StepSeconds, OfRanksApartAreTheSlowestRanks) {
  const Outcome outcome = outcome_of({{{0, 4}}, {{0, 6}}, {{0, 5}}});
  EXPECT_EQ(step_seconds(outcome, true), (std::vector<double>{0, 6}));
}

// ---- problems ----

TEST(Problem, SeesItsOwnPositionAndThoseBeforeItWhereItIsCausal) {
  const Problem all({1, 4, 2}), causal({1, 4, 2}, true);
  EXPECT_EQ(all.seen, 1);
  EXPECT_EQ(causal.seen, 10.0 / 16);
  EXPECT_EQ(causal.tensors.at("q").values(), all.tensors.at("q").values());
  for (const Index c : {0, 1}) {
    EXPECT_EQ(causal.tensors.at("o").heads()(0, 0, c), causal.tensors.at("v").heads()(0, 0, c));
    EXPECT_EQ(causal.tensors.at("o").heads()(0, 3, c), all.tensors.at("o").heads()(0, 3, c));
  }
}

TEST(Problem, CountsUsefulOperations) {
  EXPECT_EQ(timed::forward_operations({2, 3, 5}), 4.0 * 2 * 3 * 3 * 5);
  EXPECT_EQ(timed::backward_operations({2, 3, 5}), 10.0 * 2 * 3 * 3 * 5);
}

// ---- workers ----

std::string complaint(Worker& worker) {
  return complaint_of<std::runtime_error>([&] { worker.answer(); });
}

TEST(Worker, AnswersRequestsInOrder) {
  Worker worker("sh", {"sh", "-c", "while read -r a; do echo \"$a.5\"; done"});
  worker.request("1");
  worker.request("2");
  EXPECT_EQ(worker.answer(), 1.5);
  EXPECT_EQ(worker.answer(), 2.5);
  worker.request("3");
  EXPECT_EQ(worker.answer(), 3.5);
}

TEST(Worker, ThatEndsOrBabblesIsNamed) {
  Worker ended("the peer", {"true"});
  ended.request("1");
  EXPECT_EQ(complaint(ended), "the peer has ended; its last words are above");
  Worker babbling("the peer", {"sh", "-c", "read -r a; echo 1.5s; echo 2"});
  babbling.request("1");
  EXPECT_EQ(complaint(babbling), "the peer answered '1.5s', expected a number");
  EXPECT_EQ(babbling.answer(), 2);
}

TEST(Worker, ThatIsNotThereIsTold) {
  Worker worker("nobody", {"/no/such/program"});
  EXPECT_EQ(complaint(worker), "nobody has ended; its last words are above");
}

}  // namespace

}  // namespace course::bench
