#include "trace/trace.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace course {
namespace {

using Kind = Span::Kind;

constexpr double ms = 1e-3;

Span span_ms(Kind kind, double begin, double end, std::string label = "") {
  return {kind, begin * ms, end * ms, std::move(label)};
}

/// Each rank computes for `compute` ms and transfers for `transfer` ms, `hops` times, and computes once more.
std::vector<RankTrace> ring(int ranks, int hops, double compute, double transfer) {
  std::vector<RankTrace> traces;
  for (int rank = 0; rank < ranks; ++rank) {
    traces.push_back({rank, {}});
    auto& spans = traces.back().spans;
    double now = 0;
    for (int hop = 0; hop < hops; ++hop) {
      spans.push_back(span_ms(Kind::Compute, now, now + compute, fmt::format("block of rank {}", hop)));
      now += compute;
      spans.push_back(span_ms(Kind::Transfer, now, now + transfer, "K and V"));
      now += transfer;
    }
    spans.push_back(span_ms(Kind::Compute, now, now + compute, "last block"));
  }
  return traces;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++found;
  }
  return found;
}

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(
      utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string repeat(std::string_view glyph, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += glyph;
  return result;
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
                               "%: share of the 40.0 ms shown\n"
                               "a short span may fill a whole cell\n";
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
  ASSERT_EQ(lines.size(), static_cast<std::size_t>(ranks) + 6);
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

// ---- SVG ----

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;  ///< character data right after the opening tag
};

/// Reads elements and character data, as much of XML as the pictures use. Throws on what is not well-formed:
/// tags that do not balance, an unquoted attribute, a bare & or <, a control character, more or less than one
/// root.
class XmlReader {
 public:
  explicit XmlReader(const std::string& text) : text_(text) {}

  /// In order of their opening tags.
  std::vector<Element> elements() {
    while (at_ < text_.size()) {
      if (text_[at_] == '<') {
        tag();
      } else {
        character_data();
      }
    }
    if (!open_.empty()) fail("an element stays open: " + open_.back());
    if (roots_ != 1) fail(fmt::format("{} roots", roots_));
    return std::move(elements_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(fmt::format("XML, at byte {}: {}", at_, what));
  }

  std::string until(char end) {
    const std::size_t begin = at_;
    at_ = text_.find(end, begin);
    if (at_ == std::string::npos) fail(fmt::format("no {} to the end", end));
    return text_.substr(begin, at_++ - begin);
  }

  void check(const std::string& data) const {
    for (std::size_t i = 0; i < data.size(); ++i) {
      const unsigned char c = static_cast<unsigned char>(data[i]);
      if (c < 0x20 && c != '\n') fail("control character");
      if (c == '<') fail("bare <");
      if (c != '&') continue;
      const std::string entity = data.substr(i, data.find(';', i) + 1 - i);
      if (!std::set<std::string>{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}.count(entity)) fail("bare &");
    }
  }

  void character_data() {
    const std::size_t end = std::min(text_.find('<', at_), text_.size());
    const std::string data = text_.substr(at_, end - at_);
    check(data);
    if (open_.empty() && data.find_first_not_of('\n') != std::string::npos) fail("text outside the root");
    if (text_[at_ - std::min<std::size_t>(at_, 1)] == '>' && !elements_.empty() &&
        elements_.back().text.empty()) {
      elements_.back().text = data;
    }
    at_ = end;
  }

  void tag() {
    ++at_;
    if (text_.at(at_) == '/') {
      ++at_;
      const std::string name = until('>');
      if (open_.empty() || open_.back() != name) fail("closes nothing: " + name);
      open_.pop_back();
      return;
    }
    Element element;
    while (std::isalpha(static_cast<unsigned char>(text_.at(at_)))) element.name += text_[at_++];
    if (element.name.empty()) fail("no name");
    while (text_.at(at_) == ' ') attribute(element);
    if (open_.empty()) ++roots_;
    if (text_.at(at_) == '/') {
      ++at_;
    } else {
      open_.push_back(element.name);
    }
    if (text_.at(at_++) != '>') fail("the tag does not end");
    elements_.push_back(std::move(element));
  }

  void attribute(Element& element) {
    ++at_;
    const std::string name = until('=');
    const char quote = text_.at(at_++);
    if (quote != '\'' && quote != '"') fail("no quote after " + name);
    const std::string value = until(quote);
    check(value);
    if (!element.attributes.emplace(name, value).second) fail("twice: " + name);
  }

  const std::string& text_;
  std::size_t at_ = 0;
  int roots_ = 0;
  std::vector<std::string> open_;
  std::vector<Element> elements_;
};

std::vector<Element> read_xml(const std::string& text) {
  return XmlReader(text).elements();
}

TEST(XmlReader, ReadsElementsAndRefusesWhatIsNotWellFormed) {
  const auto elements = read_xml("<a>\n<b x='1' y=\"'\"/>t<c>u &amp; v</c></a>\n");
  ASSERT_EQ(elements.size(), 3u);
  EXPECT_EQ(elements[1].attributes, (std::map<std::string, std::string>{{"x", "1"}, {"y", "'"}}));
  EXPECT_EQ(elements[2].text, "u &amp; v");
  for (const char* wrong :
       {"", "<a><b></a>", "<a>", "</a>", "<a>&</a>", "<a>&nbsp;</a>", "<a x=1/>", "<a>1 < 2</a>", "<a/><a/>",
        "text", "<a>\x01</a>", "<a x='<'/>", "<a x='1' x='1'/>", "<a x='1/>", "<a"}) {
    EXPECT_ANY_THROW(read_xml(wrong)) << wrong;
  }
}

struct Bar {
  std::string kind;
  double x, y, width;
  std::string tooltip;
};

std::vector<Bar> bars_of(const std::string& svg) {
  std::vector<Bar> bars;
  const auto elements = read_xml(svg);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto& attributes = elements[i].attributes;
    if (elements[i].name != "rect" || !attributes.count("class")) continue;
    const auto number = [&](const char* name) { return std::stod(attributes.at(name)); };
    if (elements.at(i + 1).name != "title") throw std::runtime_error("a bar without a tooltip");
    bars.push_back({attributes.at("class"), number("x"), number("y"), number("width"), elements[i + 1].text});
  }
  return bars;
}

/// What the picture says outside tooltips.
std::multiset<std::string> texts_of(const std::string& svg) {
  std::multiset<std::string> texts;
  for (const Element& element : read_xml(svg)) {
    if (element.name == "text") texts.insert(element.text);
  }
  return texts;
}

double size_of(const std::string& svg, const std::string& name) {
  return std::stod(read_xml(svg).at(0).attributes.at(name));
}

TEST(SvgTimeline, BarsHaveTheirPlaceLengthAndTooltip) {
  const std::vector<RankTrace> traces{
      {0, {span_ms(Kind::Compute, 2, 6, "block of rank 0"), span_ms(Kind::Transfer, 6, 7, "K and V")}},
      {1, {span_ms(Kind::Wait, 2, 7, "MPI_Recv from 0"), span_ms(Kind::Compute, 7, 12)}}};
  const auto bars = bars_of(svg_timeline(traces, "two ranks"));
  ASSERT_EQ(bars.size(), 4u);
  const auto bar = [&](const std::string& tooltip) {
    const auto found =
        std::find_if(bars.begin(), bars.end(), [&](const Bar& b) { return b.tooltip == tooltip; });
    if (found == bars.end()) throw std::runtime_error("no bar says " + tooltip);
    return *found;
  };
  const Bar compute = bar("block of rank 0\ncompute of 4.00 ms, from 0 s to 4.00 ms");
  const Bar transfer = bar("K and V\ntransfer of 1.00 ms, from 4.00 ms to 5.00 ms");
  const Bar wait = bar("MPI_Recv from 0\nwait of 5.00 ms, from 0 s to 5.00 ms");
  const Bar unnamed = bar("compute\ncompute of 5.00 ms, from 5.00 ms to 10.0 ms");
  EXPECT_EQ(compute.kind, "compute");
  EXPECT_EQ(transfer.kind, "transfer");
  EXPECT_EQ(wait.kind, "wait");
  constexpr double gap = 1;  // neighbours are kept apart by less than this
  EXPECT_NEAR(compute.width, 4 * transfer.width, 4 * gap);
  EXPECT_NEAR(transfer.x, compute.x + compute.width, gap);
  EXPECT_NEAR(unnamed.x, transfer.x + transfer.width, gap);
  EXPECT_EQ(wait.x, compute.x);
  EXPECT_EQ(compute.y, transfer.y);
  EXPECT_EQ(wait.y, unnamed.y);
  EXPECT_LT(compute.y, wait.y);
}

TEST(SvgTimeline, ExplainsItself) {
  const std::vector<RankTrace> traces{{7,
                                       {span_ms(Kind::Compute, 0, 6, "block of rank 0"),
                                        span_ms(Kind::Transfer, 6, 9), span_ms(Kind::Wait, 9, 10)}}};
  const std::string svg = svg_timeline(traces, "A ring of one");
  const auto texts = texts_of(svg);
  for (const char* text : {"A ring of one",
                           "time since the first span began (ms)",
                           "rank 7",
                           "60 %",
                           "30 %",
                           "10 %",
                           "compute",
                           "transfer",
                           "wait",
                           "compute (arithmetic)",
                           "transfer (send, receive)",
                           "wait (for another rank)",
                           "idle (nothing recorded)",
                           "0",
                           "2",
                           "4",
                           "6",
                           "8",
                           "10",
                           "block of rank 0"}) {
    EXPECT_EQ(texts.count(text), 1u) << text;
  }
  EXPECT_NE(svg.find("What one rank did during 10.0 ms."), std::string::npos);
}

TEST(SvgTimeline, NeedsNothingFromOutside) {
  std::string svg = svg_timeline(ring(4, 3, 2, 0.5), "four");
  const std::string xmlns = "xmlns='http://www.w3.org/2000/svg'";
  ASSERT_EQ(count(svg, xmlns), 1u);
  svg.erase(svg.find(xmlns), xmlns.size());
  for (const char* outside : {"http", "href", "<script", "<style", "@import", "src="}) {
    EXPECT_EQ(count(svg, outside), 0u) << outside;
  }
  EXPECT_EQ(count(svg, "url("), count(svg, "url(#course-wait)"));
}

TEST(SvgTimeline, EscapesTitleAndLabels) {
  const std::string nasty = "</text> & \"a\" <b> 'c' \x01 \xff é";
  const std::string svg = svg_timeline({{0, {span_ms(Kind::Compute, 0, 1, nasty)}}}, nasty);
  const std::string escaped =
      "&lt;/text&gt; &amp; &quot;a&quot; &lt;b&gt; &#39;c&#39; \xEF\xBF\xBD \xEF\xBF\xBD é";
  // Title of the document, heading, tooltip and text in the bar.
  EXPECT_EQ(count(svg, escaped), 4u) << svg;
  EXPECT_EQ(texts_of(svg).count(escaped), 2u) << svg;
}

TEST(SvgTimeline, LabelStandsInItsBarWhereItFits) {
  const auto texts = texts_of(svg_timeline(
      {{0, {span_ms(Kind::Compute, 0, 9.5, "long enough"), span_ms(Kind::Transfer, 9.5, 10, "too short")}}},
      "labels"));
  EXPECT_EQ(texts.count("long enough"), 1u);
  EXPECT_EQ(texts.count("too short"), 0u);
}

TEST(SvgTimeline, LongTitleIsWrapped) {
  const std::string title = repeat("attention ", 30);
  const std::string svg = svg_timeline(ring(1, 1, 1, 1), title);
  EXPECT_EQ(count(svg, "font-size='20'"), 5u);
  EXPECT_GT(size_of(svg, "height"), size_of(svg_timeline(ring(1, 1, 1, 1), "short"), "height"));
}

TEST(SvgTimeline, ShortSpansAreWideEnoughToSeeAndDrawnOverLongOnes) {
  const auto bars = bars_of(svg_timeline(ring(1, 3, 1000, 1e-6), "short transfers"));
  ASSERT_EQ(bars.size(), 7u);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    EXPECT_EQ(bars[i].kind, i < 4 ? "compute" : "transfer");
    EXPECT_GE(bars[i].width, 2);
  }
}

