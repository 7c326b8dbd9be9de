#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "demo/comparison.hpp"
#include "demo/failure.hpp"
#include "demo/options.hpp"
#include "demo/output_folder.hpp"
#include "demo/rank_result.hpp"
#include "demo/report.hpp"
#include "demo/watch.hpp"
#include "judge/draw.hpp"
#include "reference/reference.hpp"
#include "ring/shards.hpp"
#include "running.hpp"

namespace course::demo {
namespace {

namespace fs = std::filesystem;

// ---- options ----

std::string refusal(const std::vector<std::string>& arguments) {
  try {
    parse_options(arguments);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Options, DefaultsAreTheCoursesOwnInput) {
  const Options options = parse_options({});
  EXPECT_FALSE(options.ranks || options.files || options.sizes || options.out);
  EXPECT_EQ(options.ring.filename(), "lesson05_solution.so");
  EXPECT_EQ(options.block.filename(), "lesson04_solution.so");
}

TEST(Options, MineTakesTheStudentsLibraries) {
  const Options options = parse_options({"--mine"});
  EXPECT_EQ(options.ring.filename(), "lesson05_student.so");
  EXPECT_EQ(options.block.filename(), "lesson04_student.so");
}

TEST(Options, SizesThatAreNotGivenAreThoseOfTheCoursesInput) {
  const Options options = parse_options({"--heads", "3", "--seed=18446744073709551615"});
  ASSERT_TRUE(options.sizes);
  EXPECT_EQ(options.sizes->heads, 3);
  EXPECT_EQ(options.sizes->seq, 512);
  EXPECT_EQ(options.sizes->head_dim, 32);
  EXPECT_EQ(options.sizes->seed, std::numeric_limits<std::uint64_t>::max());
}

TEST(Options, RefusalsSayWhatWasExpected) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> refusals{
      {{"--ranks", "0"}, "--ranks 0: expected a whole number from 1 to 64"},
      {{"--ranks", "-1"}, "--ranks -1: expected a whole number from 1 to 64"},
      {{"--ranks=3.5"}, "--ranks 3.5: expected a whole number from 1 to 64"},
      {{"--ranks", "abc"}, "--ranks abc: expected a whole number from 1 to 64"},
      {{"--ranks", "99999999999999999999"}, "--ranks 99999999999999999999: expected a whole number"},
      {{"--ranks", ""}, "--ranks : expected a whole number from 1 to 64"},
      {{"--ranks"}, "expected each option once, with its value"},
      {{"--ranks", "2", "--ranks", "3"}, "expected each option once, with its value"},
      {{"--heads", "0"}, "--heads 0: expected a whole number from 1"},
      {{"--seq", "1e3"}, "--seq 1e3: expected a whole number from 1"},
      {{"--dim", "-4"}, "--dim -4: expected a whole number from 1"},
      {{"--q", "a.npy"}, "--k is missing: expected --q, --k and --v together"},
      {{"--v", "a.npy", "--k", "a.npy"}, "--q is missing"},
      {{"--q", "a", "--k", "b", "--v", "c", "--seq", "8"},
       "--seq with --q: expected own tensors or generated ones"},
      {{"--seed", "3"}, "--seed without generated input: expected --seq, --heads or --dim"},
      {{"--do", "a.npy"}, "--do without --q, --k and --v"},
      {{"--layout", "spiral"}, "--layout spiral: expected contiguous, striped or zigzag"},
      {{"--backend", "gpu"}, "--backend gpu: expected mpi, sim or cuda"},
      {{"--rank", "3"}, "unknown option --rank, expected --help, --q"},
      {{"q.npy"}, "unknown argument q.npy, expected --help"}};
  for (const auto& [arguments, expected] : refusals) {
    const std::string message = refusal(arguments);
    EXPECT_NE(message.find(expected), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(Options, WhatALaterLessonBringsIsNamedAfterIt) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> later{
      {{"--causal"}, "lesson 13"},
      {{"--layout", "striped"}, "lesson 14"},
      {{"--layout", "zigzag"}, "lesson 14"},
      {{"--backend", "sim"}, "lesson 12"},
      {{"--backend", "cuda"}, "lesson 12"},
      {{"--q", "a", "--k", "b", "--v", "c", "--do", "d"}, "lesson 07"}};
  for (const auto& [arguments, lesson] : later) {
    try {
      parse_options(arguments);
      ADD_FAILURE() << arguments[0] << " was accepted";
    } catch (const Unavailable& error) {
      EXPECT_NE(std::string(error.what()).find(lesson), std::string::npos) << error.what();
    }
  }
}

TEST(Options, HelpNamesEveryOptionOfTheUser) {
  const std::string help = parse_options({"--help"}).help;
  for (const char* name : {"--ranks", "--q", "--k", "--v", "--do", "--out", "--seq", "--heads", "--dim",
                           "--seed", "--causal", "--layout", "--backend", "--mine", "--json"}) {
    EXPECT_NE(help.find(name), std::string::npos) << name;
  }
  EXPECT_EQ(help.find("--status"), std::string::npos) << "it is between the two programs";
}

// ---- comparison ----

TEST(RowsToCompare, AreAllWhereThereIsTime) {
  EXPECT_EQ(rows_to_compare({2, 0, 1}, 3), (std::vector<Index>{0, 1, 2}));
}

TEST(RowsToCompare, AreSpreadOverEveryShardWhereThereIsNot) {
  EXPECT_EQ(rows_to_compare({10, 0, 10}, 4), (std::vector<Index>{0, 9, 10, 19}));
  EXPECT_EQ(rows_to_compare({5, 5, 5}, 1), (std::vector<Index>{0, 5, 10})) << "one of each shard at least";
}

TEST(RowsToCompare, AscendWithoutRepetition) {
  const std::vector<Index> rows = rows_to_compare({1000, 37, 1, 0, 512}, 200);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end());
  EXPECT_NEAR(static_cast<double>(rows.size()), 200, 5);
  EXPECT_EQ(rows.back(), 1549);
}

Input random_input(Index heads, Index seq, Index head_dim) {
  Draw draw(3);
  QKV drawn = random_qkv(draw, heads, seq, seq, head_dim);
  return {std::move(drawn.q), std::move(drawn.k), std::move(drawn.v), {heads, seq, head_dim}, "random"};
}

Comparison compare_quietly(const Input& input, const Tensor& o, const Tensor& lse,
                           const std::vector<int>& shards) {
  return compare(input, o, lse, shards, [](const std::string&) {});
}

TEST(Compare, PassesFloat32AttentionItself) {
  const Input input = random_input(2, 40, 8);
  const reference::Attention<float> answer = reference::attention(input.q, input.k, input.v);
  const Comparison comparison = compare_quietly(input, answer.o, answer.lse, even_shards(40, 3));
  EXPECT_TRUE(comparison.passed());
  EXPECT_EQ(comparison.rows, 40);
  EXPECT_EQ(comparison.overall.o.relative, comparison.baseline.o.relative);
  EXPECT_GT(comparison.overall.o.largest, 0);
  EXPECT_LT(comparison.tolerance_o, 1e-5);
  EXPECT_LT(comparison.tolerance_lse, 1e-5);
}

TEST(Compare, FindsOneWrongValueAndItsRank) {
  const Input input = random_input(2, 40, 8);
  reference::Attention<float> answer = reference::attention(input.q, input.k, input.v);
  answer.o.heads()(1, 20, 3) += 0.01f;
  const Comparison comparison = compare_quietly(input, answer.o, answer.lse, {10, 0, 30});
  EXPECT_FALSE(comparison.passed());
  EXPECT_NEAR(comparison.by_rank[2].o.largest, 0.01, 1e-5);
  EXPECT_LT(comparison.by_rank[0].o.largest, 1e-5);
  EXPECT_EQ(comparison.by_rank[1].o.largest, 0);
  EXPECT_EQ(comparison.by_rank[1].o.relative, 0);
  EXPECT_LE(comparison.overall.lse.relative, comparison.tolerance_lse);
}

TEST(Compare, NeverPassesWhatWasNotWritten) {
  const Input input = random_input(1, 6, 4);
  reference::Attention<float> answer = reference::attention(input.q, input.k, input.v);
  answer.lse[5] = std::numeric_limits<float>::quiet_NaN();
  const Comparison comparison = compare_quietly(input, answer.o, answer.lse, {6});
  EXPECT_FALSE(comparison.passed());
  EXPECT_EQ(comparison.overall.lse.largest, std::numeric_limits<double>::infinity());
}

TEST(Compare, TakesASampleOfALongSequence) {
  const Input input = random_input(1, 9000, 2);
  const Tensor o({1, 9000, 2});
  const Comparison comparison = compare_quietly(input, o, Tensor({1, 9000}), even_shards(9000, 4));
  EXPECT_LT(comparison.rows, 9000);
  EXPECT_GT(comparison.rows, 4000);
  EXPECT_NEAR(comparison.overall.o.relative, 1, 1e-12) << "all zeros are wrong by the whole norm";
}

// ---- what ranks tell ----

TEST(RankResult, SurvivesItsText) {
  RankResult result;
  result.tokens = 7;
  result.bytes_sent = 1ll << 40;
  result.trace = {3, {{Span::Kind::Wait, 1.25, 2.5, "MPI_Wait \"µ\"\n"}}};
  result.facts = {"rank 3 did something"};
  result.host_id = "a";
  result.cores = 9;
  const RankResult back = rank_result_from(to_text(result));
  EXPECT_EQ(back.bytes_sent, result.bytes_sent);
  EXPECT_EQ(back.trace.rank, 3);
  ASSERT_EQ(back.trace.spans.size(), 1u);
  EXPECT_EQ(back.trace.spans[0].kind, Span::Kind::Wait);
  EXPECT_EQ(back.trace.spans[0].end_s, 2.5);
  EXPECT_EQ(back.trace.spans[0].label, "MPI_Wait \"µ\"\n");
  EXPECT_EQ(back.facts, result.facts);
  EXPECT_EQ(back.cores, 9);
}

TEST(MakeDisjoint, OrdersAndTrims) {
  std::vector<Span> spans{{Span::Kind::Compute, 3, 4, "late"},
                          {Span::Kind::Compute, 0, 2, "early"},
                          {Span::Kind::Transfer, 1.5, 3, "between"},
                          {Span::Kind::Transfer, 3.2, 3.4, "inside"}};
  make_disjoint(spans);
  EXPECT_EQ(spans[0].label, "early");
  EXPECT_EQ(spans[1].begin_s, 2);
  EXPECT_EQ(spans[2].begin_s, 3);
  EXPECT_EQ(spans[3].begin_s, 4);
  EXPECT_EQ(spans[3].end_s, 4);
  EXPECT_NO_THROW(terminal_timeline({{0, spans}}, 80, false));
}

TEST(FormatBytes, KeepsThreeDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1179648), "1.12 MiB");
  EXPECT_EQ(format_bytes(15 * 1024), "15.0 KiB");
  EXPECT_EQ(format_bytes(3ll << 38), "768 GiB");
}

RunSummary some_run() {
  RunSummary run{{4, 2}, 1, 4, 2, "made up", false, 1, {}, {}};
  for (const int rank : {0, 1}) {
    RankResult result;
    result.tokens = 2;
    result.bytes_sent = 32;
    result.trace = {
        rank, {{Span::Kind::Compute, 0, 3, "block of rank 0"}, {Span::Kind::Transfer, 3, 4, "MPI_Send"}}};
    result.host_id = "one";
    result.cores = 2;
    run.ranks.push_back(result);
    run.comparison.by_rank.push_back({});
  }
  run.comparison.rows = run.comparison.seq = 4;
  return run;
}

TEST(Report, JsonHasTheFieldsOfTheDesign) {
  const nlohmann::json json = nlohmann::json::parse(report_json(some_run()));
  EXPECT_EQ(json.at("ranks"), 2);
  EXPECT_EQ(json.at("causal"), false);
  EXPECT_EQ(json.at("layout"), "contiguous");
  EXPECT_EQ(json.at("backend"), "mpi");
  EXPECT_EQ(json.at("relative_error"), (nlohmann::json{{"o", 0.0}, {"lse", 0.0}}));
  const nlohmann::json second{{"rank", 1},        {"tokens", 2},       {"bytes_sent", 32},
                              {"compute_s", 3.0}, {"transfer_s", 1.0}, {"wait_s", 0.0}};
  EXPECT_EQ(json.at("per_rank").at(1), second);
}

TEST(Report, AnErrorThatIsNoNumberIsNullInJson) {
  RunSummary run = some_run();
  run.comparison.overall.o.relative = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(nlohmann::json::parse(report_json(run)).at("relative_error").at("o").is_null());
}

TEST(Report, SaysWhetherRanksShareCores) {
  RunSummary run = some_run();
  EXPECT_EQ(report_text(run, {}, 80, false).find("oversubscribes"), std::string::npos);
  for (RankResult& rank : run.ranks) rank.cores = 1;
  EXPECT_NE(report_text(run, {}, 80, false).find("oversubscribes"), std::string::npos);
  run.ranks[1].host_id = "two";
  EXPECT_EQ(report_text(run, {}, 80, false).find("oversubscribes"), std::string::npos);
  EXPECT_NE(report_text(run, {}, 80, false).find("2 MPI ranks on 2 hosts"), std::string::npos);
}

TEST(Report, ShowsWhatTheMpiLayerNoticed) {
  RunSummary run = some_run();
  run.ranks[1].facts = {"MPI_Recv from source -1"};
  run.ranks[0].collective_bytes = 2048;
  const std::string text = report_text(run, {}, 80, false);
  EXPECT_NE(text.find("rank 1: MPI_Recv from source -1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 0: received 2.00 KiB in collectives"), std::string::npos) << text;
}

TEST(Report, HasColourOnlyWhereItIsWanted) {
  EXPECT_EQ(report_text(some_run(), {}, 80, false).find('\x1b'), std::string::npos);
  EXPECT_NE(report_text(some_run(), {}, 80, true).find('\x1b'), std::string::npos);
}

// ---- the folder of --out ----

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(OutputFolder, LeavesNothingUnlessCommitted) {
  const TestFolder folder;
  {
    OutputFolder output(folder / "new/deeper");
    output.add("a.txt", std::string("text"));
    EXPECT_TRUE(fs::exists(folder / "new/deeper"));
  }
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(OutputFolder, LeavesAnOlderFolderAsItWas) {
  const TestFolder folder;
  std::ofstream(folder / "a.txt") << "old";
  {
    OutputFolder output(folder.path());
    output.add("a.txt", std::string("new"));
    output.drop("b.txt");
  }
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a.txt"});
  EXPECT_EQ(file_text(folder / "a.txt"), "old");
}

TEST(OutputFolder, ReplacesDropsAndCleansUpWhenCommitted) {
  const TestFolder folder;
  std::ofstream(folder / "a.txt") << "old";
  std::ofstream(folder / "b.txt") << "stale";
  std::ofstream(folder / "c.txt") << "another's";
  {
    OutputFolder output(folder.path());
    output.add("a.txt", std::string("new"));
    output.drop("b.txt");
    output.drop("never_there.txt");
    output.commit();
  }
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"a.txt", "c.txt"}));
  EXPECT_EQ(file_text(folder / "a.txt"), "new");
}

