#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "trace/timeline.hpp"

namespace course::timeline {
namespace {

/// One rank's row of character cells.
class Lane {
 public:
  Lane(const RankTrace& trace, const Window& window, std::size_t cells)
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

  /// The style of each cell.
  const std::vector<std::size_t>& shown() const { return shown_; }

 private:
  struct Range {
    std::size_t first, last;  ///< both included
  };

  /// Time in cells from the left edge.
  double position(double time_s) const {
    return (time_s - window_.begin_s) / window_.length_s * static_cast<double>(shown_.size());
  }

  Range touched(const Span& span) const {
    // A sliver of a cell that is only there by rounding does not count.
    constexpr double sliver = 1e-6;
    const double end_cell = static_cast<double>(shown_.size() - 1);
    const double first = std::clamp(std::floor(position(span.begin_s) + sliver), 0.0, end_cell);
    const double last = std::clamp(std::ceil(position(span.end_s) - sliver) - 1, first, end_cell);
    return {static_cast<std::size_t>(first), static_cast<std::size_t>(last)};
  }

  double overlap(const Span& span, std::size_t cell) const {
    const double left = static_cast<double>(cell);
    return std::max(0.0, std::min(position(span.end_s), left + 1) - std::max(position(span.begin_s), left));
  }

  /// Whether `span` shows in another cell than `except`.
  bool visible(const Span& span, std::optional<std::size_t> except = std::nullopt) const {
    const Range range = touched(span);
    for (std::size_t cell = range.first; cell <= range.last; ++cell) {
      if (cell != except && shown_[cell] == style_of(span)) return true;
    }
    return false;
  }

  /// Whether `span` can have `cell` without making another span disappear.
  bool free_for(const Span& span, std::size_t cell) const {
    return !taken_[cell] && std::ranges::all_of(spans_in_[cell], [&](std::size_t i) {
      const Span& other = trace_.spans[i];
      return style_of(other) != shown_[cell] || style_of(other) == style_of(span) || visible(other, cell);
    });
  }

  /// The free cell that `span` fills most, else one beside it: to the right first, since what came before it
  /// has been shown already.
  std::optional<std::size_t> cell_for(const Span& span) const {
    const Range range = touched(span);
    std::vector<std::size_t> cells(range.last - range.first + 1);
    std::iota(cells.begin(), cells.end(), range.first);
    if (range.last + 1 < shown_.size()) cells.push_back(range.last + 1);
    if (range.first > 0) cells.push_back(range.first - 1);
    std::optional<std::size_t> best;
    for (const std::size_t cell : cells) {
      if (free_for(span, cell) && (!best || overlap(span, cell) > overlap(span, *best))) best = cell;
    }
    return best;
  }

  void show_majority() {
    for (std::size_t cell = 0; cell < shown_.size(); ++cell) {
      auto& filled = filled_[cell];
      filled[idle] = 1 - std::accumulate(filled.begin(), filled.begin() + idle, 0.0);
      shown_[cell] =
          static_cast<std::size_t>(std::max_element(filled.begin(), filled.end()) - filled.begin());
    }
  }

