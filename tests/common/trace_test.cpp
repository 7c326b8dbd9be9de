#include "trace/trace.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "complaint.hpp"
#include "trace_examples.hpp"

namespace course {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(
      utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string without_escapes(std::string text) {
  for (std::size_t at = text.find('\x1b'); at != std::string::npos; at = text.find('\x1b')) {
    text.erase(at, text.find('m', at) + 1 - at);
  }
  return text;
}

/// The cells of lane `row`: what stands between the first and the last │ of that line.
std::string cells(const std::string& timeline, std::size_t row) {
  constexpr std::string_view edge = "│";
  const std::string line = lines_of(timeline).at(row + 1);
  const std::size_t begin = line.find(edge) + edge.size();
  return line.substr(begin, line.rfind(edge) - begin);
}

// With 65 columns and ranks of one digit a lane has 40 cells, so that over 40 ms a cell is 1 ms.
constexpr int forty_cells = 65;

std::string forty_ms_lane(std::vector<Span> spans) {
  const std::vector<RankTrace> traces{{0, std::move(spans)}, {1, {span_ms(Kind::Compute, 0, 40)}}};
  return cells(terminal_timeline(traces, forty_cells, false), 0);
}

TEST(Trace, TotalAddsTheSpansOfOneKind) {
  const RankTrace trace{3,
                        {span_ms(Kind::Compute, 1, 4), span_ms(Kind::Wait, 4, 4.5),
                         span_ms(Kind::Transfer, 5, 7), span_ms(Kind::Compute, 7, 8)}};
  EXPECT_DOUBLE_EQ(total_s(trace, Kind::Compute), 4 * ms);
  EXPECT_DOUBLE_EQ(total_s(trace, Kind::Transfer), 2 * ms);
  EXPECT_DOUBLE_EQ(total_s(trace, Kind::Wait), 0.5 * ms);
  EXPECT_EQ(total_s({0, {}}, Kind::Compute), 0);
}

TEST(TerminalTimeline, DrawsAWholeTimeline) {
  const std::vector<RankTrace> traces{
      {0, {span_ms(Kind::Compute, 5, 25), span_ms(Kind::Transfer, 25, 33), span_ms(Kind::Wait, 33, 37)}},
      {1, {span_ms(Kind::Transfer, 5, 45)}}};
  const std::string expected = std::string(51, ' ') + "█%  ═%  ░%  ·%\n" +  //
                               "rank 0 │" + repeat("█", 20) + repeat("═", 8) + repeat("░", 4) +
                               repeat("·", 8) + "│  50  20  10  20\n" +                          //
                               "rank 1 │" + repeat("═", 40) + "│   0 100   0   0\n" +            //
                               "       └┬" + repeat("─", 19) + "┬" + repeat("─", 18) + "┬┘\n" +  //
                               "        0" + std::string(18, ' ') + "20" + std::string(17, ' ') + "40 ms\n" +
                               "█ compute  ═ transfer  ░ wait  · idle\n"
                               "%: share of the 40.0 ms shown  a short span may fill a cell\n";
  EXPECT_EQ(terminal_timeline(traces, forty_cells, false), expected);
}

TEST(TerminalTimeline, CellShowsWhatFillsMostOfIt) {
  const std::string lane = forty_ms_lane(
      {span_ms(Kind::Compute, 0, 2.4), span_ms(Kind::Transfer, 2.4, 4.4), span_ms(Kind::Wait, 4.4, 6.3)});
  EXPECT_EQ(lane, "██══░░" + repeat("·", 34));
}

TEST(TerminalTimeline, ShortTransferBetweenLongComputesStaysVisible) {
  const std::string lane =
      forty_ms_lane({span_ms(Kind::Compute, 0, 10.3), span_ms(Kind::Transfer, 10.3, 10.31),
                     span_ms(Kind::Compute, 10.31, 40)});
  EXPECT_EQ(lane, repeat("█", 10) + "═" + repeat("█", 29));
}

TEST(TerminalTimeline, ShortSpanTakesTheCellThatItFillsMost) {
  for (const double begin : {10.8, 10.6}) {
    const std::string lane =
        forty_ms_lane({span_ms(Kind::Compute, 0, begin), span_ms(Kind::Transfer, begin, begin + 0.6),
                       span_ms(Kind::Compute, begin + 0.6, 40)});
    const int cell = begin == 10.8 ? 11 : 10;
    EXPECT_EQ(lane, repeat("█", cell) + "═" + repeat("█", 39 - cell));
  }
}

TEST(TerminalTimeline, ShortSpansOfOneCellStandBesideEachOtherInOrder) {
  const std::string lane =
      forty_ms_lane({span_ms(Kind::Compute, 0, 10.3), span_ms(Kind::Wait, 10.3, 10.35),
                     span_ms(Kind::Transfer, 10.35, 10.4), span_ms(Kind::Compute, 10.4, 40)});
  EXPECT_EQ(lane, repeat("█", 10) + "░═" + repeat("█", 28));
}

TEST(TerminalTimeline, ShortSpansAtTheRightEdgeMoveLeft) {
  const std::string lane =
      forty_ms_lane({span_ms(Kind::Wait, 0, 5), span_ms(Kind::Compute, 5, 39.8),
                     span_ms(Kind::Transfer, 39.8, 39.9), span_ms(Kind::Wait, 39.9, 40)});
  EXPECT_EQ(lane, repeat("░", 5) + repeat("█", 33) + "░═");
}

TEST(TerminalTimeline, ShortSpanDoesNotHideTheOnlyCellOfAnother) {
  const std::string lane = forty_ms_lane({span_ms(Kind::Wait, 0, 10), span_ms(Kind::Compute, 10, 10.9),
                                          span_ms(Kind::Transfer, 10.9, 11), span_ms(Kind::Wait, 11, 40)});
  EXPECT_EQ(lane, repeat("░", 10) + "█═" + repeat("░", 28));
}

TEST(TerminalTimeline, ShortSpanDoesNotHideAnotherThatWasMovedAside) {
  const std::string lane = forty_ms_lane({span_ms(Kind::Compute, 0, 10.3), span_ms(Kind::Wait, 10.3, 10.4),
                                          span_ms(Kind::Transfer, 10.4, 10.5),
                                          span_ms(Kind::Compute, 10.5, 10.6), span_ms(Kind::Wait, 10.6, 40)});
  EXPECT_EQ(lane, repeat("█", 10) + "░═" + repeat("░", 28));
}

TEST(TerminalTimeline, SpanWithoutDurationIsVisibleInItsCell) {
  for (int cell = 0; cell < 40; ++cell) {
    EXPECT_EQ(forty_ms_lane({span_ms(Kind::Transfer, cell, cell)}),
              repeat("·", cell) + "═" + repeat("·", 39 - cell));
  }
  EXPECT_EQ(forty_ms_lane({span_ms(Kind::Wait, 40, 40)}), repeat("·", 39) + "░");
  const std::string alone = terminal_timeline({{0, {span_ms(Kind::Wait, 3, 3)}}}, 80, false);
  EXPECT_EQ(count(cells(alone, 0), "░"), 1u);
}

TEST(TerminalTimeline, EveryHopOfANarrowTimelineIsVisible) {
  const std::string timeline = terminal_timeline(ring(8, 7, 3, 0.001), 40, false);
  for (std::size_t rank = 0; rank < 8; ++rank) EXPECT_EQ(count(cells(timeline, rank), "═"), 7u) << timeline;
}

TEST(TerminalTimeline, EveryKindShowsWhereSpansAreDenserThanCells) {
  auto traces = ring(2, 1000, 0.9, 0.1);
  const double end_s = traces[0].spans.back().end_s;
  traces[0].spans.push_back({Kind::Wait, end_s, end_s + 1e-6, "the only wait"});
  traces[0].spans.push_back({Kind::Compute, end_s + 1e-6, end_s + 3 * ms, ""});
  const std::string lane = cells(terminal_timeline(traces, 80, false), 0);
  EXPECT_GE(count(lane, "█"), 1u) << lane;
  EXPECT_GE(count(lane, "═"), 1u) << lane;
  EXPECT_GE(count(lane, "░"), 1u) << lane;
}

class TerminalTimelineSize : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(TerminalTimelineSize, LanesAreAlignedAndFillTheWidth) {
  const auto [ranks, columns] = GetParam();
  const std::string timeline = terminal_timeline(ring(ranks, ranks, 2, 0.5), columns, false);
  const auto lines = lines_of(timeline);
  const std::size_t explaining = columns < 59 ? 3 : columns < 100 ? 2 : 1;
  ASSERT_EQ(lines.size(), static_cast<std::size_t>(ranks) + 3 + explaining)
      << "as few lines as there is room for";
  for (const std::string& line : lines)
    EXPECT_LE(characters(line), static_cast<std::size_t>(columns)) << line;
  const std::size_t first_edge = lines[1].find("│");
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string& line = lines[static_cast<std::size_t>(rank) + 1];
    EXPECT_EQ(characters(line), static_cast<std::size_t>(columns)) << line;
    EXPECT_EQ(line.find("│"), first_edge) << line;
    EXPECT_NE(line.find(fmt::format("{} │", rank)), std::string::npos) << line;
  }
  // The percentages' headings are in sight at the bottom too when the lanes are many.
  EXPECT_EQ(count(timeline, "█%"), ranks > 16 ? 2u : 1u);
}

INSTANTIATE_TEST_SUITE_P(Sizes, TerminalTimelineSize,
                         testing::Combine(testing::Values(1, 4, 64), testing::Values(40, 59, 60, 80, 200)));

TEST(TerminalTimeline, NarrowerThanFortyIsForty) {
  const auto traces = ring(4, 3, 2, 0.5);
  EXPECT_EQ(terminal_timeline(traces, 0, false), terminal_timeline(traces, 40, false));
  EXPECT_EQ(terminal_timeline(traces, -5, false), terminal_timeline(traces, 40, false));
}

TEST(TerminalTimeline, ColourOnlyAddsEscapes) {
  const auto traces = ring(4, 3, 2, 0.5);
  const std::string plain = terminal_timeline(traces, 80, false);
  const std::string coloured = terminal_timeline(traces, 80, true);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_NE(coloured, plain);
  EXPECT_EQ(without_escapes(coloured), plain);
  EXPECT_EQ(count(coloured, "\x1b[0m") * 2, count(coloured, "\x1b["));
}

TEST(TerminalTimeline, UnitFitsTheLength) {
  const auto axis_labels = [](double scale) {
    return lines_of(terminal_timeline({{0, {span_ms(Kind::Compute, 0, scale)}}}, 80, false)).at(3);
  };
  EXPECT_TRUE(axis_labels(0.02).ends_with("20 µs")) << axis_labels(0.02);
  EXPECT_TRUE(axis_labels(2).ends_with("2.0 ms")) << axis_labels(2);
  EXPECT_TRUE(axis_labels(4).ends_with("3            4 ms")) << axis_labels(4);
  EXPECT_TRUE(axis_labels(0.5).ends_with("400 µs")) << axis_labels(0.5);
  EXPECT_TRUE(axis_labels(1500).ends_with("1.5 s")) << axis_labels(1500);
}

TEST(TerminalTimeline, TimeStartsWithTheFirstSpan) {
  auto late = ring(3, 2, 2, 0.5);
  for (auto& trace : late) {
    for (auto& span : trace.spans) {
      span.begin_s += 8;
      span.end_s += 8;
    }
  }
  EXPECT_EQ(terminal_timeline(late, 80, false), terminal_timeline(ring(3, 2, 2, 0.5), 80, false));
}

TEST(TerminalTimeline, RankWithoutSpansIsIdle) {
  const std::string timeline =
      terminal_timeline({{0, {span_ms(Kind::Compute, 0, 1)}}, {1, {}}}, forty_cells, false);
  EXPECT_EQ(lines_of(timeline).at(2), "rank 1 │" + repeat("·", 40) + "│   0   0   0 100");
}

TEST(TerminalTimeline, SmallSharesAreNotRoundedAway) {
  const std::string timeline =
      terminal_timeline({{0, {span_ms(Kind::Compute, 0, 999), span_ms(Kind::Wait, 999, 1000)}}}, 80, false);
  EXPECT_TRUE(lines_of(timeline).at(1).ends_with("│ >99   0  <1   0")) << timeline;
}

TEST(TerminalTimeline, WithoutSpansSaysSo) {
  EXPECT_EQ(terminal_timeline({}, 80, true),
            "No spans were recorded on 0 ranks, so there is no timeline to draw.\n");
  EXPECT_EQ(terminal_timeline({{0, {}}}, 80, true),
            "No spans were recorded on 1 rank, so there is no timeline to draw.\n");
}

// ---- Chrome ----

std::vector<nlohmann::json> events_of(const std::vector<RankTrace>& traces, const std::string& phase) {
  std::vector<nlohmann::json> events;
  for (const auto& event : nlohmann::json::parse(chrome_trace(traces))) {
    if (event.at("ph") == phase) events.push_back(event);
  }
  return events;
}

TEST(ChromeTrace, DurationsAddUpByRankAndKind) {
  auto traces = ring(5, 4, 3.7, 0.21);
  traces[3].spans.push_back(span_ms(Kind::Wait, 30, 31.5, "MPI_Recv from 2"));
  const std::map<Kind, std::string> categories{
      {Kind::Compute, "compute"}, {Kind::Transfer, "transfer"}, {Kind::Wait, "wait"}};
  const auto events = events_of(traces, "X");
  std::size_t spans = 0;
  for (const RankTrace& trace : traces) {
    spans += trace.spans.size();
    for (const auto& [kind, category] : categories) {
      double total_us = 0;
      for (const auto& event : events) {
        if (event.at("tid") == trace.rank && event.at("cat") == category)
          total_us += event.at("dur").get<double>();
      }
      EXPECT_NEAR(total_us, 1e6 * total_s(trace, kind), 0.01) << "rank " << trace.rank << " " << category;
    }
  }
  EXPECT_EQ(events.size(), spans);
}

TEST(ChromeTrace, EventsHaveNameAndTimesInMicroseconds) {
  const auto events =
      events_of({{2, {span_ms(Kind::Transfer, 5, 5.25, "K and V"), span_ms(Kind::Wait, 6, 8)}}}, "X");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].at("name"), "K and V");
  EXPECT_EQ(events[0].at("tid"), 2);
  EXPECT_DOUBLE_EQ(events[0].at("ts"), 0);
  EXPECT_DOUBLE_EQ(events[0].at("dur"), 250);
  EXPECT_EQ(events[1].at("name"), "wait");
  EXPECT_DOUBLE_EQ(events[1].at("ts"), 1000);
  EXPECT_DOUBLE_EQ(events[1].at("dur"), 2000);
}