TEST(OutputFolder, RefusesWhatIsNoFolderOrHasNoRoom) {
  const TestFolder folder;
  std::ofstream(folder / "file") << "text";
  EXPECT_THROW(OutputFolder{folder / "file"}, InputError);
  EXPECT_THROW(OutputFolder{folder / "file/below"}, InputError);
  EXPECT_THROW(OutputFolder{"/proc/nowhere"}, InputError);
  EXPECT_THROW(OutputFolder{""}, InputError);
  fs::create_symlink(folder / "gone", folder / "link");
  EXPECT_THROW(OutputFolder{folder / "link"}, InputError);
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  fs::create_directories(folder / "out/o.npy");
  OutputFolder output(folder / "out");
  EXPECT_THROW(output.add("o.npy", std::string("text")), InputError);
}

// ---- the watch ----

RankSnapshot rank_in(Phase phase, const std::string& text = "") {
  RankSnapshot rank;
  rank.phase = phase;
  rank.case_index = 0;
  rank.text = text;
  return rank;
}

RankSnapshot waiting_for(int peer) {
  RankSnapshot rank = rank_in(Phase::Blocked);
  PendingOperation receive{};
  receive.kind = PendingOperation::Kind::Receive;
  receive.need = PendingOperation::Need::All;
  receive.peer = peer;
  receive.communicator = case_communicator;
  std::string("MPI_Recv").copy(receive.call, sizeof receive.call - 1);
  rank.pending = {receive};
  return rank;
}

