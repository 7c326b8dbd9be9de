#include "demo/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "trace/tiles.hpp"
#include "trace/timeline.hpp"

namespace course::demo {

std::vector<std::string> RunSummary::wrong_rings() const {
  std::vector<std::string> names;
  for (const RingSummary& ring : rings) {
    if (!ring.comparison.passed()) names.emplace_back(ring.kind.name);
  }
  return names;
}

RunSummary summarise(const Demonstration& shown, const std::vector<RingAnswer>& answers,
                     const Progress& progress) {
  const Input& input = shown.input;
  const std::vector<int> tokens = shown.shard_tokens();
  RunSummary run{input.shape,       input.heads(), input.seq(), input.head_dim(),
                 input.description, shown.mine,    shown.runs,  {}};
  const ForwardReference forward(input, tokens, progress);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    run.rings.push_back(
        {shown.rings[i], tokens, answers[i].ranks, forward.compare(answers[i].o, answers[i].lse)});
  }
  if (!shown.backward()) return run;
  const BackwardReference backward(input, tokens, progress);
  for (std::size_t i = 0; i < answers.size(); ++i)
    run.rings[i].comparison.gradients = backward.compare(answers[i].dq, answers[i].dk, answers[i].dv);
  return run;
}

double span_s(const RankTrace& trace) {
  return trace.spans.empty() ? 0 : trace.spans.back().end_s - trace.spans.front().begin_s;
}

double slowest_s(const RingSummary& ring) {
  double seconds = 0;
  for (const RankRecord& rank : ring.ranks) seconds = std::max(seconds, span_s(rank.trace));
  return seconds;
}

double exposed(const RingSummary& ring) {
  double exposed_s = 0;
  double all_s = 0;
  for (const RankRecord& rank : ring.ranks) {
    exposed_s += total_s(rank.trace, Span::Kind::Transfer) + total_s(rank.trace, Span::Kind::Wait);
    all_s += span_s(rank.trace);
  }
  return all_s > 0 ? exposed_s / all_s : 0;
}

std::int64_t bytes_sent(const RingSummary& ring) {
  return std::accumulate(ring.ranks.begin(), ring.ranks.end(), std::int64_t{0},
                         [](std::int64_t bytes, const RankRecord& rank) { return bytes + rank.bytes_sent; });
}

std::vector<Timeline> timelines(const RunSummary& run) {
  std::vector<Timeline> all;
  for (const RingSummary& ring : run.rings) {
    Timeline& timeline = all.emplace_back();
    timeline.name = fmt::format("{} ring: {}", ring.kind.name, timeline::format_duration(slowest_s(ring)));
    for (const RankRecord& rank : ring.ranks) timeline.traces.push_back(rank.trace);
  }
  return all;
}

std::vector<Timeline> joined_timelines(const RunSummary& run) {
  std::vector<Timeline> all = timelines(run);
  for (Timeline& timeline : all) timeline.traces = with_joined_tiles(std::move(timeline.traces));
  return all;
}

std::string timeline_title(const RunSummary& run) {
  return fmt::format("Ring attention on {}: {}, {} of {}",
                     plural(static_cast<Index>(run.rings.front().ranks.size()), "rank"),
                     plural(run.seq, "token"), plural(run.heads, "head"), run.head_dim);
}

std::string timeline_note(const RunSummary& run) {
  if (run.rings.size() == 1) return "";
  if (const std::size_t hosts = hosts_of(run); hosts > 1)
    return fmt::format("On {} hosts only the transfers between hosts cost what can be hidden", hosts);
  return fmt::format("{} transfers are nearly free; what overlap saves: ./course lab slow-network",
                     share_cores(run) ? "Ranks share cores, and" : "On one host");
}

bool share_cores(const RunSummary& run) {
  std::map<std::string, int> ranks_on;
  const std::vector<RankRecord>& all = run.rings.front().ranks;
  return std::any_of(all.begin(), all.end(),
                     [&](const RankRecord& rank) { return ++ranks_on[rank.host_id] > rank.cores; });
}

std::string format_bytes(std::int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = larger;
  }
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, unit);
}

std::string plural(Index count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

std::size_t hosts_of(const RunSummary& run) {
  std::set<std::string> ids;
  for (const RankRecord& rank : run.rings.front().ranks) ids.insert(rank.host_id);
  return ids.size();
}

}  // namespace course::demo