TEST(ChromeTrace, NeighboursDoNotOverlapByRounding) {
  const auto events = events_of(ring(1, 500, 0.0123456789, 0.00098765), "X");
  for (std::size_t i = 1; i < events.size(); ++i) {
    const auto nanoseconds = [&](std::size_t j, const char* key) {
      return std::llround(1e3 * events[j].at(key).get<double>());
    };
    EXPECT_EQ(nanoseconds(i - 1, "ts") + nanoseconds(i - 1, "dur"), nanoseconds(i, "ts"));
  }
}

TEST(ChromeTrace, NamesEachThreadAfterItsRankInOneProcess) {
  const auto traces = ring(64, 2, 1, 0.1);
  std::map<int, std::string> names;
  std::set<int> processes;
  for (const auto& event : events_of(traces, "M")) {
    processes.insert(event.at("pid").get<int>());
    if (event.at("name") == "thread_name") names[event.at("tid")] = event.at("args").at("name");
  }
  for (const auto& event : events_of(traces, "X")) processes.insert(event.at("pid").get<int>());
  ASSERT_EQ(names.size(), 64u);
  for (int rank = 0; rank < 64; ++rank) EXPECT_EQ(names[rank], fmt::format("rank {}", rank));
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(names.count(*processes.begin()), 0u) << "the process has the number of a rank";
}

