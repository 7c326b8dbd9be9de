#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "../common/complaint.hpp"
#include "lab/laboratory.hpp"
#include "lab/model.hpp"
#include "lab/network.hpp"
#include "lab/quantity.hpp"
#include "lab/report.hpp"
#include "lab/trace.hpp"
#include "protocol/errors.hpp"

namespace course::lab {

namespace {

TEST(Quantity, BandwidthHasUnits) {
  EXPECT_DOUBLE_EQ(parse_bandwidth("--bandwidth", "500Mbit"), 500e6);
  EXPECT_DOUBLE_EQ(parse_bandwidth("--bandwidth", "500mbit/s"), 500e6);
  EXPECT_DOUBLE_EQ(parse_bandwidth("--bandwidth", "1.5Gbit"), 1.5e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("--bandwidth", "200000kbit"), 200e6);
}

TEST(Quantity, LatencyHasUnits) {
  EXPECT_DOUBLE_EQ(parse_latency("--latency", "200us"), 200e-6);
  EXPECT_DOUBLE_EQ(parse_latency("--latency", "2ms"), 2e-3);
  EXPECT_DOUBLE_EQ(parse_latency("--latency", "0.01s"), 10e-3);
  EXPECT_DOUBLE_EQ(parse_latency("--latency", "0ms"), 0);
}

TEST(Quantity, RefusesWhatIsNone) {
  for (const char* text : {"", "Mbit", "500", "500MB", "-500Mbit", "nanMbit", "infGbit", "5e8", "500 Mbit",
                           "500Mbit;reboot", "1Mbit", "1000Gbit", "0Mbit", "1e3Mbit"}) {
    const std::string said = complaint_of<UsageError>([&] { parse_bandwidth("--bandwidth", text); });
    EXPECT_TRUE(said.starts_with("--bandwidth " + std::string(text) + ": expected a number and Mbit or Gbit"))
        << said;
    EXPECT_EQ(said.find('\n'), std::string::npos);
  }
  for (const char* text : {"", "2", "ms", "-1ms", "nanms", "101ms", "1s", "2 ms", "2m"}) {
    const std::string said = complaint_of<UsageError>([&] { parse_latency("--latency", text); });
    EXPECT_TRUE(said.starts_with("--latency " + std::string(text) + ": expected a number and us, ms or s"))
        << said;
  }
}

TEST(Model, TheThresholdIsWhereWorkEqualsTransfer) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<double> exponent(0, 3);
  for (int draw = 0; draw < 100; ++draw) {
    const double flops = 1e9 * std::pow(10, exponent(generator));
    const double bytes_per_s = 1e6 * std::pow(10, exponent(generator));
    const double asked = std::pow(2, exponent(generator) - 1.5);
    const double tokens = tokens_for(asked, flops, bytes_per_s);
    const timed::Extents work{3, std::lround(tokens * 1000), 32};  // finely enough to forget the rounding
    const double work_s = timed::forward_operations(work) / flops;
    const double transfer_s = hop_bytes(work) / bytes_per_s;
    EXPECT_NEAR(work_s / transfer_s / 1000, asked, asked * 1e-3);
  }
  EXPECT_DOUBLE_EQ(tokens_for(1, 300e9, 1e9), 600);   // 2 F / B in float32
  EXPECT_DOUBLE_EQ(tokens_for(2, 300e9, 1e9), 1200);  // 4 F / B
}

TEST(Model, CountsABlockAndAHop) {
  EXPECT_DOUBLE_EQ(timed::forward_operations({2, 100, 64}), 4.0 * 100 * 100 * 2 * 64);
  EXPECT_DOUBLE_EQ(hop_bytes({2, 100, 64}), 2.0 * 4 * 100 * 2 * 64);
}

TEST(Model, PredictsRings) {
  const RingParts hidden{4, 2, 1};
  EXPECT_DOUBLE_EQ(compute_alone_s(hidden), 8);
  EXPECT_DOUBLE_EQ(blocking_s(hidden), 11);
  EXPECT_DOUBLE_EQ(overlapped_s(hidden), 8);
  const RingParts bound{4, 1, 2};
  EXPECT_DOUBLE_EQ(blocking_s(bound), 10);
  EXPECT_DOUBLE_EQ(overlapped_s(bound), 7);
  const RingParts alone{1, 3, 5};
  EXPECT_DOUBLE_EQ(blocking_s(alone), 3);
  EXPECT_DOUBLE_EQ(overlapped_s(alone), 3);
  EXPECT_DOUBLE_EQ(timed::exposed_share(11, 8), 0.375);
}

TEST(Model, KnowsHowLongASettingTakes) {
  // Nine times 8 + 3 for the speeds; then three rounds of 8 alone, 3 + 3 of hops, 11 and 11 and 8.
  EXPECT_DOUBLE_EQ(setting_s({4, 2, 1}), 9 * 11 + 3 * (8 + 6 + 22 + 8));
  EXPECT_LT(setting_s({8, 1, 0.5}), longest_setting_s);
  EXPECT_GT(setting_s({16, 2, 1}), longest_setting_s);
}

TEST(Model, OverlapNeverLosesAndNeverBeatsEitherBound) {
  std::mt19937 generator(2);
  std::uniform_real_distribution<double> seconds(0, 3);
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (int draw = 0; draw < 50; ++draw) {
      const RingParts ring{ranks, seconds(generator), seconds(generator)};
      EXPECT_LE(overlapped_s(ring), blocking_s(ring) + 1e-12);
      EXPECT_GE(overlapped_s(ring), compute_alone_s(ring) - 1e-12);
      EXPECT_GE(overlapped_s(ring), (ranks - 1) * ring.transfer_s + ring.work_s - 1e-12);
    }
  }
}

