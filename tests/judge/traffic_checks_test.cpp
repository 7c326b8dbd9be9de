#include "judge/checks/traffic_checks.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "protocol/case.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course {

namespace {

/// A ring of four; each rank has to send its next 12 bytes for each rank up to it.
Example ring_of_four() {
  return {.what = "a ring", .inputs = {}, .layout = std::vector<int>(4, 1)};
}

std::int64_t needed(const Example& example, int from, int to) {
  return to == (from + 1) % example.ranks() ? 12 * (from + 1) : 0;
}

/// Each rank but those that send nothing sent so many times what is needed, half of it by a collective.
Outcome sent_times(std::int64_t times, const std::vector<int>& silent = {}) {
  const Example example = ring_of_four();
  Outcome outcome;
  outcome.reports.resize(4);
  for (int from = 0; from < 4; ++from) {
    const int to = (from + 1) % 4;
    const std::int64_t half = times * needed(example, from, to) / 2;
    if (std::ranges::count(silent, from) == 0)
      outcome.reports[from].traffic = {{.call = "MPI_Send", .to = to, .bytes = half},
                                       {.call = "MPI_Alltoallv", .to = to, .bytes = half}};
  }
  return outcome;
}

std::string told(const Outcome& outcome) {
  const CommunicationCheck look = checks::sends_only_what_is_needed(needed, "too_much");
  const std::vector<Finding> found = look(ring_of_four(), outcome);
  if (found.empty()) return "";
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].mistake, "too_much");
  return found[0].text;
}

bool is_multiple(const Outcome& outcome) {
  return checks::sent_whole_multiple(needed)(ring_of_four(), outcome);
}

TEST(TrafficChecks, AllowWhatIsNeeded) {
  EXPECT_EQ(told(sent_times(1)), "");
  EXPECT_EQ(told(sent_times(1, {0, 1, 2, 3})), "") << "nobody counts, or nothing was sent";
  EXPECT_EQ(told(Outcome{}), "") << "a rank without a report";
}

TEST(TrafficChecks, TellTheFirstPairThatHasTooMuch) {
  Outcome outcome = sent_times(1);
  outcome.reports[1].traffic.push_back({.call = "MPI_Isend", .to = 2, .bytes = 1});
  EXPECT_EQ(told(outcome), "rank 1 sent 25 bytes to rank 2, 24 are needed");
  outcome.reports[0].traffic.push_back({.call = "MPI_Bcast", .to = 3, .bytes = 4});
  EXPECT_EQ(told(outcome), "rank 0 sent 4 bytes to rank 3, 0 are needed");
}

TEST(TrafficChecks, SayHowManyTimesTooMuchEveryRankSent) {
  EXPECT_EQ(told(sent_times(4)),
            "rank 0 sent 48 bytes to rank 1, 12 are needed; all senders sent 4 times as many as are "
            "needed");
  EXPECT_EQ(told(sent_times(2, {0})),
            "rank 1 sent 48 bytes to rank 2, 24 are needed; all senders sent 2 times as many as are "
            "needed");
}

TEST(TrafficChecks, RecogniseOneWholeMultipleOnEveryRank) {
  EXPECT_TRUE(is_multiple(sent_times(4)));
  EXPECT_TRUE(is_multiple(sent_times(2, {1, 3})));
  EXPECT_FALSE(is_multiple(sent_times(1)));
  EXPECT_FALSE(is_multiple(sent_times(1, {0, 1, 2, 3})));
  EXPECT_EQ(checks::whole_multiple_sent(needed, ring_of_four(), sent_times(4)), 4);
  Outcome outcome = sent_times(4);
  outcome.reports[3].traffic[0].bytes += 48;
  EXPECT_FALSE(is_multiple(outcome)) << "another multiple on one rank";
  outcome = sent_times(4);
  outcome.reports[2].traffic[0].bytes += 1;
  EXPECT_FALSE(is_multiple(outcome)) << "no whole one";
  outcome = sent_times(4);
  outcome.reports[2].traffic.push_back({.call = "MPI_Send", .to = 0, .bytes = 4});
  EXPECT_FALSE(is_multiple(outcome)) << "to a rank that needs nothing";
  outcome.reports[2].traffic.back().to = 2;
  EXPECT_TRUE(is_multiple(outcome)) << "a message to itself is no traffic between ranks";
}

