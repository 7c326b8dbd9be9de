#include "demo/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "trace/timeline.hpp"

namespace course::demo {

namespace {

using timeline::format_duration;
using timeline::format_percent;

constexpr double poor_baseline = 1e-3;

std::string plural(Index count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// Hosts by id, each with its ranks.
std::map<std::string, std::vector<const RankResult*>> by_host(const RunSummary& run) {
  std::map<std::string, std::vector<const RankResult*>> hosts;
  for (const RankResult& rank : run.ranks) hosts[rank.host_id].push_back(&rank);
  return hosts;
}

/// "4 MPI ranks on one host with 2 cores".
std::string where(const RunSummary& run) {
  const auto hosts = by_host(run);
  const std::string ranks = plural(static_cast<Index>(run.ranks.size()), "MPI rank");
  if (hosts.size() > 1) return fmt::format("{} on {} hosts", ranks, hosts.size());
  return fmt::format("{} on one host with {}", ranks, plural(run.ranks[0].cores, "core"));
}

bool oversubscribed(const RunSummary& run) {
  const auto hosts = by_host(run);
  return std::any_of(hosts.begin(), hosts.end(), [](const auto& host) {
    return static_cast<int>(host.second.size()) > host.second[0]->cores;
  });
}

std::string heading(const RunSummary& run) {
  std::string text = fmt::format("Ring attention, forward, every query over every key: {}\n", where(run));
  text += fmt::format("  input  q, k, v {}: {}\n", to_string(run.shape), run.input);
  text += fmt::format("  code   {} lessons 04 (blocks) and 05 (ring)\n",
                      run.mine ? "your own" : "the solutions of");
  if (oversubscribed(run)) {
    text +=
        "  note   more ranks than cores: mpirun oversubscribes, ranks take turns, and the times say little\n"
        "         about speed. Time in transfers includes waiting for a neighbour's turn.\n";
  } else {
    text += "  note   time in transfers includes waiting for the neighbour to take part\n";
  }
  return text;
}

/// The table's columns have fixed widths; text that is not ASCII counts by its characters.
std::string cell(const std::string& text, std::size_t width) {
  const auto characters = static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  return std::string(width - std::min(width, characters), ' ') + text;
}

struct Row {
  std::string name;
  std::int64_t tokens;
  const Deviations* deviations;
  std::int64_t bytes_sent;
  double compute_s, transfer_s, wait_s;
  double span_s;  ///< what shares are of
};

std::string number(double value) {
  return fmt::format("{:.1e}", value);
}

std::string row_text(const Row& row) {
  const auto errors = [&](const Deviation& deviation) {
    const bool none = row.tokens == 0;
    return cell(none ? "-" : number(deviation.largest), 10) +
           cell(none ? "-" : number(deviation.relative), 9);
  };
  return cell(row.name, 4) + cell(std::to_string(row.tokens), 9) + errors(row.deviations->o) +
         errors(row.deviations->lse) + cell(format_bytes(row.bytes_sent), 11) +
         cell(format_duration(row.compute_s), 10) + cell(format_duration(row.transfer_s), 10) +
         cell(format_duration(row.wait_s), 10) +
         cell(row.span_s > 0 ? format_percent(row.transfer_s / row.span_s) + " %" : "-", 7) + "\n";
}

/// From a rank's first span to its last.
double span_s(const RankTrace& trace) {
  return trace.spans.empty() ? 0 : trace.spans.back().end_s - trace.spans.front().begin_s;
}

Row row_of(const RankResult& rank, const Deviations& deviations) {
  return {std::to_string(rank.trace.rank),
          rank.tokens,
          &deviations,
          rank.bytes_sent,
          total_s(rank.trace, Span::Kind::Compute),
          total_s(rank.trace, Span::Kind::Transfer),
          total_s(rank.trace, Span::Kind::Wait),
          span_s(rank.trace)};
}

std::string table(const RunSummary& run) {
  std::string text =
      "              error of o         error of lse                        time in              share in\n"
      "rank   tokens   largest relative   largest relative       sent   compute transfers   waiting  "
      "trans.\n";
  Row all{"all", run.seq, &run.comparison.overall, 0, 0, 0, 0, 0};
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    const Row row = row_of(run.ranks[i], run.comparison.by_rank[i]);
    text += row_text(row);
    all.bytes_sent += row.bytes_sent;
    all.compute_s += row.compute_s;
    all.transfer_s += row.transfer_s;
    all.wait_s += row.wait_s;
    all.span_s += row.span_s;
  }
  return text + row_text(all);
}

std::string verdict(const RunSummary& run) {
  const Comparison& comparison = run.comparison;
  std::string text = "Compared with float64 attention (Eigen): ";
  text += comparison.rows == comparison.seq
              ? "every query row\n"
              : fmt::format("{} of {} query rows of each head, spread evenly; all would take too long\n",
                            comparison.rows, comparison.seq);
  const auto line = [&](const char* name, const Deviation& off, double tolerance) {
    return fmt::format("  {:<4} relative error {:.1e} in the worst head, allowed {:.1e}: {}\n", name,
                       off.relative, tolerance, off.relative <= tolerance ? "right" : "WRONG");
  };
  text += line("o", comparison.overall.o, comparison.tolerance_o);
  text += line("lse", comparison.overall.lse, comparison.tolerance_lse);
  text +=
      fmt::format("  (allowed: 8 times the error of plain float32 attention, {:.1e} and {:.1e}, and 1e-6)\n",
                  comparison.baseline.o.relative, comparison.baseline.lse.relative);
  if (comparison.baseline.o.relative > poor_baseline) {
    text += "  These scores are too large for float32: plain attention in float32 is as far off.\n";
  }
  return text;
}

std::string remarks(const RunSummary& run) {
  std::string text;
  for (const RankResult& rank : run.ranks) {
    if (rank.collective_bytes > 0) {
      text += fmt::format("  rank {}: received {} in collectives, which a ring does without\n",
                          rank.trace.rank, format_bytes(rank.collective_bytes));
    }
    for (const std::string& fact : rank.facts) text += fmt::format("  rank {}: {}\n", rank.trace.rank, fact);
  }
  return text.empty() ? "" : "Noticed\n" + text + "\n";
}

std::string files_text(const SavedFiles& saved) {
  std::string text;
  if (!saved.why_not.empty()) return "Nothing was written: " + saved.why_not + "\n";
  for (const std::string& name : saved.names) text += fmt::format("  {}\n", (saved.folder / name).string());
  return "Written\n" + text;
}

nlohmann::json errors_json(double o, double lse) {
  return {{"o", o}, {"lse", lse}};
}

}  // namespace

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

std::string timeline_title(const RunSummary& run) {
  return fmt::format("Ring attention on {}: {}, {} of {}",
                     plural(static_cast<Index>(run.ranks.size()), "rank"), plural(run.seq, "token"),
                     plural(run.heads, "head"), run.head_dim);
}

std::vector<RankTrace> traces(const RunSummary& run) {
  std::vector<RankTrace> all;
  for (const RankResult& rank : run.ranks) all.push_back(rank.trace);
  return all;
}

std::string report_text(const RunSummary& run, const SavedFiles& saved, int columns, bool colour) {
  return heading(run) + "\n" + table(run) + "\n" + verdict(run) + "\n" + remarks(run) +
         terminal_timeline(traces(run), columns, colour) + "\n" + files_text(saved);
}

std::string report_json(const RunSummary& run) {
  const Comparison& comparison = run.comparison;
  nlohmann::ordered_json json{
      {"ranks", run.ranks.size()},
      {"causal", false},
      {"layout", "contiguous"},
      {"backend", "mpi"},
      {"relative_error", errors_json(comparison.overall.o.relative, comparison.overall.lse.relative)},
      {"tolerance", errors_json(comparison.tolerance_o, comparison.tolerance_lse)},
      {"rows_compared", comparison.rows},
      {"per_rank", nlohmann::json::array()}};
  for (const RankResult& rank : run.ranks) {
    json["per_rank"].push_back({{"rank", rank.trace.rank},
                                {"tokens", rank.tokens},
                                {"bytes_sent", rank.bytes_sent},
                                {"compute_s", total_s(rank.trace, Span::Kind::Compute)},
                                {"transfer_s", total_s(rank.trace, Span::Kind::Transfer)},
                                {"wait_s", total_s(rank.trace, Span::Kind::Wait)}});
  }
  return json.dump(2) + "\n";
}

}  // namespace course::demo
