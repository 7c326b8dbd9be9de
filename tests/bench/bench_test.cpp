#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/played.hpp"
#include "bench/rows.hpp"
#include "bench/worker.hpp"

namespace course::bench {

namespace {

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

// ---- problems ----

TEST(Problem, CountsUsefulOperations) {
  EXPECT_EQ(timed::forward_operations({2, 3, 5}), 4.0 * 2 * 3 * 3 * 5);
  EXPECT_EQ(timed::backward_operations({2, 3, 5}), 10.0 * 2 * 3 * 3 * 5);
}

// ---- workers ----

std::string complaint(Worker& worker) {
  try {
    worker.answer();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "answered";
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
