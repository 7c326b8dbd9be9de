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
constexpr int widest_timeline = 140;

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

/// Text that is emphasised on a terminal with colours.
class Paint {
 public:
  explicit Paint(bool colour) : colour_(colour) {}
  std::string bold(const std::string& text) const { return painted("1", text); }
  std::string pale(const std::string& text) const { return painted("2", text); }
  std::string verdict(bool right) const { return right ? painted("32", "right") : painted("1;31", "WRONG"); }

 private:
  std::string painted(const char* code, const std::string& text) const {
    return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }
  bool colour_;
};

std::string heading(const RunSummary& run, const Paint& paint) {
  std::string text = paint.bold(fmt::format("Ring attention, forward, not causal: {}", where(run))) + "\n";
  text += fmt::format("  input  q, k, v {}: {}\n", to_string(run.shape), run.input);
  text += fmt::format("  code   {} lessons 04 (blocks) and 05 (ring)\n",
                      run.mine ? "your own" : "the solutions of");
  text += "  times  " + (run.runs > 1 ? fmt::format("of the fastest of {} runs; ", run.runs) : "") +
          "a transfer includes waiting for the neighbour\n";
  if (oversubscribed(run)) {
    text +=
        "         more ranks than cores (mpirun oversubscribes): ranks take turns, and most of a transfer is "
        "such waiting\n";
  }
  return text;
}

struct Row {
  std::string name;
  Index tokens;
  const Deviations* deviations;
  std::int64_t bytes_sent;
  double compute_s, transfer_s, wait_s;
  double span_s;  ///< what the share is of
};

/// Right-aligned; text that is not ASCII (µs) counts by its characters.
std::string cell(const std::string& text, std::size_t width) {
  const auto characters = static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  return std::string(width - std::min(width, characters), ' ') + text;
}

std::string deviation_cells(const Row& row, const Deviation& deviation) {
  const auto number = [&](double value) { return row.tokens == 0 ? "-" : fmt::format("{:.1e}", value); };
  return cell(number(deviation.largest), 10) + cell(number(deviation.relative), 9);
}

std::string row_text(const Row& row) {
  const std::string share = row.span_s > 0 ? format_percent(row.transfer_s / row.span_s) + " %" : "-";
  return cell(row.name, 4) + cell(std::to_string(row.tokens), 8) + deviation_cells(row, row.deviations->o) +
         deviation_cells(row, row.deviations->lse) + cell(format_bytes(row.bytes_sent), 11) +
         cell(format_duration(row.compute_s), 10) + cell(format_duration(row.transfer_s), 10) +
         cell(format_duration(row.wait_s), 9) + cell(share, 10) + "\n";
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

std::string table(const RunSummary& run, const Paint& paint) {
  const std::string groups =
      "             ─── error of o ─── ── error of lse ──                 ─────── time in ───────  share of";
  const std::string columns =
      "rank  tokens   largest relative   largest relative       sent   compute  transfer     wait transfers";
  std::string text = paint.pale(groups) + "\n" + paint.bold(columns) + "\n";
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
  return text + paint.bold(row_text(all));
}

std::string verdict(const RunSummary& run, const Paint& paint) {
  const Comparison& comparison = run.comparison;
  std::string text =
      comparison.rows == comparison.seq
          ? "Every query row was compared with float64 attention (Eigen)\n"
          : fmt::format(
                "{} of {} query rows of each head, spread evenly, were compared with float64 attention "
                "(Eigen); all would take too long\n",
                comparison.rows, comparison.seq);
  const auto line = [&](const char* name, const Deviation& off, const Deviation& baseline, double tolerance) {
    return fmt::format(
        "  {:<3} is {}: relative error {:.1e} in the worst head; plain float32 attention has {:.1e}, allowed "
        "is {:.1e}\n",
        name, paint.verdict(off.relative <= tolerance), off.relative, baseline.relative, tolerance);
  };
  text += line("o", comparison.overall.o, comparison.baseline.o, comparison.tolerance_o);
  text += line("lse", comparison.overall.lse, comparison.baseline.lse, comparison.tolerance_lse);
  if (comparison.baseline.o.relative > poor_baseline) {
    text += "  note: scores this large are beyond float32, whatever the order of the computation\n";
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

nlohmann::ordered_json errors_json(double o, double lse) {
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
  const Paint paint(colour);
  return heading(run, paint) + "\n" + table(run, paint) + "\n" + verdict(run, paint) + "\n" + remarks(run) +
         terminal_timeline(traces(run), std::min(columns, widest_timeline), colour) + "\n" +
         files_text(saved);
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
