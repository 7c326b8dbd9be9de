#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "bench/options.hpp"
#include "bench/problem.hpp"
#include "bench/rows.hpp"
#include "bench/worker.hpp"
#include "protocol/errors.hpp"

namespace course::bench {

namespace {

// ---- options ----

std::string refusal(std::vector<std::string> arguments) {
  try {
    parse_options(std::move(arguments));
  } catch (const program::UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Options, AreThoseOfTheTablesUnlessGiven) {
  const Options options = parse_options({"--work", "here", "--forward", "a.so"});
  EXPECT_EQ(options.heads, 8);
  EXPECT_EQ(options.tokens, 2048);
  EXPECT_EQ(options.head_dims, (std::vector<int>{32, 64, 128}));
  EXPECT_EQ(options.forward, "a.so");
  EXPECT_TRUE(options.backward.empty());
  EXPECT_FALSE(options.json);
}

TEST(Options, OfSizeMayBeGiven) {
  const Options options = parse_options(
      {"--work=here", "--head-dims", "8,16", "--tokens", "70", "--min-seconds", "0.5", "--json"});
  EXPECT_EQ(options.head_dims, (std::vector<int>{8, 16}));
  EXPECT_EQ(options.tokens, 70);
  EXPECT_EQ(options.min_seconds, 0.5);
  EXPECT_TRUE(options.json);
}

TEST(Options, AreRefusedInOneLineThatNamesThem) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> refusals{
      {{}, "--work"},
      {{"--work", "w", "--tokens", "0"}, "--tokens"},
      {{"--work", "w", "--tokens", "many"}, "many"},
      {{"--work", "w", "--head-dims", "32,-1"}, "--head-dims"},
      {{"--work", "w", "--repetitions", "0"}, "--repetitions"},
      {{"--work", "w", "--min-seconds", "0"}, "--min-seconds"},
      {{"--work", "w", "--ring", "r.so"}, "--block"},
      {{"--work", "w", "--ring-backward", "r.so"}, "--ring"},
      {{"--work", "w", "--fast"}, "--fast"},
      {{"--work", "w", "extra"}, "extra"}};
  for (const auto& [arguments, named] : refusals) {
    const std::string message = refusal(arguments);
    EXPECT_NE(message.find(named), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(Options, HelpIsText) {
  EXPECT_NE(parse_options({"--help"}).help.find("--peers"), std::string::npos);
}

// ---- rows ----

const std::vector<Comparison> comparisons{
    {"product"}, {"forward", "product", 0.9}, {"backward", "product"}, {"forward", "torch", 1.5}, {"torch"}};

TEST(Rows, HoldOneRateAgainstAnother) {
  const std::vector<Row> rows = rows_of(comparisons, {{"product", 100}, {"forward", 80}, {"torch", 40}});
  ASSERT_EQ(rows.size(), 4u) << "backward was not timed";
  EXPECT_EQ(rows[0].name, "product");
  EXPECT_FALSE(rows[0].ratio);
  EXPECT_EQ(rows[1].against, "product");
  EXPECT_EQ(rows[1].ratio, 0.8);
  EXPECT_EQ(rows[1].bound, 0.9);
  EXPECT_EQ(rows[2].against, "torch");
  EXPECT_EQ(rows[2].ratio, 2.0);
  EXPECT_EQ(rows[3].value, 40);
}

TEST(Rows, ThatNeedWhatWasNotTimedAreLeftOut) {
  EXPECT_EQ(rows_of(comparisons, {{"forward", 80}}).size(), 0u);
  EXPECT_EQ(rows_of(comparisons, {}).size(), 0u);
}

TEST(Rows, InJsonHaveTheFieldsOfTheContract) {
  const nlohmann::json json =
      nlohmann::json::parse(rows_json(rows_of(comparisons, {{"product", 100}, {"forward", 80}})));
  const nlohmann::json product{{"name", "product"},  {"value", 100.0},   {"unit", "GFLOP/s"},
                               {"against", nullptr}, {"ratio", nullptr}, {"bound", nullptr}};
  const nlohmann::json forward{{"name", "forward"},    {"value", 80.0}, {"unit", "GFLOP/s"},
                               {"against", "product"}, {"ratio", 0.8},  {"bound", 0.9}};
  EXPECT_EQ(json, (nlohmann::json{{"rows", {product, forward}}}));
  EXPECT_EQ(nlohmann::json::parse(rows_json({})), (nlohmann::json{{"rows", nlohmann::json::array()}}));
}

TEST(Rows, InTheTableSayWhereTheyAreBelowTheirBound) {
  const std::vector<Row> rows = rows_of(comparisons, {{"product", 100}, {"forward", 80}, {"torch", 40}});
  EXPECT_EQ(table_text(rows),
            "product    100.0 GFLOP/s\n"
            "forward     80.0 GFLOP/s     80 % of product, bound 90 %: below\n"
            "forward     80.0 GFLOP/s    200 % of torch, bound 150 %\n"
            "torch       40.0 GFLOP/s\n");
}

// ---- problems ----

TEST(Problem, CountsUsefulOperations) {
  EXPECT_EQ(forward_operations({2, 3, 5}), 4.0 * 2 * 3 * 3 * 5);
  EXPECT_EQ(backward_operations({2, 3, 5}), 10.0 * 2 * 3 * 3 * 5);
}

TEST(RelativeError, IsThatOfTheWorstHead) {
  const Tensor expected({2, 1, 2}, std::vector<float>{3, 4, 30, 40});
  EXPECT_EQ(relative_error(expected.heads(), expected.heads()), 0);
  const Tensor off({2, 1, 2}, std::vector<float>{3, 3, 30, 41});
  EXPECT_NEAR(relative_error(off.heads(), expected.heads()), 0.2, 1e-12);
}

TEST(RelativeError, OfANanIsInfinite) {
  const Tensor expected({2, 1, 1}, std::vector<float>{1, 2});
  Tensor answer = expected;
  answer[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isinf(relative_error(answer.heads(), expected.heads())));
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
