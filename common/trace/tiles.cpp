#include "trace/tiles.hpp"

#include <algorithm>
#include <limits>

namespace course {

namespace {

double window_s(const std::vector<RankTrace>& traces) {
  double begin_s = std::numeric_limits<double>::infinity();
  double end_s = -begin_s;
  for (const RankTrace& trace : traces) {
    if (trace.spans.empty()) continue;
    begin_s = std::min(begin_s, trace.spans.front().begin_s);
    end_s = std::max(end_s, trace.spans.back().end_s);
  }
  return end_s - begin_s;
}

/// Too short to draw.
bool is_brief_progress(const Span& span, double brief_s) {
  return span.label == progress_label && span.end_s - span.begin_s < brief_s;
}

std::vector<Span> joined(const std::vector<Span>& spans, double brief_s) {
  std::vector<Span> result;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const bool between_tiles =
        !result.empty() && i + 1 < spans.size() && is_brief_progress(spans[i], brief_s) &&
        result.back().kind == Span::Kind::Compute && spans[i + 1].kind == Span::Kind::Compute &&
        spans[i + 1].label == result.back().label;
    if (between_tiles) {
      result.back().end_s = spans[++i].end_s;
    } else {
      result.push_back(spans[i]);
    }
  }
  return result;
}

}  // namespace

std::vector<RankTrace> with_joined_tiles(std::vector<RankTrace> traces) {
  const double brief_s = window_s(traces) / 300;
  for (RankTrace& trace : traces) trace.spans = joined(trace.spans, brief_s);
  return traces;
}

}  // namespace course