class WatchTest : public testing::Test {
 protected:
  std::optional<std::string> look(const std::vector<RankSnapshot>& ranks, double at_s) {
    return watch_.look(ranks, begin_ + std::chrono::duration_cast<Watch::Clock::duration>(
                                           std::chrono::duration<double>(at_s)));
  }
  Watch watch_{60};
  Watch::Clock::time_point begin_ = Watch::Clock::now();
};

TEST_F(WatchTest, WaitsForComputeUntilItsPatienceEnds) {
  const std::vector<RankSnapshot> ranks{rank_in(Phase::Computing), rank_in(Phase::Finished)};
  EXPECT_FALSE(look(ranks, 0));
  EXPECT_FALSE(look(ranks, 59));
  const std::optional<std::string> reason = look(ranks, 61);
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("nothing has happened for 61 s"), std::string::npos) << *reason;
  EXPECT_NE(reason->find("outside MPI: 0"), std::string::npos) << *reason;
}

TEST_F(WatchTest, TakesEveryChangeForASignOfLife) {
  std::vector<RankSnapshot> ranks{rank_in(Phase::Computing), rank_in(Phase::Computing)};
  EXPECT_FALSE(look(ranks, 0));
  ++ranks[1].completed;
  EXPECT_FALSE(look(ranks, 50));
  ranks[0].text = "comparing, 10 %";
  EXPECT_FALSE(look(ranks, 100));
  EXPECT_EQ(watch_.news(), "comparing, 10 %");
  ranks[1].phase = Phase::Finished;
  EXPECT_FALSE(look(ranks, 150));
  EXPECT_TRUE(look(ranks, 211));
}

TEST_F(WatchTest, NamesRanksThatWaitForEachOther) {
  const std::vector<RankSnapshot> ranks{waiting_for(1), waiting_for(0)};
  EXPECT_FALSE(look(ranks, 0));
  const std::optional<std::string> reason = look(ranks, 2.5);
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("stands still"), std::string::npos) << *reason;
  EXPECT_NE(reason->find("MPI_Recv"), std::string::npos) << *reason;
}

TEST_F(WatchTest, NamesTheRankThatThrewOrDied) {
  EXPECT_EQ(look({rank_in(Phase::Computing), rank_in(Phase::Threw, "too few tokens")}, 0),
            "rank 1 threw: too few tokens");
  RankSnapshot dead = rank_in(Phase::Crashed);
  dead.signal = 11;
  dead.hop = 2;
  const std::string reason = look({dead}, 0).value_or("none");
  EXPECT_NE(reason.find("rank 0 died of signal 11"), std::string::npos) << reason;
  EXPECT_NE(reason.find("2 receives"), std::string::npos) << reason;
}

}  // namespace
}  // namespace course::demo
