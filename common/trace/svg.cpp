#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "text/utf8.hpp"
#include "trace/timeline.hpp"

namespace course::timeline {
namespace {

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// `text` as XML character data or attribute value.
std::string escape_xml(const std::string& text) {
  static const std::map<char, std::string_view> entities{
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  std::string result;
  for (const char& c : clean_utf8(text)) {
    const auto entity = entities.find(c);
    result += entity == entities.end() ? std::string_view(&c, 1) : entity->second;
  }
  return result;
}

/// Lines of at most `width` characters, broken between words; SVG text does not wrap by itself.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!lines.back().empty() && code_points(lines.back()) + 1 + code_points(word) > width)
      lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

/// An upper estimate, since the reader's font is unknown: Latin letters are narrower than 0.6 of the font
/// size, other scripts at most as wide as high.
double text_width(const std::string& text, double font_size) {
  const auto wide =
      std::count_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0xC0; });
  return font_size * (0.6 * static_cast<double>(code_points(text)) + 0.4 * static_cast<double>(wide));
}

constexpr std::string_view ink = "#1b1f24";
constexpr std::string_view pale_ink = "#57606a";

class Svg {
 public:
  Svg(const std::vector<Timeline>& timelines, const std::string& title, const std::string& note)
      : timelines_(timelines),
        title_(title),
        note_(note),
        windows_(common_windows(timelines)),
        lanes_(lanes_of(timelines)) {}

  std::string draw() {
    heading();
    caption();
    if (windows_.empty()) return document();
    const Unit unit = unit_for(windows_.front().length_s);
    ticks_ = ticks(windows_.front().length_s, unit, 8);
    legend();
    for (std::size_t i = 0; i < timelines_.size(); ++i) {
      window_ = windows_[i];
      if (timelines_.size() > 1) name(timelines_[i]);
      column_heads();
      if (lanes_ > many_lanes) tick_labels();
      y_ += 8;
      grid(timelines_[i].traces.size());
      const double lanes_top = y_;
      for (const RankTrace& trace : timelines_[i].traces) lane(trace);
      for (const Exchange& met : exchanges_in(timelines_[i])) between_lanes(met, lanes_top);
    }
    y_ += 20;
    tick_labels();
    y_ += 20;
    put("<text x='{}' y='{}' font-size='12.5' text-anchor='middle' fill='{}'>time since {} first span began "
        "({})</text>\n",
        x_at(0.5), y_, pale_ink, timelines_.size() == 1 ? "the" : "a run's", unit.name);
    return document();
  }

 private:
  static constexpr double width = 1000, margin = 24, column_heads_height = 26;
  static constexpr double lanes_left = 92, lanes_right = 782;
  static constexpr std::array<double, 3> share_right{848, 916, 976};

