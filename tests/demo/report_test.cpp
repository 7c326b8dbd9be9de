#include "demo/report.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "demo/tables.hpp"
#include "protocol/timing.hpp"

namespace course::demo {
namespace {

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
  EXPECT_NO_THROW(terminal_timelines({{"", {{0, spans}}}}, 80, false));
}

TEST(FormatBytes, KeepsThreeDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1179648), "1.12 MiB");
  EXPECT_EQ(format_bytes(15 * 1024), "15.0 KiB");
  EXPECT_EQ(format_bytes(3ll << 38), "768 GiB");
}

RankRecord some_rank(int rank, double transfer_s) {
  RankRecord record;
  record.bytes_sent = 32;
  record.trace = {rank,
                  {{Span::Kind::Compute, 0, 3, "block of rank 0"},
                   {Span::Kind::Transfer, 3, 3 + transfer_s, "MPI_Send"}}};
  record.host_id = "one";
  record.cores = 2;
  return record;
}

/// Two ranks with two tokens each, on which rings take 4 and 6 seconds and are right.
struct SomeRun {
  explicit SomeRun(int rings) {
    shown.block.lesson = "04";
    shown.block_backward.lesson = "06";
    shown.ranks = 2;
    shown.input = {Tensor({1, 4, 2}), {}, {}, {4, 2}, "made up"};
    add("blocking", "05", "07", 1);
    if (rings == 2) add("overlapped", "08", "08", 3);
  }
  SomeRun(const SomeRun&) = delete;
  SomeRun& operator=(const SomeRun&) = delete;

  void add(const std::string& name, const std::string& lesson, const std::string& backward,
           double transfer_s) {
    shown.rings.push_back({name, {.lesson = lesson, .subject = {}, .target = {}, .library = {}}});
    shown.rings.back().backward.lesson = backward;
    RingResult& ring = run.rings.emplace_back(RingResult{.name = name, .outputs = {}, .ranks = {}});
    ring.ranks = {some_rank(0, transfer_s), some_rank(1, transfer_s)};
    ring.comparison.rows = ring.comparison.seq = 4;
    for (const char* output : {"o", "lse"}) ring.comparison.outputs.push_back({output, {}, {{}, {}}});
  }

  void go_back() {
    shown.backward = true;
    for (RingResult& ring : run.rings) {
      for (const char* output : {"dq", "dk", "dv"}) ring.comparison.outputs.push_back({output, {}, {{}, {}}});
    }
  }

  Deviation& off(std::size_t ring, std::size_t output) {
    return run.rings[ring].comparison.outputs[output].overall;
  }

  std::string text() const { return report_text(run, {}, false); }
  std::string verbose_text() const { return report_text(run, {.columns = 80}, true); }
  nlohmann::json json() const { return nlohmann::json::parse(report_json(run)); }

  Demonstration shown;
  RunResult run{shown, {}};
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Report, JsonHasTheFieldsOfTheDesign) {
  const nlohmann::json json = SomeRun(1).json();
  EXPECT_EQ(json.at("ranks"), 2);
  EXPECT_EQ(json.at("causal"), false);
  EXPECT_EQ(json.at("layout"), "contiguous");
  EXPECT_EQ(json.at("backend"), "mpi");
  EXPECT_EQ(json.at("relative_error"), (nlohmann::json{{"o", 0.0}, {"lse", 0.0}}));
  const nlohmann::json second{{"rank", 1},        {"tokens", 2},       {"bytes_sent", 32},
                              {"compute_s", 3.0}, {"transfer_s", 1.0}, {"wait_s", 0.0}};
  EXPECT_EQ(json.at("per_rank").at(1), second);
}

TEST(Report, JsonHasGradientsWhereThereAreSome) {
  SomeRun one(1);
  RunResult& run = one.run;
  one.go_back();
  one.off(0, 3).relative = 0.25;
  const nlohmann::json errors = one.json().at("relative_error");
  EXPECT_EQ(errors, (nlohmann::json{{"o", 0.0}, {"lse", 0.0}, {"dq", 0.0}, {"dk", 0.25}, {"dv", 0.0}}));
  EXPECT_FALSE(run.wrong_rings().empty()) << "dk is off by more than its tolerance, 0";
  EXPECT_NE(one.verbose_text().find("dk  is WRONG"), std::string::npos);
}

