#include "trace/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace course {
namespace {

/// How a kind of time looks. Colours are from Okabe and Ito's palette, which colour-blind readers can tell
/// apart; glyph and hatching tell the kinds apart without any colour.
struct Style {
  std::string_view name;
  std::string_view meaning;
  std::string_view glyph;
  std::string_view ansi;
  std::string_view fill;
  std::string_view text;
};

constexpr std::array<Style, 4> styles{{
    {"compute", "compute (arithmetic)", "█", "38;5;32", "#0072B2", "#ffffff"},
    {"transfer", "transfer (send, receive)", "═", "38;5;208", "#E69F00", "#1b1f24"},
    {"wait", "wait (for another rank)", "░", "38;5;175", "url(#course-wait)", "#1b1f24"},
    {"idle", "idle (nothing recorded)", "·", "2", "#e1e6eb", "#1b1f24"},
}};
constexpr std::size_t idle = 3;
constexpr std::size_t many_lanes = 16;  ///< above which what stands at one end is repeated at the other
constexpr std::array<Span::Kind, 3> kinds{Span::Kind::Compute, Span::Kind::Transfer, Span::Kind::Wait};

std::size_t style_of(const Span& span) {
  return static_cast<std::size_t>(span.kind);
}

double duration_s(const Span& span) {
  return span.end_s - span.begin_s;
}

std::string name_of(const Span& span) {
  return span.label.empty() ? std::string(styles[style_of(span)].name) : span.label;
}

void check_spans(const RankTrace& trace) {
  // Clocks are read to about a nanosecond, so less than that is no overlap.
  constexpr double clock_s = 1e-9;
  double previous_end_s = -std::numeric_limits<double>::infinity();
  for (const Span& span : trace.spans) {
    const auto fail = [&](std::string_view expected) {
      throw std::invalid_argument(
          fmt::format("trace of rank {}: span \"{}\" is from {} s to {} s, expected {}", trace.rank,
                      span.label, span.begin_s, span.end_s, expected));
    };
    if (!std::isfinite(span.begin_s) || !std::isfinite(span.end_s)) fail("finite times");
    if (span.end_s < span.begin_s) fail("an end that is not before its begin");
    if (span.begin_s < previous_end_s - clock_s) {
      fail(fmt::format("a begin that is not before {} s, where the span before it ends", previous_end_s));
    }
    previous_end_s = span.end_s;
  }
}

/// The time that a picture shows.
struct Window {
  double begin_s;
  double length_s;
};

/// From the first begin to the last end; nothing when no rank has a span.
std::optional<Window> checked_window(const std::vector<RankTrace>& traces) {
  double begin_s = std::numeric_limits<double>::infinity();
  double end_s = -begin_s;
  for (const RankTrace& trace : traces) {
    check_spans(trace);
    if (trace.spans.empty()) continue;
    begin_s = std::min(begin_s, trace.spans.front().begin_s);
    end_s = std::max(end_s, trace.spans.back().end_s);
  }
  if (end_s < begin_s) return std::nullopt;
  // Spans of no duration still need an axis to stand on.
  return Window{begin_s, std::max(end_s - begin_s, 1e-9)};
}

std::string nothing_recorded(std::size_t ranks) {
  return fmt::format("No spans were recorded on {} {}, so there is no timeline to draw.", ranks,
                     ranks == 1 ? "rank" : "ranks");
}

struct Unit {
  std::string_view name;
  double seconds;
};

Unit unit_for(double seconds) {
  if (seconds >= 1) return {"s", 1};
  if (seconds >= 1e-3) return {"ms", 1e-3};
  return {"µs", 1e-6};
}

/// Three significant digits and a unit.
std::string format_duration(double seconds) {
  if (seconds == 0) return "0 s";
  const Unit unit = unit_for(seconds);
  const double value = seconds / unit.seconds;
  const int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, unit.name);
}

/// Whole percent; what exists is never called 0, and what lacks something never 100.
std::string format_percent(double share) {
  constexpr double rounding = 1e-9;
  if (share > rounding && share < 0.005) return "<1";
  if (share > 0.995 && share < 1 - rounding) return ">99";
  return fmt::format("{:.0f}", 100 * share);
}