Measured measured(double work_over_transfer, double compute, double blocking, double unaided, double aided,
                  double hops) {
  Measured result;
  result.work_over_transfer = work_over_transfer;
  result.work = {1, 1024, 64};
  result.compute_alone_s = compute;
  result.blocking_transfers_s = hops;
  result.overlapped_transfers_s = hops;
  for (const auto& [name, seconds] :
       {std::pair{"blocking", blocking}, {"without", unaided}, {"with", aided}}) {
    timed::Call ring{name, seconds, 3, {}};
    for (int rank = 0; rank < 2; ++rank) {
      RankRecord one;
      one.trace = {rank,
                   {{Span::Kind::Compute, 0, compute / 2, "block of rank 0"},
                    {Span::Kind::Transfer, compute / 2, seconds - compute / 2, "MPI_Recv"},
                    {Span::Kind::Compute, seconds - compute / 2, seconds, "block of rank 1"}}};
      ring.ranks.push_back(one);
    }
    result.rings.push_back(ring);
  }
  return result;
}

TEST(Laboratory, ReadsWhatWasExposedBesideTheModel) {
  const Reading finding = read(measured(2, 2.0, 2.6, 2.5, 2.02, 0.5), 2);
  EXPECT_DOUBLE_EQ(finding.work_s, 1);
  EXPECT_DOUBLE_EQ(finding.transfer_s, 0.5);
  ASSERT_EQ(finding.exposed.size(), 3u);
  EXPECT_NEAR(finding.exposed[0].measured, 0.3, 1e-12);
  EXPECT_NEAR(finding.exposed[0].predicted, 0.25, 1e-12);
  EXPECT_NEAR(finding.exposed[1].predicted, 0.25, 1e-12);  // without progress nothing travels beside the work
  EXPECT_NEAR(finding.exposed[2].measured, 0.01, 1e-12);
  EXPECT_NEAR(finding.exposed[2].predicted, 0, 1e-12);
}

TEST(Laboratory, KnowsWhichTargetsAreMet) {
  const std::vector<Target> good =
      targets({measured(2, 2.0, 2.62, 2.5, 2.02, 0.5), measured(0.5, 2.0, 4.1, 4.0, 3.2, 2.0)}, 2);
  ASSERT_EQ(good.size(), 3u);
  for (const Target& target : good) EXPECT_TRUE(target.met) << target.what << " " << target.measured;
  const std::vector<Target> bad =
      targets({measured(2, 2.0, 2.5, 2.5, 2.1, 0.5), measured(0.5, 2.0, 4.1, 4.0, 3.6, 2.0)}, 2);
  for (const Target& target : bad) EXPECT_FALSE(target.met) << target.what << " " << target.measured;
}

TEST(Laboratory, KnowsWhichTargetTheModelPutsOutOfReach) {
  const std::vector<Measured> quarter{measured(2, 2.0, 2.5, 2.5, 2.02, 0.5)};
  EXPECT_NE(targets(quarter, 2).at(1).out_of_reach, "");  // one hop of half a block beside two blocks
  const std::vector<Measured> half{measured(2, 2.0, 2.5, 2.5, 2.02, 1.0)};
  EXPECT_EQ(targets(half, 2).at(1).out_of_reach, "");
}

Span compute(double begin_s, double end_s, const std::string& label) {
  return {Span::Kind::Compute, begin_s, end_s, label};
}

Span progress(double begin_s, double end_s) {
  return {Span::Kind::Transfer, begin_s, end_s, progress_label};
}

std::vector<Span> joined_spans(const std::vector<Span>& spans) {
  return with_joined_tiles({{"", {{0, spans}}}})[0].traces[0].spans;
}

TEST(Tiles, OfABlockAreDrawnAsOneBar) {
  const std::vector<Span> spans =
      joined_spans({compute(0, 1, "a"), progress(1, 1.001), compute(1.001, 2, "a"), progress(2, 2.001),
                    compute(2.001, 3, "a"), progress(3, 3.001), compute(3.001, 4, "b")});
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_DOUBLE_EQ(spans[0].end_s, 3);
  EXPECT_EQ(spans[1].label, progress_label);
  EXPECT_EQ(spans[2].label, "b");
}