TEST(ChromeTrace, AnyLabelIsValidJson) {
  const auto events = events_of({{0, {span_ms(Kind::Compute, 0, 1, "a \"b\" \\ \n é \xff")}}}, "X");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].at("name"), "a \"b\" \\ \n é \xEF\xBF\xBD");
}

TEST(ChromeTrace, WithoutSpansHasNoCompleteEvent) {
  EXPECT_EQ(nlohmann::json::parse(chrome_trace({})), nlohmann::json::array());
  EXPECT_TRUE(events_of({{0, {}}}, "X").empty());
  EXPECT_FALSE(events_of({{0, {}}}, "M").empty());
}

// ---- wrong input ----

std::string message_of(const std::vector<RankTrace>& traces) {
  std::set<std::string> messages;
  const auto collect = [&](const auto& draw) { messages.insert(complaint_of<std::invalid_argument>(draw)); };
  collect([&] { terminal_timeline(traces, 80, false); });
  collect([&] { svg_timeline(traces, "wrong"); });
  collect([&] { chrome_trace(traces); });
  return messages.size() == 1 ? *messages.begin() : "the three formats disagree";
}

TEST(Trace, SpansThatCannotBeAreNamed) {
  EXPECT_EQ(
      message_of({{0, {}}, {4, {{Kind::Wait, 2, 1, "hop 1"}}}}),
      "trace of rank 4: span \"hop 1\" is from 2 s to 1 s, expected an end that is not before its begin");
  EXPECT_EQ(
      message_of({{4, {{Kind::Compute, 0, 2, "a"}, {Kind::Wait, 1.5, 3, "b"}}}}),
      "trace of rank 4: span \"b\" is from 1.5 s to 3 s, expected a begin that is not before 2 s, where the "
      "span before it ends");
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(message_of({{1, {{Kind::Wait, nan, 1, "c"}}}}),
            "trace of rank 1: span \"c\" is from nan s to 1 s, expected finite times");
  EXPECT_EQ(message_of({{1, {{Kind::Wait, 0, infinity, "c"}}}}),
            "trace of rank 1: span \"c\" is from 0 s to inf s, expected finite times");
  EXPECT_EQ(message_of({{1, {{Kind::Compute, 0, 2, "a"}, {Kind::Wait, 2 - 1e-12, 3, "b"}}}}),
            "nothing was thrown");
}

}  // namespace
}  // namespace course