/// Share of the window that a rank spent in each style, idle included.
std::array<double, styles.size()> shares(const RankTrace& trace, const Window& window) {
  std::array<double, styles.size()> result{};
  for (std::size_t i = 0; i < kinds.size(); ++i) result[i] = total_s(trace, kinds[i]) / window.length_s;
  result[idle] = std::max(0.0, 1 - std::accumulate(result.begin(), result.begin() + idle, 0.0));
  return result;
}

struct Tick {
  double position;  ///< in [0, 1] of the window
  std::string label;
};

/// Ticks at multiples of 1, 2 or 5 times a power of ten, at most `intervals` + 1 of them.
std::vector<Tick> ticks(double length_s, const Unit& unit, int intervals) {
  const double length = length_s / unit.seconds;
  const double magnitude = std::pow(10, std::floor(std::log10(length / intervals)));
  double step = 10 * magnitude;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * magnitude * intervals >= length) step = factor * magnitude;
  }
  const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
  std::vector<Tick> result;
  for (int i = 0; i * step <= length * (1 + 1e-9); ++i) {
    result.push_back({std::min(1.0, i * step / length), fmt::format("{:.{}f}", i * step, decimals)});
  }
  return result;
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// What fmt::join would give; with that, g++ 12 warns about fmt 9's own code at -O3.
std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string result;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) result += separator;
    result += part;
  }
  return result;
}

// ---- terminal ----

/// One rank's row of character cells.
class Lane {
 public:
  Lane(const RankTrace& trace, const Window& window, std::size_t cells);

  /// The style of each cell.
  const std::vector<std::size_t>& shown() const { return shown_; }

 private:
  struct Range {
    std::size_t first, last;  ///< both included
  };

  double position(double time_s) const;
  Range touched(const Span& span) const;
  double overlap(const Span& span, std::size_t cell) const;
  bool visible(const Span& span) const;
  bool free_for(const Span& span, std::size_t cell) const;
  std::optional<std::size_t> cell_for(const Span& span) const;
  void show_majority();
  void show_short_spans();
  void show_missing_kinds();

  const RankTrace& trace_;
  Window window_;
  std::vector<std::size_t> shown_;
  std::vector<bool> taken_;                                ///< by a short span that shows nowhere else
  std::vector<std::array<double, styles.size()>> filled_;  ///< share of each cell by style
  std::vector<std::vector<std::size_t>> spans_in_;         ///< indices of the spans that touch a cell
};

Lane::Lane(const RankTrace& trace, const Window& window, std::size_t cells)
    : trace_(trace), window_(window), shown_(cells, idle), taken_(cells), filled_(cells), spans_in_(cells) {
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    const Range range = touched(trace.spans[i]);
    for (std::size_t cell = range.first; cell <= range.last; ++cell) {
      filled_[cell][style_of(trace.spans[i])] += overlap(trace.spans[i], cell);
      spans_in_[cell].push_back(i);
    }
  }
  show_majority();
  show_short_spans();
  show_missing_kinds();
}

/// Time in cells from the left edge.
double Lane::position(double time_s) const {
  return (time_s - window_.begin_s) / window_.length_s * static_cast<double>(shown_.size());
}

Lane::Range Lane::touched(const Span& span) const {
  // A sliver of a cell that is only there by rounding does not count.
  constexpr double sliver = 1e-6;
  const double end_cell = static_cast<double>(shown_.size() - 1);
  const double first = std::clamp(std::floor(position(span.begin_s) + sliver), 0.0, end_cell);
  const double last = std::clamp(std::ceil(position(span.end_s) - sliver) - 1, first, end_cell);
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last)};
}

double Lane::overlap(const Span& span, std::size_t cell) const {
  const double left = static_cast<double>(cell);
  return std::max(0.0, std::min(position(span.end_s), left + 1) - std::max(position(span.begin_s), left));
}

void Lane::show_majority() {
  for (std::size_t cell = 0; cell < shown_.size(); ++cell) {
    auto& filled = filled_[cell];
    filled[idle] = 1 - std::accumulate(filled.begin(), filled.begin() + idle, 0.0);
    shown_[cell] = static_cast<std::size_t>(std::max_element(filled.begin(), filled.end()) - filled.begin());
  }
}

