#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.hpp"

/// What the three formats of trace.hpp have in common, and how tables beside them write times and shares.
namespace course::timeline {

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

inline constexpr std::array<Style, 4> styles{{
    {"compute", "compute (arithmetic)", "█", "38;5;32", "#0072B2", "#ffffff"},
    {"transfer", "transfer (send, receive)", "═", "38;5;208", "#E69F00", "#1b1f24"},
    {"wait", "wait (for another rank)", "░", "38;5;175", "url(#course-wait)", "#1b1f24"},
    {"idle", "idle (nothing recorded)", "·", "2", "#e1e6eb", "#1b1f24"},
}};
inline constexpr std::size_t idle = 3;
/// Above this number of lanes, what stands at one end is repeated at the other.
inline constexpr std::size_t many_lanes = 16;
inline constexpr std::array<Span::Kind, 3> kinds{Span::Kind::Compute, Span::Kind::Transfer, Span::Kind::Wait};

std::size_t style_of(const Span& span);

double duration_s(const Span& span);

/// The label, or the kind's name where there is none.
std::string name_of(const Span& span);

/// The time that a picture shows.
struct Window {
  double begin_s;
  double length_s;
};

/// From the first begin to the last end; nothing when no rank has a span.
/// @throws std::invalid_argument for the spans that trace.hpp forbids.
std::optional<Window> checked_window(const std::vector<RankTrace>& traces);

/// The windows of several timelines, all of one length; nothing when no rank of any has a span.
std::vector<Window> common_windows(const std::vector<Timeline>& timelines);

/// The time in which all members of a communicator are in one exchange of all with all: from the last begin
/// of the call to its first end.
struct Exchange {
  std::string label;
  double begin_s, end_s;
  std::vector<std::size_t> lanes;  ///< those of its members, two at least
};

/// By label: that of a call which every lane that has it makes equally often, time after time.
std::vector<Exchange> exchanges_in(const Timeline& timeline);

std::size_t lanes_of(const std::vector<Timeline>& timelines);

std::size_t ranks_of(const Timeline& timeline);

/// Whether lanes are streams of the ranks' GPUs.
bool has_streams(const std::vector<Timeline>& timelines);

/// What a lane is called after "rank": "3", or "3/1" for its GPU's stream 1.
std::string number_of(const RankTrace& trace);

std::string nothing_recorded(std::size_t ranks);

struct Unit {
  std::string_view name;
  double seconds;
};

Unit unit_for(double seconds);

/// Three significant digits and a unit.
std::string format_duration(double seconds);

/// Whole percent; what exists is never called 0, and what lacks something never 100.
std::string format_percent(double share);

/// Share of the window that a rank spent in each style, idle included.
std::array<double, styles.size()> shares(const RankTrace& trace, const Window& window);

struct Tick {
  double position;  ///< in [0, 1] of the window
  std::string label;
};

/// Ticks at multiples of 1, 2 or 5 times a power of ten, at most `intervals` + 1 of them.
std::vector<Tick> ticks(double length_s, const Unit& unit, int intervals);

}  // namespace course::timeline
