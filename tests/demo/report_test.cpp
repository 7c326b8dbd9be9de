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
  EXPECT_NO_THROW(terminal_timeline({{0, spans}}, 80, false));
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

RingSummary some_ring(const RingKind& kind, double transfer_s) {
  RingSummary ring{kind, {2, 2}, {some_rank(0, transfer_s), some_rank(1, transfer_s)}, {}};
  ring.comparison.by_rank.resize(2);
  ring.comparison.rows = ring.comparison.seq = 4;
  return ring;
}

std::string verbose_text(const RunSummary& run) {
  return report_text(run, {}, {.columns = 80, .colour = false, .verbose = true});
}

/// Of the blocking ring.
RunSummary some_run() {
  return {{4, 2}, 1, 4, 2, "made up", false, 1, {some_ring(ring_kinds[0], 1)}};
}

/// Of both rings.
RunSummary some_runs() {
  RunSummary run = some_run();
  run.rings.push_back(some_ring(ring_kinds[1], 3));
  return run;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
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

TEST(Report, JsonHasGradientsWhereThereAreSome) {
  RunSummary run = some_run();
  run.rings[0].comparison.gradients.emplace();
  run.rings[0].comparison.gradients->by_rank.resize(2);
  run.rings[0].comparison.gradients->overall.dk.relative = 0.25;
  const nlohmann::json errors = nlohmann::json::parse(report_json(run)).at("relative_error");
  EXPECT_EQ(errors, (nlohmann::json{{"o", 0.0}, {"lse", 0.0}, {"dq", 0.0}, {"dk", 0.25}, {"dv", 0.0}}));
  EXPECT_FALSE(run.passed()) << "dk is off by more than its tolerance, 0";
  EXPECT_NE(verbose_text(run).find("dk  is WRONG"), std::string::npos);
}

TEST(Report, AnErrorThatIsNoNumberIsNullInJson) {
  RunSummary run = some_run();
  run.rings[0].comparison.overall.o.relative = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(nlohmann::json::parse(report_json(run)).at("relative_error").at("o").is_null());
}

TEST(Report, SaysWhetherRanksShareCores) {
  RunSummary run = some_run();
  EXPECT_EQ(verbose_text(run).find("oversubscribes"), std::string::npos);
  for (RankRecord& rank : run.rings[0].ranks) rank.cores = 1;
  EXPECT_NE(verbose_text(run).find("oversubscribes"), std::string::npos);
  run.rings[0].ranks[1].host_id = "two";
  EXPECT_EQ(verbose_text(run).find("oversubscribes"), std::string::npos);
  EXPECT_NE(verbose_text(run).find("2 MPI ranks on 2 hosts"), std::string::npos);
}

TEST(Report, ShowsWhatTheMpiLayerNoticed) {
  RunSummary run = some_run();
  run.rings[0].ranks[1].facts = {"MPI_Recv from source -1"};
  run.rings[0].ranks[0].collective_bytes = 2048;
  const std::string text = verbose_text(run);
  EXPECT_NE(text.find("rank 1: MPI_Recv from source -1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 0: received 2.00 KiB in collectives"), std::string::npos) << text;
}

TEST(Report, ShowsOneRingWithoutAnother) {
  const std::string text = verbose_text(some_run());
  EXPECT_TRUE(has(text, "lessons 04 (blocks) and 05 (ring)\n")) << text;
  for (const char* other : {"Blocking ring", "slow-network"}) EXPECT_FALSE(has(text, other));
}

TEST(Report, PutsTwoRingsSideBySide) {
  const std::string text = verbose_text(some_runs());
  EXPECT_TRUE(has(text, "lessons 04 (blocks), 05 (blocking ring) and 08 (overlapped ring)\n")) << text;
  for (const char* line : {"\nBlocking ring\n", "\nOverlapped ring\n", "\nblocking ring: 4.00 s\n",
                           "\noverlapped ring: 6.00 s\n", "./course lab slow-network"}) {
    EXPECT_TRUE(has(text, line)) << line << text;
  }
  EXPECT_FALSE(has(text, "Noticed")) << "both sent as much";
}

TEST(Report, ComparesTimeExposureTrafficAndErrorsOfRings) {
  RunSummary run = some_runs();
  run.rings[1].comparison.overall.lse = {0.5, 0.125};
  run.rings[1].ranks[1].trace.spans[1].kind = Span::Kind::Wait;
  EXPECT_EQ(ring_table(run, Paint(false)),
            "ring           time exposed      sent  error: o     lse\n"
            "blocking     4.00 s    25 %      64 B   0.0e+00 0.0e+00\n"
            "overlapped   6.00 s    50 %      64 B   0.0e+00 1.2e-01\n"
            "allowed                                 0.0e+00 0.0e+00\n");
  for (RingSummary& ring : run.rings) ring.comparison.gradients.emplace();
  const std::string table = ring_table(run, Paint(false));
  for (std::size_t at = 0; at < table.size(); at = table.find('\n', at) + 1)
    EXPECT_LT(table.find('\n', at) - at, 80u) << table.substr(at);
}

TEST(Report, SaysWhichRingIsWrong) {
  RunSummary run = some_runs();
  EXPECT_TRUE(run.passed());
  EXPECT_TRUE(has(report_text(run, {}, {}), "\nRight in every query row"));
  run.rings[1].comparison.overall.o.relative = 0.25;
  EXPECT_FALSE(run.passed());
  EXPECT_EQ(run.wrong_rings(), std::vector<std::string>{"overlapped"});
  EXPECT_TRUE(has(report_text(run, {}, {}), "\nWRONG: o of the overlapped ring, looking at every query row"));
  const std::string text = verbose_text(run);
  const std::size_t verdicts = text.find("o   is right");
  EXPECT_LT(verdicts, text.find("Overlapped ring", verdicts)) << text;
  EXPECT_GT(text.find("o   is WRONG", verdicts), text.find("Overlapped ring", verdicts)) << text;
  EXPECT_EQ(text.find("o   is right", text.find("Overlapped ring", verdicts)), std::string::npos) << text;
}

TEST(Report, SaysHowMuchWasCompared) {
  RunSummary run = some_run();
  run.rings[0].comparison.rows = 3;
  run.rings[0].comparison.gradients.emplace().heads = 12;
  run.rings[0].comparison.gradients->heads_compared = 2;
  run.rings[0].comparison.gradients->by_rank.resize(2);
  run.runs = 8;
  EXPECT_TRUE(
      has(report_text(run, {}, {}),
          "\nRight in 3 of 4 query rows of each head, evenly spread, and in the gradients of 2 of 12 heads, "
          "compared with float64 attention (Eigen); times: the fastest of 8 runs\n"))
      << report_text(run, {}, {});
}

TEST(Report, TellsOfRingsThatSentDifferentAmounts) {
  RunSummary run = some_runs();
  run.rings[1].ranks[0].bytes_sent = 40;
  EXPECT_TRUE(has(verbose_text(run), "the overlapped ring sent 72 bytes and the blocking one 64"));
}

TEST(Report, JsonHasEachRingByItself) {
  RunSummary run = some_runs();
  run.rings[1].comparison.overall.o = {0.5, 0.25};
  const nlohmann::json json = nlohmann::json::parse(report_json(run));
  ASSERT_EQ(json.at("rings").size(), 2u);
  EXPECT_EQ(json.at("relative_error"), json.at("rings").at(0).at("relative_error"));
  EXPECT_EQ(json.at("per_rank"), json.at("rings").at(0).at("per_rank"));
  const nlohmann::json& second = json.at("rings").at(1);
  EXPECT_EQ(second.at("name"), "overlapped");
  EXPECT_EQ(second.at("passed"), false);
  EXPECT_EQ(second.at("seconds"), 6.0);
  EXPECT_EQ(second.at("exposed"), 0.5);
  EXPECT_EQ(second.at("bytes_sent"), 64);
  EXPECT_EQ(second.at("largest_error"), (nlohmann::json{{"o", 0.5}, {"lse", 0.0}}));
  EXPECT_EQ(second.at("relative_error"), (nlohmann::json{{"o", 0.25}, {"lse", 0.0}}));
  EXPECT_EQ(second.at("per_rank").at(1).at("transfer_s"), 3.0);
}

TEST(Report, HasColourOnlyWhereItIsWanted) {
  EXPECT_EQ(verbose_text(some_run()).find('\x1b'), std::string::npos);
  EXPECT_NE(report_text(some_run(), {}, {.columns = 80, .colour = true}).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace course::demo
