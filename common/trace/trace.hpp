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
};

/// What one rank did, in order of begin_s; spans of a rank do not overlap.
struct RankTrace {
  int rank;
  std::vector<Span> spans;
};

/// What the ranks did in one of several runs that are shown together.
struct Timeline {
  std::string name;  ///< what to print over its lanes: "blocking ring"
  std::vector<RankTrace> traces;
};

/// Seconds a rank spent in spans of `kind`.
double total_s(const RankTrace& trace, Span::Kind kind);

/// One line a rank, at most `columns` characters wide (fewer than 40 count as 40), with an axis and a legend;
/// colour when `colour`. Time starts with the first span of any rank, and percentages are of the time from
/// there to the last end. A cell shows what fills most of it. A span too short to win a cell takes one, or
/// the one beside it, as long as no other span disappears for that; where spans are denser than cells, each
/// kind of a lane still shows at least once if a cell is free for it. Without a span: one sentence that says
/// so. With `at_least_s` the axis is at least so long, so that several timelines can be compared.
/// @throws std::invalid_argument for a span that is not finite, ends before it begins or begins before its
///   predecessor has ended. The same holds for the other two formats.
std::string terminal_timeline(const std::vector<RankTrace>& traces, int columns, bool colour,
                              double at_least_s = 0);

/// A self-contained picture that explains itself: title, caption, axis in µs, ms or s, legend, one lane a
/// rank with its shares, a tooltip a span. Time starts with the first span of any rank. `title` and labels
/// are plain UTF-8 text; they are escaped here. Without a span: the title and a sentence that says so.
/// `at_least_s` as above.
std::string svg_timeline(const std::vector<RankTrace>& traces, const std::string& title,
                         double at_least_s = 0);

/// Several timelines, one at least, one above the other on one axis, which is as long as the longest of them:
/// each starts with its own first span, so that their lengths compare. Percentages are of the whole axis. A
/// single one is drawn as above, without its name.
std::string terminal_timelines(const std::vector<Timeline>& timelines, int columns, bool colour);

/// The same as a picture. `note`, plain UTF-8 text, is printed below the caption.
std::string svg_timelines(const std::vector<Timeline>& timelines, const std::string& title,
                          const std::string& note = "");

/// The Chrome trace event format (array of complete events, microseconds), which Perfetto opens. `ts` counts
/// from the first span of any rank, rounded to a nanosecond; `tid` is the rank, `cat` the kind.
/// Source: "Trace Event Format", Google, 2016, sections "Complete Events" and "Metadata Events".
std::string chrome_trace(const std::vector<RankTrace>& traces);

/// The same of several timelines: each is a process of its name, and starts at 0.
std::string chrome_traces(const std::vector<Timeline>& timelines);

}  // namespace course