  template <typename... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(body_), format, std::forward<Args>(args)...);
  }

  /// Few lanes are tall enough for text in the bars; 64 fit on a screen or a page.
  double lane_pitch() const {
    if (lanes_ <= 8) return 34;
    if (lanes_ <= many_lanes) return 28;
    return lanes_ <= 32 ? 20 : 15;
  }

  double bar_height() const { return 0.74 * lane_pitch(); }
  double bar_top() const { return y_ + (lane_pitch() - bar_height()) / 2; }
  double lane_baseline() const { return y_ + lane_pitch() / 2 + 4; }
  double lane_font_size() const { return std::min(13.0, lane_pitch() - 3); }

  /// @param position in [0, 1] of the axis
  static double x_at(double position) { return lanes_left + position * (lanes_right - lanes_left); }
  double x_of(double time_s) const { return x_at((time_s - window_.begin_s) / window_.length_s); }

  void heading() {
    for (const std::string& line : wrapped(clean_utf8(title_), 78)) {
      y_ += 22;
      put("<text x='{}' y='{}' font-size='20' font-weight='600'>{}</text>\n", margin, y_, escape_xml(line));
      y_ += 5;
    }
  }

  /// "4 ranks did during 12.3 ms", or what several runs did and how they are put together.
  std::string what_is_shown() const {
    const std::size_t ranks = ranks_of(timelines_.front());
    const std::string who = ranks == 1 ? "one rank" : fmt::format("{} ranks", ranks);
    const std::string length = format_duration(windows_.front().length_s);
    if (timelines_.size() == 1) return fmt::format("{} did during {}.", who, length);
    return fmt::format(
        "{} did in {} runs, one below the other on one axis of {}: each starts with its own first bar, so "
        "that "
        "lengths compare.",
        who, timelines_.size(), length);
  }

  void caption() {
    y_ += 4;
    if (windows_.empty()) return paragraph(nothing_recorded(ranks_of(timelines_.front())));
    paragraph(fmt::format(
        "What {} Each lane is {} and time runs to the right, on a clock that all ranks "
        "share, so bars {}above one another happen at the same time. {} Very short bars are widened to be "
        "seen. Point at a bar for its label and duration.",
        what_is_shown(),
        has_streams(timelines_) ? "a stream of a rank's GPU, 2/1 being stream 1 of rank 2's," : "a rank",
        timelines_.size() == 1 ? "" : "of a run ",
        has_streams(timelines_)
            ? "Blue is useful work; a gap in a lane of work is time that its rank waits for a transfer."
            : "Blue is useful work; the less of a lane is blue, the more time its rank loses to moving data "
              "and "
              "to waiting."));
    const bool any_exchange = std::ranges::any_of(
        timelines_, [](const Timeline& timeline) { return !exchanges_in(timeline).empty(); });
    if (any_exchange) paragraph("A bar from lane to lane: meanwhile all of their ranks are in one exchange.");
    paragraph(note_);
  }

  void paragraph(const std::string& text) {
    if (text.empty()) return;
    for (const std::string& line : wrapped(text, 145)) {
      y_ += 18;
      put("<text x='{}' y='{}' font-size='13' fill='{}'>{}</text>\n", margin, y_, pale_ink, escape_xml(line));
    }
  }

  void legend() {
    y_ += 18;
    constexpr double entry_width = 220;
    double x = lanes_left;
    for (const Style& style : styles) {
      put("<rect x='{}' y='{}' width='22' height='12' rx='1.5' fill='{}'/>", x, y_, style.fill);
      put("<text x='{}' y='{}' font-size='12.5'>{}</text>\n", x + 29, y_ + 10.5, style.meaning);
      x += entry_width;
    }
    y_ += 12;
  }

  void column_heads() {
    y_ += column_heads_height;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      put("<text x='{}' y='{}' font-size='12' text-anchor='end' fill='{}'>{}</text>\n", share_right[i], y_,
          pale_ink, styles[i].name);
    }
  }

  /// On the line of the column heads, or above it where ticks stand there.
  void name(const Timeline& timeline) {
    const bool ticks_above = lanes_ > many_lanes;
    y_ += ticks_above ? 30 : 8;
    put("<text x='{}' y='{}' font-size='13.5' font-weight='600'>{}</text>\n", margin,
        ticks_above ? y_ : y_ + column_heads_height, escape_xml(timeline.name));
  }

  void lane(const RankTrace& trace) {
    put("<g class='lane'>\n<text x='{}' y='{}' font-size='{}' text-anchor='end'>rank {}</text>\n",
        lanes_left - 9, lane_baseline(), lane_font_size(), number_of(trace));
    put("<rect x='{}' y='{:.2f}' width='{}' height='{:.2f}' fill='{}' fill-opacity='0.75'/>\n", lanes_left,
        bar_top(), lanes_right - lanes_left, bar_height(), styles[idle].fill);
    // Short spans are drawn last: widened to be seen, they must not be hidden by a long neighbour.
    std::vector<const Span*> spans;
    for (const Span& span : trace.spans) spans.push_back(&span);
    std::stable_sort(spans.begin(), spans.end(),
                     [](const Span* a, const Span* b) { return duration_s(*a) > duration_s(*b); });
    for (const Span* span : spans) bar(*span);
    lane_shares(trace);
    put("</g>\n");
    y_ += lane_pitch();
  }

  void bar(const Span& span) {
    constexpr double visible_width = 2, gap = 0.8;
    const double left = std::min(x_of(span.begin_s), lanes_right - visible_width);
    double right = std::max(x_of(span.end_s), left + visible_width);
    if (right - left > 4 * gap) right -= gap;  // keeps equal neighbours apart
    const Style& style = styles[style_of(span)];
    const double begin_s = span.begin_s - window_.begin_s;
    put("<rect class='{}' x='{:.2f}' y='{:.2f}' width='{:.2f}' height='{:.2f}' fill='{}'>", style.name, left,
        bar_top(), right - left, bar_height(), style.fill);
    put("<title>{}\n{} of {}, from {} to {}</title></rect>\n", escape_xml(name_of(span)), style.name,
        format_duration(duration_s(span)), format_duration(begin_s),
        format_duration(begin_s + duration_s(span)));
    bar_label(span, left, right);
  }

  /// A bar from each lane of an exchange to the next.
  void between_lanes(const Exchange& met, double lanes_top) {
    constexpr double visible_width = 2;
    const Style& style = styles[static_cast<std::size_t>(Span::Kind::Transfer)];
    const double left = std::min(x_of(met.begin_s), lanes_right - visible_width),
                 right = std::max(x_of(met.end_s), left + visible_width);
    for (std::size_t i = 0; i + 1 < met.lanes.size(); ++i) {
      if (met.lanes[i + 1] != met.lanes[i] + 1) continue;
      const double bar_end = lanes_top + lane_pitch() * static_cast<double>(met.lanes[i] + 1) -
                             (lane_pitch() - bar_height()) / 2;
      put("<rect class='exchange' x='{:.2f}' y='{:.2f}' width='{:.2f}' height='{:.2f}' fill='{}'>", left,
          bar_end, right - left, lane_pitch() - bar_height(), style.fill);
      put("<title>{}\nof all with all, for {}</title></rect>\n", escape_xml(met.label),
          format_duration(met.end_s - met.begin_s));
    }
  }

  /// The label inside the bar, where it fits.
  void bar_label(const Span& span, double left, double right) {
    constexpr double font_size = 11, padding = 4, lowest_lane = 20;
    const std::string label = clean_utf8(span.label);
    const bool fits = text_width(label, font_size) + 2 * padding <= right - left;
    if (label.empty() || !fits || lane_pitch() < lowest_lane) return;
    const Style& style = styles[style_of(span)];
    const std::string_view halo =
        span.kind == Span::Kind::Wait ? " stroke='#f3dde8' stroke-width='3' paint-order='stroke'" : "";
    put("<text x='{:.2f}' y='{}' font-size='{}' text-anchor='middle' fill='{}' "
        "pointer-events='none'{}>{}</text>\n",
        (left + right) / 2, lane_baseline(), font_size, style.text, halo, escape_xml(label));
  }

  void lane_shares(const RankTrace& trace) {
    const auto share = shares(trace, window_);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      put("<text x='{}' y='{}' font-size='{}' text-anchor='end'>{} %</text>\n", share_right[i],
          lane_baseline(), lane_font_size(), escape_xml(format_percent(share[i])));
    }
  }

  /// Vertical lines at the ticks, behind the bars.
  void grid(std::size_t lanes) {
    const double height = lane_pitch() * static_cast<double>(lanes);
    put("<g stroke='#c9d1d9' stroke-width='1'>\n");
    for (const Tick& tick : ticks_) {
      put("<line x1='{0:.2f}' y1='{1:.2f}' x2='{0:.2f}' y2='{2:.2f}'/>\n", x_at(tick.position), y_,
          y_ + height + 5);
    }
    put("</g>\n");
  }

  void tick_labels() {
    for (const Tick& tick : ticks_) {
      put("<text x='{:.2f}' y='{}' font-size='12' text-anchor='middle'>{}</text>\n", x_at(tick.position), y_,
          tick.label);
    }
  }

  std::string document() const {
    const double height = y_ + margin;
    std::string result = fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}' role='img' "
        "font-family='system-ui, -apple-system, \"Segoe UI\", \"DejaVu Sans\", Helvetica, Arial, sans-serif' "
        "fill='{2}'>\n<title>{3}</title>\n",
        width, height, ink, escape_xml(title_));
    result +=
        "<defs><pattern id='course-wait' width='5' height='5' patternUnits='userSpaceOnUse' "
        "patternTransform='rotate(45)'><rect width='5' height='5' fill='#e3b1cc'/>"
        "<rect width='2' height='5' fill='#b0568a'/></pattern></defs>\n";
    result += fmt::format("<rect width='{}' height='{}' fill='#ffffff'/>\n", width, height);
    return result + body_ + "</svg>\n";
  }

  const std::vector<Timeline>& timelines_;
  const std::string& title_;
  const std::string& note_;
  std::vector<Window> windows_;  ///< of one length
  std::size_t lanes_;
  Window window_{0, 0};  ///< of the timeline that is drawn
  std::vector<Tick> ticks_;
  std::string body_;
  double y_ = margin;  ///< where the next thing goes, downwards
};

}  // namespace
}  // namespace course::timeline

std::string course::svg_timelines(const std::vector<Timeline>& timelines, const std::string& title,
                                  const std::string& note) {
  return timeline::Svg(timelines, title, note).draw();
}