TEST(SvgTimeline, ShortSpanAtTheEndStaysInItsLane) {
  const auto bars = bars_of(
      svg_timeline({{0, {span_ms(Kind::Compute, 0, 10), span_ms(Kind::Wait, 10, 10, "end")}}}, "end"));
  ASSERT_EQ(bars.size(), 2u);
  EXPECT_NEAR(bars[1].x + bars[1].width, bars[0].x + bars[0].width, 1);
}

class SvgTimelineSize : public testing::TestWithParam<int> {};

TEST_P(SvgTimelineSize, LanesFitThePicture) {
  const int ranks = GetParam();
  const std::string svg = svg_timeline(ring(ranks, ranks, 2, 0.5), "many ranks");
  const double width = size_of(svg, "width"), height = size_of(svg, "height");
  EXPECT_GE(height, 150);
  EXPECT_LE(height, 1300);
  const auto bars = bars_of(svg);
  EXPECT_EQ(bars.size(), static_cast<std::size_t>(ranks * (2 * ranks + 1)));
  std::set<double> lanes;
  for (const Bar& bar : bars) {
    EXPECT_LE(bar.x + bar.width, width);
    EXPECT_LE(bar.y, height);
    lanes.insert(bar.y);
  }
  EXPECT_EQ(lanes.size(), static_cast<std::size_t>(ranks));
  const auto texts = texts_of(svg);
  for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(texts.count(fmt::format("rank {}", rank)), 1u);
}

INSTANTIATE_TEST_SUITE_P(Ranks, SvgTimelineSize, testing::Values(1, 4, 8, 16, 24, 64));

TEST(SvgTimeline, WithoutSpansSaysSo) {
  for (const auto& traces : {std::vector<RankTrace>{}, std::vector<RankTrace>{{0, {}}, {1, {}}}}) {
    const std::string svg = svg_timeline(traces, "An <empty> run");
    EXPECT_NE(svg.find("An &lt;empty&gt; run"), std::string::npos);
    EXPECT_NE(svg.find(fmt::format("No spans were recorded on {} ranks", traces.size())), std::string::npos);
    EXPECT_TRUE(bars_of(svg).empty());
  }
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
  const auto collect = [&](const auto& draw) {
    try {
      draw();
      messages.insert("no exception");
    } catch (const std::invalid_argument& error) {
      messages.insert(error.what());
    }
  };
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
  EXPECT_EQ(message_of({{1, {{Kind::Compute, 0, 2, "a"}, {Kind::Wait, 2 - 1e-12, 3, "b"}}}}), "no exception");
}

}  // namespace
}  // namespace course