bool Lane::visible(const Span& span) const {
  const Range range = touched(span);
  for (std::size_t cell = range.first; cell <= range.last; ++cell) {
    if (shown_[cell] == style_of(span)) return true;
  }
  return false;
}

/// Whether `span` can have `cell` without making another span disappear.
bool Lane::free_for(const Span& span, std::size_t cell) const {
  if (taken_[cell]) return false;
  return std::all_of(spans_in_[cell].begin(), spans_in_[cell].end(), [&](std::size_t i) {
    const Span& other = trace_.spans[i];
    if (style_of(other) != shown_[cell] || style_of(other) == style_of(span)) return true;
    const Range range = touched(other);
    for (std::size_t c = range.first; c <= range.last; ++c) {
      if (c != cell && shown_[c] == style_of(other)) return true;
    }
    return false;
  });
}

/// The free cell that `span` fills most, else one beside it: to the right first, since what came before it
/// has been shown already.
std::optional<std::size_t> Lane::cell_for(const Span& span) const {
  const Range range = touched(span);
  std::optional<std::size_t> best;
  for (std::size_t cell = range.first; cell <= range.last; ++cell) {
    if (free_for(span, cell) && (!best || overlap(span, cell) > overlap(span, *best))) best = cell;
  }
  if (best) return best;
  if (range.last + 1 < shown_.size() && free_for(span, range.last + 1)) return range.last + 1;
  if (range.first > 0 && free_for(span, range.first - 1)) return range.first - 1;
  return std::nullopt;
}

void Lane::show_short_spans() {
  for (const Span& span : trace_.spans) {
    if (visible(span)) continue;
    if (const auto cell = cell_for(span)) {
      shown_[*cell] = style_of(span);
      taken_[*cell] = true;
    }
  }
}

/// Where spans are denser than cells: a kind that shows nowhere takes the cell it fills most, among those
/// whose present kind shows elsewhere too.
void Lane::show_missing_kinds() {
  for (const Span& span : trace_.spans) {
    const std::size_t style = style_of(span);
    if (std::count(shown_.begin(), shown_.end(), style) > 0) continue;
    std::optional<std::size_t> best;
    for (std::size_t cell = 0; cell < shown_.size(); ++cell) {
      const bool elsewhere = std::count(shown_.begin(), shown_.end(), shown_[cell]) > 1;
      if (elsewhere && (!best || filled_[cell][style] > filled_[*best][style])) best = cell;
    }
    if (best) shown_[*best] = style;
  }
}

class Terminal {
 public:
  Terminal(const std::vector<RankTrace>& traces, const Window& window, int columns, bool colour);

  std::string draw() const;

 private:
  static constexpr int percent_width = 4;

  std::string painted(std::size_t style, std::string text) const;
  std::string label(int rank) const;
  std::string headings() const;
  std::string lane(const RankTrace& trace) const;
  std::size_t cell_of(const Tick& tick) const;
  std::string axis() const;
  std::string axis_labels() const;
  std::string legend() const;

  const std::vector<RankTrace>& traces_;
  Window window_;
  Unit unit_;
  bool colour_;
  std::string_view word_;  ///< before a rank's number
  std::size_t digits_ = 1;
  std::size_t cells_ = 0;
  std::vector<Tick> ticks_;
};

Terminal::Terminal(const std::vector<RankTrace>& traces, const Window& window, int columns, bool colour)
    : traces_(traces),
      window_(window),
      unit_(unit_for(window.length_s)),
      colour_(colour),
      word_(columns < 60 ? "r" : "rank ") {
  for (const RankTrace& trace : traces) digits_ = std::max(digits_, fmt::format("{}", trace.rank).size());
  const std::size_t width = static_cast<std::size_t>(std::max(columns, 40));
  cells_ = width - label(0).size() - 2 - percent_width * styles.size();
  ticks_ = ticks(window.length_s, unit_, std::max(3, static_cast<int>(cells_) / 12));
}

std::string Terminal::painted(std::size_t style, std::string text) const {
  return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", styles[style].ansi, text) : text;
}

std::string Terminal::label(int rank) const {
  return fmt::format("{}{:>{}} ", word_, rank, digits_);
}

/// A kind's glyph stands over its percentages, since its name would not fit.
std::string Terminal::headings() const {
  std::string result;
  for (std::size_t style = 0; style < styles.size(); ++style) {
    result += std::string(percent_width - 2, ' ') + painted(style, std::string(styles[style].glyph)) + "%";
  }
  return result;
}