TEST(Tiles, AreNotJoinedOverWhatCanBeSeen) {
  const std::vector<Span> spans{compute(0, 1, "a"),
                                progress(1, 1.5),
                                compute(1.5, 2, "a"),
                                {Span::Kind::Wait, 2, 2.001, "MPI_Waitall"},
                                compute(2.001, 3, "a")};
  EXPECT_EQ(joined_spans(spans).size(), spans.size());
  EXPECT_TRUE(joined_spans({}).empty());
  EXPECT_EQ(joined_spans({progress(0, 0.001), compute(1, 2, "a"), progress(2, 2.001)}).size(), 3u);
}

TEST(Network, ShapesADevice) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(shaping_commands("lo", {.bandwidth = 500e6}),
            Lines{"tc qdisc add dev lo root tbf rate 500000000bit burst 131072 limit 67108864"});
  EXPECT_EQ(shaping_commands("link-a", {.bandwidth = 1e9, .latency_s = 2e-3}),
            (Lines{"tc qdisc add dev link-a root handle 1: netem delay 2000us limit 100000",
                   "tc qdisc add dev link-a parent 1:1 handle 10: tbf rate 1000000000bit burst 131072 limit "
                   "67108864"}));
}

std::vector<Measured> two_settings() {
  return {measured(2, 2.0, 2.62, 2.5, 2.02, 0.5), measured(0.5, 2.0, 4.1, 4.0, 3.2, 2.0)};
}

timed::Code code(const std::string& lesson, const std::string& subject) {
  return {.lesson = lesson, .subject = subject, .target = {}, .library = {}};
}

const Laboratory laboratory{.name = "slow-network",
                            .ranks = 2,
                            .block = code("04", "solution"),
                            .blocking = code("05", "student"),
                            .overlapped = code("08", "solution"),
                            .link = "a link"};

TEST(Report, SaysWhoseCodeWhatWasExposedAndWhichTargetsAreMet) {
  const std::string text = laboratory_text(laboratory, two_settings(), {});
  for (const char* part :
       {"Laboratory slow-network", "lesson 05, your own code", "lesson 08, the solution", "31.0 %", "25.0 %",
        "Work at 2 times the transfer: 1024 tokens a rank, 1 head of 64", "Work at 0.5 times", "met"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  EXPECT_EQ(text.find("MISSED"), std::string::npos);
  EXPECT_EQ(text.find('\033'), std::string::npos);
}

TEST(Report, TellsAMissedTargetFromOneOutOfReach) {
  const std::string text = laboratory_text(laboratory, {measured(2, 2.0, 2.5, 2.5, 2.1, 0.5)}, {});
  EXPECT_NE(text.find("3.0 %:   5.0 %   MISSED"), std::string::npos) << text;
  EXPECT_NE(text.find("30.0 %:  25.0 %   out of reach\n    with 2 ranks there are too few hops"),
            std::string::npos)
      << text;
}

TEST(Report, OfALinkThatIsNotShapedPromisesNothing) {
  Laboratory unshaped = laboratory;
  unshaped.limits = "no namespace here";
  const std::string text = laboratory_text(unshaped, two_settings(), {});
  EXPECT_NE(text.find("limits  no namespace here"), std::string::npos);
  EXPECT_EQ(text.find("Targets"), std::string::npos);
  const auto json = nlohmann::json::parse(laboratory_json(unshaped, two_settings(), {}));
  EXPECT_FALSE(json["shaped"].get<bool>());
  EXPECT_TRUE(json["targets"].empty());
}

TEST(Report, IsAlsoOneJsonObject) {
  const auto json = nlohmann::json::parse(laboratory_json(laboratory, two_settings(), {"a.svg"}));
  EXPECT_EQ(json["code"]["05"], "student");
  EXPECT_EQ(json["settings"].size(), 2u);
  EXPECT_NEAR(json["settings"][0]["rings"][0]["exposed"].get<double>(), 0.31, 1e-9);
  EXPECT_EQ(json["targets"].size(), 3u);
  EXPECT_EQ(json["files"][0], "a.svg");
}

TEST(Report, DrawsThreeTimelinesOnOneScale) {
  const std::string svg = laboratory_svg(laboratory, two_settings()[0]);
  EXPECT_NE(svg.find("in 3 runs, one below the other on one axis of 2.62 s"), std::string::npos);
  for (const char* ring :
       {"blocking: exposed communication is 31.0 % of compute", "without: exposed", "with: exposed"})
    EXPECT_NE(svg.find(ring), std::string::npos) << ring;
}

TEST(Report, OfATraceSaysWhoseCode) {
  const Traced traced{"ring_attention", code("05", "student"), code("04", "solution"),
                      measured(2, 2.0, 2.6, 2.5, 2.02, 0.5).rings[0]};
  const std::string text = trace_text(traced, {});
  EXPECT_NE(text.find("Lesson 05, ring_attention, on 2 ranks: your own code"), std::string::npos) << text;
  EXPECT_NE(text.find("blocks computed by lesson 04: the solution"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(trace_json(traced, {"t.svg"}));
  EXPECT_EQ(json["code"], "student");
  EXPECT_DOUBLE_EQ(json["per_rank"][1]["compute_s"].get<double>(), 2.0);
}

}  // namespace

}  // namespace course::lab
