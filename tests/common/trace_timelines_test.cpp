#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "trace/trace.hpp"
#include "trace_examples.hpp"

/// Several timelines on one axis.
namespace course {
namespace {

/// Columns that leave forty cells for the lanes.
constexpr int forty_cells = 65;

std::vector<Timeline> short_and_long() {
  return {{"short <run>", {{0, {span_ms(Kind::Compute, 100, 102, "a")}}}},
          {"long run", {{0, {span_ms(Kind::Transfer, 7, 11, "b")}}}}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(TerminalTimelines, ShareAnAxisAndBeginTogether) {
  const auto lines = lines_of(terminal_timelines(short_and_long(), forty_cells, false));
  EXPECT_EQ(lines.at(1), "short <run>");
  EXPECT_EQ(lines.at(2), "rank 0 │" + repeat("█", 20) + repeat("·", 20) + "│  50   0   0  50");
  EXPECT_EQ(lines.at(3), "long run");
  EXPECT_EQ(lines.at(4), "rank 0 │" + repeat("═", 40) + "│   0 100   0   0");
  EXPECT_TRUE(lines.at(5).starts_with("       └┬")) << "one axis, below all of them";
  EXPECT_EQ(lines.at(8), "%: share of the 4.00 ms shown  a short span may fill a cell");
}

TEST(TerminalTimelines, OneIsDrawnAsByItself) {
  const auto traces = ring(3, 2, 2, 0.5);
  EXPECT_EQ(terminal_timelines({{"name", traces}}, 80, true), terminal_timeline(traces, 80, true));
}

TEST(TerminalTimelines, OneWithoutSpansIsIdleBesideAnother) {
  const auto lines =
      lines_of(terminal_timelines({{"nothing", {{0, {}}}}, short_and_long()[1]}, forty_cells, false));
  EXPECT_EQ(lines.at(2), "rank 0 │" + repeat("·", 40) + "│   0   0   0 100");
  EXPECT_TRUE(terminal_timelines({{"nothing", {{0, {}}}}}, 80, false).starts_with("No spans"));
}

/// Left edge and width of the bars of a kind.
std::vector<std::pair<double, double>> bars(const std::string& svg, const std::string& kind) {
  std::vector<std::pair<double, double>> found;
  const std::regex bar("<rect class='" + kind + "' x='([0-9.]+)' y='[0-9.]+' width='([0-9.]+)'");
  for (std::sregex_iterator it(svg.begin(), svg.end(), bar), end; it != end; ++it)
    found.emplace_back(std::stod((*it)[1]), std::stod((*it)[2]));
  return found;
}

TEST(SvgTimelines, ShareAnAxisAndBeginTogether) {
  const std::string svg = svg_timelines(short_and_long(), "title", "what it cannot show");
  const auto compute = bars(svg, "compute");
  const auto transfer = bars(svg, "transfer");
  ASSERT_EQ(compute.size(), 1u);
  ASSERT_EQ(transfer.size(), 1u);
  EXPECT_EQ(compute[0].first, transfer[0].first);
  EXPECT_NEAR(2 * compute[0].second, transfer[0].second, 1) << "half as long, but for the gap";
  EXPECT_LT(svg.find("short &lt;run&gt;"), svg.find("long run"));
  EXPECT_EQ(count(svg, "time since"), 1u);
  EXPECT_NE(svg.find("what it cannot show"), std::string::npos);
}

TEST(SvgTimelines, OneIsDrawnAsByItself) {
  const auto traces = ring(3, 2, 2, 0.5);
  EXPECT_EQ(svg_timelines({{"name", traces}}, "title"), svg_timeline(traces, "title"));
}

RankTrace with_two_streams() {
  Span work = span_ms(Kind::Compute, 0, 30), transfer = span_ms(Kind::Transfer, 10, 40);
  work.stream = 1;
  transfer.stream = 2;
  return {7, {transfer, work}};
}

TEST(Streams, OfARankAreLanesOfTheirOwn) {
  const std::vector<RankTrace> lanes = by_stream(with_two_streams());
  ASSERT_EQ(lanes.size(), 2u);
  EXPECT_EQ(lanes[0].rank, 7);
  EXPECT_EQ(lanes[0].stream, 1);
  EXPECT_EQ(lanes[0].spans.at(0).kind, Kind::Compute);
  EXPECT_EQ(lanes[1].stream, 2);
}

TEST(Streams, AreNamedInEveryFormat) {
  const std::vector<Timeline> timelines{{"ranks", by_stream(with_two_streams())}};
  const auto lines = lines_of(terminal_timelines(timelines, forty_cells + 2, false));
  EXPECT_EQ(lines.at(1), "rank 7/1 │" + repeat("█", 30) + repeat("·", 10) + "│  75   0   0  25");
  EXPECT_EQ(lines.at(2), "rank 7/2 │" + repeat("·", 10) + repeat("═", 30) + "│   0  75   0  25");
  const std::string svg = svg_timelines(timelines, "title");
  for (const char* words : {">rank 7/2<", "one rank did", "Each lane is a stream"})
    EXPECT_NE(svg.find(words), std::string::npos) << words;
  std::map<int, std::string> names;
  for (const auto& event : nlohmann::json::parse(chrome_traces(timelines)))
    if (event.at("name") == "thread_name") names[event.at("tid")] = event.at("args").at("name");
  EXPECT_EQ(names, (std::map<int, std::string>{{7001, "rank 7/1"}, {7002, "rank 7/2"}}));
}

TEST(ChromeTraces, AreProcessesThatBeginTogether) {
  std::map<int, std::string> names;
  std::map<int, double> begins;
  for (const auto& event : nlohmann::json::parse(chrome_traces(short_and_long()))) {
    if (event.at("name") == "process_name") names[event.at("pid")] = event.at("args").at("name");
    if (event.at("ph") == "X") begins[event.at("pid")] = event.at("ts");
  }
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names.begin()->second, "short <run>");
  EXPECT_EQ(names.rbegin()->second, "long run");
  ASSERT_EQ(begins.size(), 2u);
  for (const auto& [process, begin] : begins) EXPECT_EQ(begin, 0) << process;
}

}  // namespace
}  // namespace course