std::string Terminal::lane(const RankTrace& trace) const {
  std::string result = label(trace.rank) + "│";
  const Lane lane(trace, window_, cells_);
  const auto& shown = lane.shown();
  for (auto run = shown.begin(); run != shown.end();) {
    const auto end = std::find_if(run, shown.end(), [&](std::size_t style) { return style != *run; });
    std::string text;
    for (auto cell = run; cell != end; ++cell) text += styles[*cell].glyph;
    result += painted(*run, text);
    run = end;
  }
  result += "│";
  for (const double share : shares(trace, window_)) {
    result += fmt::format("{:>{}}", format_percent(share), percent_width);
  }
  return result;
}

std::size_t Terminal::cell_of(const Tick& tick) const {
  const double cells = static_cast<double>(cells_);
  return static_cast<std::size_t>(std::min(std::floor(tick.position * cells + 1e-9), cells - 1));
}

std::string Terminal::axis() const {
  std::vector<std::string> line(cells_, "─");
  for (const Tick& tick : ticks_) line[cell_of(tick)] = "┬";
  return fmt::format("{}└{}┘", std::string(label(0).size(), ' '), joined(line, ""));
}

std::string Terminal::axis_labels() const {
  std::string line;
  for (const Tick& tick : ticks_) {
    const std::size_t centre = label(0).size() + 1 + cell_of(tick);
    const std::size_t begin = centre - std::min(centre, tick.label.size() / 2);
    if (!line.empty() && begin <= line.size()) continue;
    line += std::string(begin - line.size(), ' ') + tick.label;
  }
  return fmt::format("{} {}", line, unit_.name);
}

std::string Terminal::legend() const {
  std::vector<std::string> entries;
  for (std::size_t style = 0; style < styles.size(); ++style) {
    entries.push_back(
        fmt::format("{} {}", painted(style, std::string(styles[style].glyph)), styles[style].name));
  }
  return joined(entries, "  ");
}

std::string Terminal::draw() const {
  // With many lanes, the headings above them have scrolled away when the last line is printed.
  const std::string margin(label(0).size() + cells_ + 2, ' ');
  std::string result = margin + headings() + "\n";
  for (const RankTrace& trace : traces_) result += lane(trace) + "\n";
  result += axis() + (traces_.size() > many_lanes ? headings() : "") + "\n" + axis_labels() + "\n";
  result += fmt::format("{}\n%: share of the {} shown\na short span may fill a whole cell\n", legend(),
                        format_duration(window_.length_s));
  return result;
}

// ---- SVG ----

/// `text` with every byte that is not UTF-8 replaced, since one of them would make a whole file unreadable.
std::string valid_utf8(const std::string& text) {
  using nlohmann::json;
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

/// `text` as XML character data or attribute value; control characters that XML 1.0 forbids become U+FFFD.
std::string escape_xml(const std::string& text) {
  std::string result;
  for (const char c : valid_utf8(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        const bool forbidden = static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r';
        result += forbidden ? std::string("\xEF\xBF\xBD") : std::string(1, c);
    }
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
  Svg(const std::vector<RankTrace>& traces, const std::string& title) : traces_(traces), title_(title) {}

  std::string draw();

 private:
  static constexpr double width = 1000, margin = 24;
  static constexpr double lanes_left = 92, lanes_right = 782;
  static constexpr std::array<double, 3> share_right{848, 916, 976};

  template <typename... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(body_), format, std::forward<Args>(args)...);
  }

  double lane_pitch() const;
  double bar_height() const { return 0.74 * lane_pitch(); }
  double bar_top() const { return y_ + (lane_pitch() - bar_height()) / 2; }
  double lane_baseline() const { return y_ + lane_pitch() / 2 + 4; }
  double lane_font_size() const { return std::min(13.0, lane_pitch() - 3); }
  double x_of(double time_s) const;
  void heading();
  void caption();
  void legend();
  void column_heads();
  void lanes();
  void lane(const RankTrace& trace);
  void bar(const Span& span);
  void bar_label(const Span& span, double left, double right);
  void lane_shares(const RankTrace& trace);
  void grid();
  void tick_labels();
  std::string document() const;

  const std::vector<RankTrace>& traces_;
  const std::string& title_;
  std::optional<Window> window_;
  std::vector<Tick> ticks_;
  std::string body_;
  double y_ = margin;  ///< where the next thing goes, downwards
};