TEST(TrafficChecks, RecogniseNoMultipleWhereARankLeftAPeerOut) {
  const checks::NeededBytes of_all = [](const Example&, int, int) { return 8; };
  Outcome outcome;
  outcome.reports.resize(3);
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to) outcome.reports[from].traffic.push_back({.to = to, .bytes = 16});
  const Example example{.what = "all", .inputs = {}, .layout = std::vector<int>(3, 1)};
  EXPECT_EQ(checks::whole_multiple_sent(of_all, example, outcome), 2);
  outcome.reports[1].traffic[0].bytes = 0;
  EXPECT_EQ(checks::whole_multiple_sent(of_all, example, outcome), 0);
}

TEST(TrafficMap, ShowsWhoSentTooMuchByWhichCallBesideAllOthers) {
  const CommunicationCheck look = checks::sends_by_the_map(
      needed, [](const Example&, int from) { return fmt::format("rank {} is in a ring", from); }, "map");
  EXPECT_TRUE(look(ring_of_four(), sent_times(1)).empty());
  Outcome outcome = sent_times(1, {3});
  outcome.reports[1].traffic = {{.call = "MPI_Isend", .to = 3, .bytes = 1000}};
  const std::vector<Finding> found = look(ring_of_four(), outcome);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].mistake, "map");
  EXPECT_EQ(found[0].text,
            "rank 1 sent 1000 bytes in MPI_Isend to rank 3, 0 are needed; rank 1 is in a ring\n"
            "bytes sent/needed, a row a sender, a column a receiver, ! too many, . none:\n"
            "          0        1        2        3\n"
            " 0        .    12/12        .        .\n"
            " 1        .        .     0/24  !1000/0\n"
            " 2        .        .        .    36/36\n"
            " 3     0/48        .        .        .");
}

TEST(TrafficInAll, IsCountedOverAllReceivers) {
  const checks::Limit limit = [](const Example&, int) { return 48; };
  const CommunicationCheck look = checks::sends_in_all_at_most(limit, "sum");
  Outcome outcome = sent_times(1);
  EXPECT_TRUE(look(ring_of_four(), outcome).empty());
  outcome.reports[2].traffic.push_back({.call = "MPI_Bcast", .to = 0, .bytes = 16});
  ASSERT_EQ(look(ring_of_four(), outcome).size(), 1u);
  EXPECT_EQ(look(ring_of_four(), outcome)[0].text, "rank 2 sent 52 bytes to others, at most 48 are needed");
}

TEST(Steps, AreInTheReportInTheirOrder) {
  const TemporaryFolder temporary;
  RankReport report;
  report.steps = {{RankStep::Kind::Sends, 1, 96}, {}, {RankStep::Kind::Has, 3, 40}};
  write_report(temporary.path(), report);
  const std::filesystem::path path = temporary.path() / "report.json";
  EXPECT_EQ(parse_report(read_text(path), path).steps, report.steps);
}

TEST(Traffic, IsInTheReportBesideTheBytesOfMessages) {
  const TemporaryFolder temporary;
  RankReport report;
  report.traffic = {{1, {0, 1, 2}, "MPI_Isend", 1, 96},
                    {2, {2, 0}, "MPI_Alltoallv", 2, 40},
                    {1, {0, 1, 2}, "MPI_Sendrecv", 1, 4}};
  report.collective_bytes = 80;
  write_report(temporary.path(), report);
  const std::string text = read_text(temporary.path() / "report.json");
  EXPECT_EQ(parse_report(text, "report").traffic, report.traffic);
  EXPECT_EQ(parse_report(text, "report").collective_bytes, 80);
  std::string flat = text;
  std::erase_if(flat, [](char c) { return c == ' ' || c == '\n'; });
  EXPECT_NE(flat.find(R"("bytes_sent_to":[[1,100]])"), std::string::npos) << flat;
}

TEST(Traffic, IsWhatAPlayerTellsByPeerAlone) {
  const std::string report = R"({"ending": "finished", "what": "", "outputs": [], "peak_bytes": -1,
                                 "bytes_sent_to": [[1, 96], [3, 8]], "collective_bytes": 0, "facts": []})";
  const Traffic traffic = parse_report(report, "report").traffic;
  EXPECT_EQ(traffic, (Traffic{{.to = 1, .bytes = 96}, {.to = 3, .bytes = 8}}));
  EXPECT_EQ(messages_by_peer(traffic), (std::map<int, std::int64_t>{{1, 96}, {3, 8}}));
}

}  // namespace

}  // namespace course