/// Two ranks with two tokens each of one head, which the first has: there q, k and v of 2 tokens of 2
/// numbers, and back o and lse.
TEST(Report, OfAnExchangeNoticesWhatIsSentBesides) {
  SomeRun one(1);
  one.shown.what = RingFor::Exchange;
  one.shown.rings[0].name = one.run.rings[0].name = "ulysses";
  one.shown.rings[0].forward.lesson = "17";
  one.shown.input.k = one.shown.input.v = Tensor({1, 4, 2});
  std::vector<RankRecord>& ranks = one.run.rings[0].ranks;
  ranks[0].bytes_sent = 2 * (2 + 1) * 4;
  ranks[1].bytes_sent = 2 * 3 * 2 * 4;
  ranks[0].collective_bytes = ranks[1].collective_bytes = 100;
  EXPECT_FALSE(has(one.text(), "Noticed")) << one.text();
  EXPECT_TRUE(has(one.text(), "1 of 2 ranks has no heads")) << one.text();
  EXPECT_TRUE(has(one.verbose_text(), "04 (blocks) and 17 (exchange)")) << one.verbose_text();
  ranks[0].bytes_sent += 8;
  EXPECT_TRUE(has(one.text(), "rank 0: sent 32 bytes, of which 24 are needed")) << one.text();
  EXPECT_EQ(one.json().at("bytes_needed"), 24 + 48);
  EXPECT_TRUE(one.json().at("hops").is_null());
  one.off(0, 0).relative = 1;
  EXPECT_TRUE(has(one.text(), "WRONG: o of the ulysses exchange")) << one.text();
}

TEST(Report, AnErrorThatIsNoNumberIsNullInJson) {
  SomeRun one(1);
  one.off(0, 0).relative = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(one.json().at("relative_error").at("o").is_null());
}

TEST(Report, SaysWhetherRanksShareCores) {
  SomeRun one(1);
  RunResult& run = one.run;
  EXPECT_EQ(one.verbose_text().find("oversubscribes"), std::string::npos);
  for (RankRecord& rank : run.rings[0].ranks) rank.cores = 1;
  EXPECT_NE(one.verbose_text().find("oversubscribes"), std::string::npos);
  run.rings[0].ranks[1].host_id = "two";
  EXPECT_EQ(one.verbose_text().find("oversubscribes"), std::string::npos);
  EXPECT_NE(one.verbose_text().find("2 MPI ranks on 2 hosts"), std::string::npos);
}

TEST(Report, ShowsWhatTheMpiLayerNoticed) {
  SomeRun one(1);
  RunResult& run = one.run;
  run.rings[0].ranks[1].facts = {"MPI_Recv from source -1"};
  run.rings[0].ranks[0].collective_bytes = 2048;
  const std::string text = one.verbose_text();
  EXPECT_NE(text.find("rank 1: MPI_Recv from source -1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 0: received 2.00 KiB in collectives"), std::string::npos) << text;
}

/// Two contiguous shards of two tokens under a causal mask: 3 scores, and 4 + 3.
struct CausalRun : SomeRun {
  CausalRun() : SomeRun(1) {
    shown.row.causal = true;
    shown.rings[0].name = run.rings[0].name = "causal";
    run.rings[0].ranks[0].call.blocks = {{0, 1.0}};
    run.rings[0].ranks[1].call.blocks = {{1, 1.0}, {0, 2.0}};
  }
};

TEST(Report, ShowsHowACausalMasksWorkIsShared) {
  const CausalRun one;
  const std::string text = one.text();
  EXPECT_TRUE(has(text, "Ring attention, forward, causal, contiguous shards: 2 MPI ranks")) << text;
  EXPECT_TRUE(
      has(text,
          "rank  tokens  scores  largest step  of equal share  CPU time  of equal share  transfer, wait\n"
          "0          2       3             3            0.60    1.00 s            0.50          1.00 s\n"
          "1          2       7             4            1.40    3.00 s            1.50          1.00 s\n"
          "all        4      10             4            1.40    4.00 s            1.50          2.00 s\n"
          "scores: of one head; all of equal share: every step waits for its slowest rank (scores: at "
          "most 2 - 1/P = 1.50)\n"))
      << text;
  EXPECT_FALSE(has(SomeRun(1).text(), "largest step"));
}

TEST(Report, SaysHowLittleIsComputedWhereLayoutsBalance) {
  CausalRun one;
  one.shown.layout_name = "zigzag";
  const std::string text = one.text();
  EXPECT_TRUE(has(text, "causal, zigzag shards")) << text;
  EXPECT_TRUE(has(text, "\n0          2       5             3            1.00 ")) << text;
  EXPECT_FALSE(has(text, "2 - 1/P")) << text;
}

TEST(Report, JsonHasWhatThereWasToCompute) {
  const nlohmann::json json = CausalRun().json();
  EXPECT_EQ(json.at("causal"), true);
  const nlohmann::json& load = json.at("load");
  EXPECT_EQ(load.at("scores_by_step"), (nlohmann::json{{3.0, 0.0}, {3.0, 4.0}}));
  EXPECT_EQ(load.at("slowest_steps"), 1.4);
  EXPECT_EQ(load.at("slowest_steps_measured"), 1.5);
}