/// Few lanes are tall enough for text in the bars; 64 fit on a screen or a page.
double Svg::lane_pitch() const {
  if (traces_.size() <= 8) return 34;
  if (traces_.size() <= many_lanes) return 28;
  return traces_.size() <= 32 ? 20 : 15;
}

double Svg::x_of(double time_s) const {
  return lanes_left + (time_s - window_->begin_s) / window_->length_s * (lanes_right - lanes_left);
}

void Svg::heading() {
  for (const std::string& line : wrapped(valid_utf8(title_), 78)) {
    y_ += 22;
    put("<text x='{}' y='{}' font-size='20' font-weight='600'>{}</text>\n", margin, y_, escape_xml(line));
    y_ += 5;
  }
}

void Svg::caption() {
  std::string text = nothing_recorded(traces_.size());
  if (window_) {
    text = fmt::format(
        "What {} did during {}. Each lane is a rank and time runs to the right, on a clock that all ranks "
        "share, so bars above one another happen at the same time. Blue is useful work; the less of a lane "
        "is blue, the more time its rank loses to moving data and to waiting. Very short bars are widened "
        "to be seen. Point at a bar for its label and duration.",
        traces_.size() == 1 ? std::string("one rank") : fmt::format("{} ranks", traces_.size()),
        format_duration(window_->length_s));
  }
  y_ += 4;
  for (const std::string& line : wrapped(text, 145)) {
    y_ += 18;
    put("<text x='{}' y='{}' font-size='13' fill='{}'>{}</text>\n", margin, y_, pale_ink, escape_xml(line));
  }
}

void Svg::legend() {
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

void Svg::column_heads() {
  y_ += 26;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    put("<text x='{}' y='{}' font-size='12' text-anchor='end' fill='{}'>{}</text>\n", share_right[i], y_,
        pale_ink, styles[i].name);
  }
}

/// Vertical lines at the ticks, behind the bars.
void Svg::grid() {
  const double height = lane_pitch() * static_cast<double>(traces_.size());
  put("<g stroke='#c9d1d9' stroke-width='1'>\n");
  for (const Tick& tick : ticks_) {
    const double x = lanes_left + tick.position * (lanes_right - lanes_left);
    put("<line x1='{0:.2f}' y1='{1:.2f}' x2='{0:.2f}' y2='{2:.2f}'/>\n", x, y_, y_ + height + 5);
  }
  put("</g>\n");
}

void Svg::tick_labels() {
  for (const Tick& tick : ticks_) {
    const double x = lanes_left + tick.position * (lanes_right - lanes_left);
    put("<text x='{:.2f}' y='{}' font-size='12' text-anchor='middle'>{}</text>\n", x, y_, tick.label);
  }
}

void Svg::lanes() {
  y_ += 8;
  grid();
  for (const RankTrace& trace : traces_) lane(trace);
}

void Svg::lane(const RankTrace& trace) {
  put("<g class='lane'>\n<text x='{}' y='{}' font-size='{}' text-anchor='end'>rank {}</text>\n",
      lanes_left - 9, lane_baseline(), lane_font_size(), trace.rank);
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

void Svg::bar(const Span& span) {
  constexpr double visible_width = 2, gap = 0.8;
  const double left = std::min(x_of(span.begin_s), lanes_right - visible_width);
  double right = std::max(x_of(span.end_s), left + visible_width);
  if (right - left > 4 * gap) right -= gap;  // keeps equal neighbours apart
  const Style& style = styles[style_of(span)];
  const double begin_s = span.begin_s - window_->begin_s;
  put("<rect class='{}' x='{:.2f}' y='{:.2f}' width='{:.2f}' height='{:.2f}' fill='{}'>", style.name, left,
      bar_top(), right - left, bar_height(), style.fill);
  put("<title>{}\n{} of {}, from {} to {}</title></rect>\n", escape_xml(name_of(span)), style.name,
      format_duration(duration_s(span)), format_duration(begin_s),
      format_duration(begin_s + duration_s(span)));
  bar_label(span, left, right);
}

/// The label inside the bar, where it fits.
void Svg::bar_label(const Span& span, double left, double right) {
  constexpr double font_size = 11, padding = 4, lowest_lane = 20;
  const std::string label = valid_utf8(span.label);
  const bool fits = text_width(label, font_size) + 2 * padding <= right - left;
  if (label.empty() || !fits || lane_pitch() < lowest_lane) return;
  const Style& style = styles[style_of(span)];
  const std::string_view halo =
      span.kind == Span::Kind::Wait ? " stroke='#f3dde8' stroke-width='3' paint-order='stroke'" : "";
  put("<text x='{:.2f}' y='{}' font-size='{}' text-anchor='middle' fill='{}' "
      "pointer-events='none'{}>{}</text>\n",
      (left + right) / 2, lane_baseline(), font_size, style.text, halo, escape_xml(label));
}

void Svg::lane_shares(const RankTrace& trace) {
  const auto share = shares(trace, *window_);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    put("<text x='{}' y='{}' font-size='{}' text-anchor='end'>{} %</text>\n", share_right[i], lane_baseline(),
        lane_font_size(), escape_xml(format_percent(share[i])));
  }
}