  void show_short_spans() {
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
  void show_missing_kinds() {
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

  const RankTrace& trace_;
  Window window_;
  std::vector<std::size_t> shown_;
  std::vector<bool> taken_;                                ///< by a short span that shows nowhere else
  std::vector<std::array<double, styles.size()>> filled_;  ///< share of each cell by style
  std::vector<std::vector<std::size_t>> spans_in_;         ///< indices of the spans that touch a cell
};

class Terminal {
 public:
  Terminal(const std::vector<Timeline>& timelines, std::vector<Window> windows, int columns, bool colour)
      : timelines_(timelines),
        windows_(std::move(windows)),
        length_s_(windows_.front().length_s),
        unit_(unit_for(length_s_)),
        colour_(colour),
        width_(static_cast<std::size_t>(std::max(columns, 40))),
        word_(columns < 60 ? "r" : "rank ") {
    for (const Timeline& timeline : timelines) {
      for (const RankTrace& trace : timeline.traces) digits_ = std::max(digits_, number_of(trace).size());
    }
    cells_ = width_ - label("").size() - 2 - percent_width * styles.size();
    ticks_ = ticks(length_s_, unit_, std::max(3, static_cast<int>(cells_) / 12));
  }

  std::string draw() const {
    // With many lanes, the headings above them have scrolled away when the last line is printed.
    const std::string margin(label("").size() + cells_ + 2, ' ');
    std::string result = margin + headings() + "\n";
    for (std::size_t i = 0; i < timelines_.size(); ++i) {
      if (timelines_.size() > 1) result += timelines_[i].name + "\n";
      for (const RankTrace& trace : timelines_[i].traces) result += lane(trace, windows_[i]) + "\n";
    }
    result += axis() + (lanes_of(timelines_) > many_lanes ? headings() : "") + "\n" + axis_labels() + "\n";
    return result + explanation() + "\n";
  }

 private:
  static constexpr int percent_width = 4;

  std::string painted(std::size_t style, std::string text) const {
    return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", styles[style].ansi, text) : text;
  }

  std::string label(const std::string& number) const {
    return fmt::format("{}{:>{}} ", word_, number, digits_);
  }

  /// A kind's glyph stands over its percentages, since its name would not fit.
  std::string headings() const {
    std::string result;
    for (std::size_t style = 0; style < styles.size(); ++style) {
      result += std::string(percent_width - 2, ' ') + painted(style, std::string(styles[style].glyph)) + "%";
    }
    return result;
  }

  std::string lane(const RankTrace& trace, const Window& window) const {
    std::string result = label(number_of(trace)) + "│";
    const Lane lane(trace, window, cells_);
    const auto& shown = lane.shown();
    for (auto run = shown.begin(); run != shown.end();) {
      const auto end = std::find_if(run, shown.end(), [&](std::size_t style) { return style != *run; });
      std::string text;
      for (auto cell = run; cell != end; ++cell) text += styles[*cell].glyph;
      result += painted(*run, text);
      run = end;
    }
    result += "│";
    for (const double share : shares(trace, window)) {
      result += fmt::format("{:>{}}", format_percent(share), percent_width);
    }
    return result;
  }

  std::size_t cell_of(const Tick& tick) const {
    const double cells = static_cast<double>(cells_);
    return static_cast<std::size_t>(std::min(std::floor(tick.position * cells + 1e-9), cells - 1));
  }

  std::string axis() const {
    std::vector<std::string> line(cells_, "─");
    for (const Tick& tick : ticks_) line[cell_of(tick)] = "┬";
    return fmt::format("{}└{}┘", std::string(label("").size(), ' '), fmt::join(line, ""));
  }

  std::string axis_labels() const {
    std::string line;
    for (const Tick& tick : ticks_) {
      const std::size_t centre = label("").size() + 1 + cell_of(tick);
      const std::size_t begin = centre - std::min(centre, tick.label.size() / 2);
      if (!line.empty() && begin <= line.size()) continue;
      line += std::string(begin - line.size(), ' ') + tick.label;
    }
    return fmt::format("{} {}", line, unit_.name);
  }

  std::string legend() const {
    std::vector<std::string> entries;
    for (std::size_t style = 0; style < styles.size(); ++style) {
      entries.push_back(
          fmt::format("{} {}", painted(style, std::string(styles[style].glyph)), styles[style].name));
    }
    return fmt::format("{}", fmt::join(entries, "  "));
  }

  /// In as few lines as there is room for.
  std::string explanation() const {
    std::string text = legend();
    std::size_t used = 0;
    for (const Style& style : styles) used += style.name.size() + 4;
    for (const std::string& more : {fmt::format("%: share of the {} shown", format_duration(length_s_)),
                                    std::string("a short span may fill a cell")}) {
      const bool fits = used + more.size() <= width_;
      text += (fits ? "  " : "\n") + more;
      used = (fits ? used : 0) + more.size() + 2;
    }
    return text;
  }

  const std::vector<Timeline>& timelines_;
  std::vector<Window> windows_;  ///< of one length
  double length_s_;
  Unit unit_;
  bool colour_;
  std::size_t width_;
  std::string_view word_;  ///< before a lane's number
  std::size_t digits_ = 1;
  std::size_t cells_ = 0;
  std::vector<Tick> ticks_;
};

}  // namespace
}  // namespace course::timeline

std::string course::terminal_timelines(const std::vector<Timeline>& timelines, int columns, bool colour) {
  std::vector<timeline::Window> windows = timeline::common_windows(timelines);
  if (windows.empty()) return timeline::nothing_recorded(timeline::ranks_of(timelines.front())) + "\n";
  return timeline::Terminal(timelines, std::move(windows), columns, colour).draw();
}