/// A rank's GPU has two streams; the second begins first and ends last.
struct SimulatedRun : SomeRun {
  SimulatedRun() : SomeRun(1) {
    shown.backend = "sim";
    run.rings[0].ranks[0].trace.spans = {{Span::Kind::Compute, 1, 3, "work", 1},
                                         {Span::Kind::Transfer, 0, 2, "group", 2},
                                         {Span::Kind::Transfer, 2, 7, "group", 2}};
  }
};

TEST(Report, OfSimulatedGpusHasALaneAStreamAndAModelsTime) {
  const SimulatedRun one;
  const std::string text = one.verbose_text();
  for (const char* part : {"2 MPI ranks with simulated GPUs on one host", "rank 0/1 │", "rank 0/2 │",
                           "model's time", "blocking        7.00 s        -", "no speed\n"})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
  EXPECT_FALSE(has(text, "exposed: ") || has(text, "(blocks)")) << text;
  EXPECT_EQ(one.json().at("backend"), "sim");
  EXPECT_TRUE(one.json().at("rings").at(0).at("exposed").is_null());
  EXPECT_TRUE(one.json().at("load").at("slowest_steps_measured").is_null());
}

TEST(Report, OfDevicesDoesNotSayWhatNobodyCounts) {
  SomeRun one(1);
  one.shown.backend = "cuda";
  const std::string text = one.text();
  EXPECT_TRUE(has(text, "2 MPI ranks with CUDA devices on one host")) << text;
  EXPECT_TRUE(has(text, "blocking  4.00 s        -     -")) << text;
  EXPECT_TRUE(one.json().at("per_rank").at(0).at("bytes_sent").is_null());
  EXPECT_TRUE(one.json().at("rings").at(0).at("bytes_sent").is_null());
}

TEST(Report, ShowsOneRingWithoutAnother) {
  const std::string text = SomeRun(1).verbose_text();
  EXPECT_TRUE(has(text, "lessons 04 (blocks) and 05 (ring)\n")) << text;
  for (const char* other : {"Blocking ring", "slow-network"}) EXPECT_FALSE(has(text, other));
}

TEST(Report, PutsTwoRingsSideBySide) {
  const std::string text = SomeRun(2).verbose_text();
  EXPECT_TRUE(has(text, "lessons 04 (blocks), 05 (blocking ring) and 08 (overlapped ring)\n")) << text;
  for (const char* line : {"\nBlocking ring\n", "\nOverlapped ring\n", "\nblocking ring: 4.00 s\n",
                           "\noverlapped ring: 6.00 s\n", "./course lab slow-network"}) {
    EXPECT_TRUE(has(text, line)) << line << text;
  }
  EXPECT_FALSE(has(text, "Noticed")) << "both sent as much";
}

TEST(Report, ComparesTimeExposureTrafficAndErrorsOfRings) {
  SomeRun both(2);
  RunResult& run = both.run;
  both.off(1, 1) = {0.5, 0.125};
  run.rings[1].ranks[1].trace.spans[1].kind = Span::Kind::Wait;
  EXPECT_EQ(ring_table(run),
            "ring          time  exposed  sent  error: o      lse\n"
            "blocking    4.00 s     33 %  64 B   0.0e+00  0.0e+00\n"
            "overlapped  6.00 s    100 %  64 B   0.0e+00  1.2e-01\n"
            "allowed                             0.0e+00  0.0e+00\n");
  both.go_back();
  const std::string table = ring_table(run);
  for (std::size_t at = 0; at < table.size(); at = table.find('\n', at) + 1)
    EXPECT_LT(table.find('\n', at) - at, 80u) << table.substr(at);
}