std::string Svg::document() const {
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

std::string Svg::draw() {
  window_ = checked_window(traces_);
  heading();
  caption();
  if (!window_) return document();
  const Unit unit = unit_for(window_->length_s);
  ticks_ = ticks(window_->length_s, unit, 8);
  legend();
  column_heads();
  if (traces_.size() > many_lanes) tick_labels();
  lanes();
  y_ += 20;
  tick_labels();
  y_ += 20;
  put("<text x='{}' y='{}' font-size='12.5' text-anchor='middle' fill='{}'>time since the first span began "
      "({})</text>\n",
      (lanes_left + lanes_right) / 2, y_, pale_ink, unit.name);
  return document();
}

// ---- Chrome ----

nlohmann::json metadata_event(std::string_view name, int pid, int tid, nlohmann::json args) {
  return {{"name", name}, {"ph", "M"}, {"pid", pid}, {"tid", tid}, {"args", std::move(args)}};
}

}  // namespace

double total_s(const RankTrace& trace, Span::Kind kind) {
  double total = 0;
  for (const Span& span : trace.spans) {
    if (span.kind == kind) total += duration_s(span);
  }
  return total;
}

std::string terminal_timeline(const std::vector<RankTrace>& traces, int columns, bool colour) {
  const auto window = checked_window(traces);
  if (!window) return nothing_recorded(traces.size()) + "\n";
  return Terminal(traces, *window, columns, colour).draw();
}

std::string svg_timeline(const std::vector<RankTrace>& traces, const std::string& title) {
  return Svg(traces, title).draw();
}

std::string chrome_trace(const std::vector<RankTrace>& traces) {
  // Perfetto keeps pid 0 for the kernel, and a release of 2025 took tid 0 for the thread whose tid is the
  // pid: so this is a number that is no rank. It also refuses a ts below 0, hence the shift to the first
  // span.
  constexpr int pid = 1'000'000;
  const auto window = checked_window(traces);
  const auto nanoseconds = [&](double time_s) { return std::round((time_s - window->begin_s) * 1e9); };
  std::vector<std::string> events;
  const auto add = [&](const nlohmann::json& event) {
    events.push_back(event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  };
  for (const RankTrace& trace : traces) {
    add(metadata_event("thread_name", pid, trace.rank, {{"name", fmt::format("rank {}", trace.rank)}}));
    add(metadata_event("thread_sort_index", pid, trace.rank, {{"sort_index", trace.rank}}));
    for (const Span& span : trace.spans) {
      const double begin_ns = nanoseconds(span.begin_s);
      add({{"name", name_of(span)},
           {"cat", styles[style_of(span)].name},
           {"ph", "X"},
           {"pid", pid},
           {"tid", trace.rank},
           {"ts", begin_ns / 1e3},
           {"dur", (nanoseconds(span.end_s) - begin_ns) / 1e3}});
    }
  }
  if (!traces.empty()) add(metadata_event("process_name", pid, traces.front().rank, {{"name", "ranks"}}));
  return fmt::format("[\n{}\n]\n", joined(events, ",\n"));
}

}  // namespace course
