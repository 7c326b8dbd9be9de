#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "trace/trace.hpp"
#include "trace_examples.hpp"

namespace course {
namespace {

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

/// Ranks 0 to 2, of which each comes to and leaves an exchange at its time.
std::vector<RankTrace> exchanging(const std::string& label) {
  return {{0, {span_ms(Kind::Transfer, 0, 6, label), span_ms(Kind::Compute, 6, 10)}},
          {1, {span_ms(Kind::Compute, 0, 2), span_ms(Kind::Transfer, 2, 10, label)}},
          {2, {span_ms(Kind::Compute, 0, 4), span_ms(Kind::Transfer, 4, 9, label)}}};
}

TEST(SvgTimeline, JoinsTheLanesOfAnExchange) {
  const auto joints = [](const std::vector<RankTrace>& traces) {
    std::vector<Bar> bars = bars_of(svg_timeline(traces, "an exchange"));
    std::erase_if(bars, [](const Bar& bar) { return bar.kind != "exchange"; });
    return bars;
  };
  const std::vector<RankTrace> all = exchanging("MPI_Alltoallv");
  const std::vector<Bar> between = joints(all), bars = bars_of(svg_timeline(all, "an exchange"));
  ASSERT_EQ(between.size(), 2u);
  const double lane = bars.front().width / 0.6;  // rank 0's 6 of 10 ms
  for (const Bar& bar : between) {
    EXPECT_NEAR(bar.x, bars.front().x + 0.4 * lane, 1) << "from 4 ms, when the last one comes";
    EXPECT_NEAR(bar.width, 0.2 * lane, 1) << "to 6 ms, when the first one leaves";
    EXPECT_EQ(bar.tooltip, "MPI_Alltoallv\nof all with all, for 2.00 ms");
  }
  EXPECT_LT(between[0].y, between[1].y);
  EXPECT_EQ(texts_of(svg_timeline(all, "an exchange"))
                .count("A bar from lane to lane: meanwhile all of their ranks are in one exchange."),
            1u);

  EXPECT_TRUE(joints(exchanging("MPI_Recv from 0")).empty());
  std::vector<RankTrace> once_more = all;
  once_more[2].spans.push_back(span_ms(Kind::Transfer, 9, 10, "MPI_Alltoallv"));
  EXPECT_TRUE(joints(once_more).empty()) << "who knows which of them are one?";
  std::vector<RankTrace> in_groups = exchanging("MPI_Alltoallv of ranks 0, 1");
  in_groups[2].spans[1].label = "MPI_Alltoallv of ranks 2";
  EXPECT_EQ(joints(in_groups).size(), 1u);
  in_groups = exchanging("MPI_Alltoallv of ranks 0, 2");
  in_groups[1].spans[1].label = "MPI_Alltoallv of ranks 1";
  EXPECT_TRUE(joints(in_groups).empty()) << "another lane lies between";
  std::vector<RankTrace> apart = all;
  apart[0].spans = {span_ms(Kind::Transfer, 0, 3, "MPI_Alltoallv")};
  EXPECT_TRUE(joints(apart).empty()) << "they were never in it together";
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

}  // namespace
}  // namespace course
