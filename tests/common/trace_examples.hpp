#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/trace.hpp"

namespace course {

using Kind = Span::Kind;

inline constexpr double ms = 1e-3;

inline Span span_ms(Kind kind, double begin, double end, std::string label = "") {
  return {kind, begin * ms, end * ms, std::move(label)};
}

/// Each rank computes for `compute` ms and transfers for `transfer` ms, `hops` times, and computes once more.
inline std::vector<RankTrace> ring(int ranks, int hops, double compute, double transfer) {
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

inline std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++found;
  }
  return found;
}

inline std::string repeat(std::string_view glyph, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += glyph;
  return result;
}

/// One timeline in each format.
inline std::string terminal_timeline(const std::vector<RankTrace>& traces, int columns, bool colour) {
  return terminal_timelines({{"", traces}}, columns, colour);
}
inline std::string svg_timeline(const std::vector<RankTrace>& traces, const std::string& title) {
  return svg_timelines({{"", traces}}, title);
}
inline std::string chrome_trace(const std::vector<RankTrace>& traces) {
  return chrome_traces({{"ranks", traces}});
}

}  // namespace course
