#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace course {

/// One thing a rank did, in seconds since an origin that all ranks share.
struct Span {
  enum class Kind { Compute, Transfer, Wait } kind;
  double begin_s;
  double end_s;
  std::string label;  ///< what to print beside it: "block of rank 2", "MPI_Recv from 3"
  int stream = 0;     ///< of the rank's GPU, from 1; 0: what the rank itself did
};

/// What one rank did, or one stream of its GPU, in order of begin_s; spans of a lane do not overlap.
struct RankTrace {
  int rank;
  std::vector<Span> spans;
  int stream = 0;  ///< of the rank's GPU, from 1; 0: the rank itself
};

/// One trace for each stream that a rank's spans name, in the order of streams.
std::vector<RankTrace> by_stream(const RankTrace& rank);

/// What the ranks did in a run.
struct Timeline {
  std::string name;  ///< what to print over its lanes where several runs are shown together: "blocking ring"
  std::vector<RankTrace> traces;
};

/// Seconds a rank spent in spans of `kind`.
double total_s(const RankTrace& trace, Span::Kind kind);

/// The label of the moment between two tiles of a block in which MPI is given time.
inline constexpr const char* progress_label = "progress";

/// The same timelines with the tiles of a block in one bar where what lies between them is only progress
/// shorter than 1/300 of the time shown: too short to draw, and hundreds of it would hide the rest. Its time
/// then counts as compute; a trace for Perfetto keeps it.
std::vector<Timeline> with_joined_tiles(std::vector<Timeline> timelines);

// Each format shows one timeline at least; several stand one above the other on one axis, which is as long as
// the longest of them: each starts with the first span of any of its ranks, so that their lengths compare.
// Percentages are of the whole axis. A single one is shown without its name. Where there is no span, a
// sentence says so. std::invalid_argument is thrown for a span that is not finite, ends before it begins or
// begins before its predecessor has ended.

/// One line a lane, at most `columns` characters wide (fewer than 40 count as 40), with an axis and a legend;
/// colour when `colour`. A cell shows what fills most of it. A span too short to win a cell takes one, or
/// the one beside it, as long as no other span disappears for that; where spans are denser than cells, each
/// kind of a lane still shows at least once if a cell is free for it.
std::string terminal_timelines(const std::vector<Timeline>& timelines, int columns, bool colour);

/// A self-contained picture that explains itself: title, caption, axis in µs, ms or s, legend, one lane a
/// rank, or a stream of its GPU, with its shares, a tooltip a span. `title`, labels and `note`, which is
/// printed below the caption, are plain UTF-8 text; they are escaped here.
std::string svg_timelines(const std::vector<Timeline>& timelines, const std::string& title,
                          const std::string& note = "");

/// The Chrome trace event format (array of complete events, microseconds), which Perfetto opens. A timeline
/// is a process of its name, whose `ts` counts from its first span, rounded to a nanosecond; `tid` is the
/// rank, or 1000 times the rank and the stream, `cat` the kind. Source: "Trace Event Format", Google, 2016,
/// sections "Complete Events" and "Metadata Events".
std::string chrome_traces(const std::vector<Timeline>& timelines);

}  // namespace course
