#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

#include "trace/timeline.hpp"

namespace course {

namespace {

/// Whether a span only separates two tiles of a block, and is too short to draw.
bool is_brief_progress(const std::vector<Span>& spans, std::size_t i, const Span& before, double brief_s) {
  if (i + 1 >= spans.size() || spans[i].label != progress_label || timeline::duration_s(spans[i]) >= brief_s)
    return false;
  const Span& after = spans[i + 1];
  return before.kind == Span::Kind::Compute && after.kind == Span::Kind::Compute &&
         after.label == before.label;
}

std::vector<Span> with_joined_tiles(const std::vector<Span>& spans, double brief_s) {
  std::vector<Span> result;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!result.empty() && is_brief_progress(spans, i, result.back(), brief_s)) {
      result.back().end_s = spans[++i].end_s;
    } else {
      result.push_back(spans[i]);
    }
  }
  return result;
}

}  // namespace

std::vector<Timeline> with_joined_tiles(std::vector<Timeline> timelines) {
  for (Timeline& timeline : timelines) {
    const std::optional<timeline::Window> window = timeline::checked_window(timeline.traces);
    for (RankTrace& trace : timeline.traces)
      trace.spans = with_joined_tiles(trace.spans, window ? window->length_s / 300 : 0);
  }
  return timelines;
}

std::vector<RankTrace> by_stream(const RankTrace& rank) {
  std::map<int, RankTrace> streams;
  for (const Span& span : rank.spans) {
    RankTrace& of_stream = streams[span.stream];
    of_stream.rank = rank.rank;
    of_stream.stream = span.stream;
    of_stream.spans.push_back(span);
  }
  std::vector<RankTrace> all;
  for (auto& [stream, trace] : streams) all.push_back(std::move(trace));
  return all;
}

double total_s(const RankTrace& trace, Span::Kind kind) {
  double total = 0;
  for (const Span& span : trace.spans) {
    if (span.kind == kind) total += timeline::duration_s(span);
  }
  return total;
}

}  // namespace course

namespace course::timeline {
namespace {

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

}  // namespace

std::size_t style_of(const Span& span) {
  return static_cast<std::size_t>(span.kind);
}

double duration_s(const Span& span) {
  return span.end_s - span.begin_s;
}

std::string name_of(const Span& span) {
  return span.label.empty() ? std::string(styles[style_of(span)].name) : span.label;
}

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

std::vector<Window> common_windows(const std::vector<Timeline>& timelines) {
  std::vector<Window> windows;
  double length_s = 0;
  for (const Timeline& timeline : timelines) {
    windows.push_back(checked_window(timeline.traces).value_or(Window{0, 0}));
    length_s = std::max(length_s, windows.back().length_s);
  }
  if (length_s == 0) return {};
  for (Window& window : windows) window.length_s = length_s;
  return windows;
}

std::size_t ranks_of(const Timeline& timeline) {
  std::set<int> ranks;
  for (const RankTrace& trace : timeline.traces) ranks.insert(trace.rank);
  return ranks.size();
}

bool has_streams(const std::vector<Timeline>& timelines) {
  return std::ranges::any_of(timelines, [](const Timeline& timeline) {
    return std::ranges::any_of(timeline.traces, [](const RankTrace& trace) { return trace.stream != 0; });
  });
}

std::string number_of(const RankTrace& trace) {
  return trace.stream == 0 ? fmt::format("{}", trace.rank) : fmt::format("{}/{}", trace.rank, trace.stream);
}

std::vector<Exchange> exchanges_in(const Timeline& timeline) {
  std::map<std::string, std::map<std::size_t, std::vector<Span>>> calls;  // by label and lane
  for (std::size_t lane = 0; lane < timeline.traces.size(); ++lane) {
    for (const Span& span : timeline.traces[lane].spans)
      if (span.label.starts_with("MPI_Alltoall")) calls[span.label][lane].push_back(span);
  }
  std::vector<Exchange> all;
  for (const auto& [label, by_lane] : calls) {
    const std::size_t times = by_lane.begin()->second.size();
    const bool alike =
        std::ranges::all_of(by_lane, [&](const auto& lane) { return lane.second.size() == times; });
    if (by_lane.size() < 2 || !alike) continue;
    for (std::size_t i = 0; i < times; ++i) {
      constexpr double never_s = std::numeric_limits<double>::infinity();
      Exchange met{label, -never_s, never_s, {}};
      for (const auto& [lane, spans] : by_lane) {
        met.begin_s = std::max(met.begin_s, spans[i].begin_s);
        met.end_s = std::min(met.end_s, spans[i].end_s);
        met.lanes.push_back(lane);
      }
      // Who exchanges nothing waits for nobody.
      if (met.begin_s < met.end_s) all.push_back(std::move(met));
    }
  }
  return all;
}

std::size_t lanes_of(const std::vector<Timeline>& timelines) {
  std::size_t lanes = 0;
  for (const Timeline& timeline : timelines) lanes += timeline.traces.size();
  return lanes;
}

std::string nothing_recorded(std::size_t ranks) {
  return fmt::format("No spans were recorded on {} {}, so there is no timeline to draw.", ranks,
                     ranks == 1 ? "rank" : "ranks");
}

Unit unit_for(double seconds) {
  if (seconds >= 1) return {"s", 1};
  if (seconds >= 1e-3) return {"ms", 1e-3};
  return {"µs", 1e-6};
}

std::string format_duration(double seconds) {
  if (seconds == 0) return "0 s";
  const Unit unit = unit_for(seconds);
  const double value = seconds / unit.seconds;
  const int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, unit.name);
}

std::string format_percent(double share) {
  constexpr double rounding = 1e-9;
  if (share > rounding && share < 0.005) return "<1";
  if (share > 0.995 && share < 1 - rounding) return ">99";
  return fmt::format("{:.0f}", 100 * share);
}

std::array<double, styles.size()> shares(const RankTrace& trace, const Window& window) {
  std::array<double, styles.size()> result{};
  for (std::size_t i = 0; i < kinds.size(); ++i) result[i] = total_s(trace, kinds[i]) / window.length_s;
  result[idle] = std::max(0.0, 1 - std::accumulate(result.begin(), result.begin() + idle, 0.0));
  return result;
}

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

}  // namespace course::timeline