TEST(Report, ExposedTimeIsThatInWhichSharedCoresComputeNothing) {
  SomeRun one(1);
  std::vector<RankRecord>& ranks = one.run.rings[0].ranks;
  EXPECT_TRUE(has(one.text(), "\nexposed: time beyond that of computing, as a share of it\n")) << one.text();
  for (RankRecord& rank : ranks) rank.cores = 1;
  EXPECT_TRUE(has(one.text(), "computing, as a share of it; on shared cores mostly waiting for a turn\n"))
      << one.text();
  const auto take = [](int rank, std::vector<Span> spans) {
    RankRecord record = some_rank(rank, 1);
    record.trace.spans = std::move(spans);
    return record;
  };
  const auto compute = [](double begin_s, double end_s) {
    return Span{Span::Kind::Compute, begin_s, end_s, ""};
  };
  const auto wait = [](double begin_s, double end_s) { return Span{Span::Kind::Wait, begin_s, end_s, ""}; };
  one.shown.ranks = 4;
  // Two ranks on each of two cores, one after the other.
  ranks = {take(0, {compute(0, 2), wait(2, 4)}), take(1, {wait(0, 2), compute(2, 4)}),
           take(2, {compute(0, 2), wait(2, 4)}), take(3, {wait(0, 2), compute(2, 4)})};
  EXPECT_EQ(one.json().at("rings").at(0).at("exposed"), 0);
  // All at once: each core goes from one rank's block to the other's and back.
  for (RankRecord& rank : ranks) rank.trace.spans = {compute(0, 4)};
  EXPECT_EQ(one.json().at("rings").at(0).at("exposed"), 0);
  // A core has nothing to compute for half of the time.
  ranks[0].trace.spans = ranks[1].trace.spans = {wait(0, 4)};
  ranks[2].trace.spans = {compute(0, 2), wait(2, 4)};
  EXPECT_DOUBLE_EQ(one.json().at("rings").at(0).at("exposed").get<double>(), 4 / 3. - 1);
  // On another host a core of its own.
  ranks[2].host_id = "two";
  ranks[2].trace.spans = {compute(0, 1), wait(1, 4)};
  EXPECT_DOUBLE_EQ(timed::computation_s(ranks), (4 + 1) / 3.);
}

TEST(Report, SaysWhichRingIsWrong) {
  SomeRun both(2);
  RunResult& run = both.run;
  EXPECT_TRUE(run.wrong_rings().empty());
  EXPECT_TRUE(has(both.text(), "\nRight in every query row"));
  both.off(1, 0).relative = 0.25;
  EXPECT_EQ(run.wrong_rings(), std::vector<std::string>{"overlapped"});
  EXPECT_TRUE(has(both.text(), "\nWRONG: o of the overlapped ring, looking at every query row"));
  const std::string text = both.verbose_text();
  const std::size_t verdicts = text.find("o   is right");
  EXPECT_LT(verdicts, text.find("Overlapped ring", verdicts)) << text;
  EXPECT_GT(text.find("o   is WRONG", verdicts), text.find("Overlapped ring", verdicts)) << text;
  EXPECT_EQ(text.find("o   is right", text.find("Overlapped ring", verdicts)), std::string::npos) << text;
}

TEST(Report, SaysHowMuchWasCompared) {
  SomeRun one(1);
  RunResult& run = one.run;
  run.rings[0].comparison.rows = 3;
  run.rings[0].comparison.heads = 12;
  run.rings[0].comparison.gradient_heads = 2;
  one.shown.runs = 8;
  EXPECT_TRUE(
      has(one.text(),
          "\nRight in 3 of 4 query rows of each head, evenly spread, and in the gradients of 2 of 12 heads, "
          "compared with float64 attention (Eigen); times: the fastest of 8 runs\n"))
      << one.text();
}

TEST(Report, TellsOfRingsThatSentDifferentAmounts) {
  SomeRun both(2);
  RunResult& run = both.run;
  run.rings[1].ranks[0].bytes_sent = 40;
  EXPECT_TRUE(has(both.verbose_text(), "the overlapped ring sent 72 bytes and the blocking one 64"));
}

TEST(Report, JsonHasEachRingByItself) {
  SomeRun both(2);
  both.off(1, 0) = {0.5, 0.25};
  const nlohmann::json json = both.json();
  ASSERT_EQ(json.at("rings").size(), 2u);
  EXPECT_EQ(json.at("relative_error"), json.at("rings").at(0).at("relative_error"));
  EXPECT_EQ(json.at("per_rank"), json.at("rings").at(0).at("per_rank"));
  const nlohmann::json& second = json.at("rings").at(1);
  EXPECT_EQ(second.at("name"), "overlapped");
  EXPECT_EQ(second.at("passed"), false);
  EXPECT_EQ(second.at("seconds"), 6.0);
  EXPECT_EQ(second.at("exposed"), 1.0);
  EXPECT_EQ(second.at("bytes_sent"), 64);
  EXPECT_EQ(second.at("largest_error"), (nlohmann::json{{"o", 0.5}, {"lse", 0.0}}));
  EXPECT_EQ(second.at("relative_error"), (nlohmann::json{{"o", 0.25}, {"lse", 0.0}}));
  EXPECT_EQ(second.at("per_rank").at(1).at("transfer_s"), 3.0);
}

TEST(Report, HasColourOnlyWhereItIsWanted) {
  EXPECT_EQ(SomeRun(1).verbose_text().find('\x1b'), std::string::npos);
  EXPECT_NE(report_text(SomeRun(1).run, {.columns = 80, .colour = true}, false).find('\x1b'),
            std::string::npos);
}

}  // namespace
}  // namespace course::demo
