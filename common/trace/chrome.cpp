#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "trace/timeline.hpp"

namespace course {
namespace {

nlohmann::json metadata_event(std::string_view name, int pid, int tid, nlohmann::json args) {
  return {{"name", name}, {"ph", "M"}, {"pid", pid}, {"tid", tid}, {"args", std::move(args)}};
}

/// What chrome_trace says of one timeline, as lines of JSON.
void add_events(const Timeline& timeline, int pid, std::vector<std::string>& events) {
  const auto window = timeline::checked_window(timeline.traces);
  // Perfetto refuses a ts below 0, hence the shift to the first span.
  const auto nanoseconds = [&](double time_s) { return std::round((time_s - window->begin_s) * 1e9); };
  const auto add = [&](const nlohmann::json& event) {
    events.push_back(event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  };
  for (const RankTrace& trace : timeline.traces) {
    const int tid = trace.stream == 0 ? trace.rank : 1000 * trace.rank + trace.stream;
    const std::string name = "rank " + timeline::number_of(trace);
    add(metadata_event("thread_name", pid, tid, {{"name", name}}));
    add(metadata_event("thread_sort_index", pid, tid, {{"sort_index", tid}}));
    for (const Span& span : trace.spans) {
      const double begin_ns = nanoseconds(span.begin_s);
      add({{"name", timeline::name_of(span)},
           {"cat", timeline::styles[timeline::style_of(span)].name},
           {"ph", "X"},
           {"pid", pid},
           {"tid", tid},
           {"ts", begin_ns / 1e3},
           {"dur", (nanoseconds(span.end_s) - begin_ns) / 1e3}});
    }
  }
  if (timeline.traces.empty()) return;
  add(metadata_event("process_name", pid, timeline.traces.front().rank, {{"name", timeline.name}}));
}

}  // namespace

std::string chrome_traces(const std::vector<Timeline>& timelines) {
  // Perfetto keeps pid 0 for the kernel, and a release of 2025 took tid 0 for the thread whose tid is the
  // pid: so these are numbers that are no ranks.
  int pid = 1'000'000;
  std::vector<std::string> events;
  for (const Timeline& timeline : timelines) add_events(timeline, pid++, events);
  return fmt::format("[\n{}\n]\n", fmt::join(events, ",\n"));
}

}  // namespace course
