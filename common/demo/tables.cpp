#include "demo/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "trace/timeline.hpp"

namespace course::demo {

namespace {

using timeline::format_duration;
using timeline::format_percent;

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

/// The largest error and the relative one, 19 columns; dashes for a rank that has nothing.
std::string error_cells(Index tokens, const Deviation& deviation) {
  const auto number = [&](double value) { return tokens == 0 ? "-" : fmt::format("{:.1e}", value); };
  return cell(number(deviation.largest), 10) + cell(number(deviation.relative), 9);
}

std::string row_text(const Row& row) {
  const std::string share = row.span_s > 0 ? format_percent(row.transfer_s / row.span_s) + " %" : "-";
  return cell(row.name, 4) + cell(std::to_string(row.tokens), 8) +
         error_cells(row.tokens, row.deviations->o) + error_cells(row.tokens, row.deviations->lse) +
         cell(format_bytes(row.bytes_sent), 11) + cell(format_duration(row.compute_s), 10) +
         cell(format_duration(row.transfer_s), 10) + cell(format_duration(row.wait_s), 9) + cell(share, 10) +
         "\n";
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

std::string gradient_cells(const std::string& name, Index tokens, const GradientDeviations& off) {
  return cell(name, 4) + cell(std::to_string(tokens), 8) + error_cells(tokens, off.dq) +
         error_cells(tokens, off.dk) + error_cells(tokens, off.dv) + "\n";
}

/// One line of side_by_side: what it is, and one cell a ring.
std::string beside(const RunSummary& run, const std::string& what,
                   const std::function<std::string(const RingSummary&)>& of_ring) {
  std::string text = what + std::string(28 - what.size(), ' ');
  for (const RingSummary& ring : run.rings) text += cell(of_ring(ring), 22);
  return text + "\n";
}

std::string errors_beside(const RunSummary& run, const std::string& what,
                          const std::function<Deviation(const Comparison&)>& of_answer) {
  return beside(run, "    " + what,
                [&](const RingSummary& ring) { return error_cells(run.seq, of_answer(ring.comparison)); });
}

}  // namespace

std::string rank_table(const RingSummary& ring, const Paint& paint) {
  const std::string groups =
      "             ─── error of o ─── ── error of lse ──                 ─────── time in ───────  share of";
  const std::string columns =
      "rank  tokens   largest relative   largest relative       sent   compute  transfer     wait transfers";
  std::string text = paint.pale(groups) + "\n" + paint.bold(columns) + "\n";
  Row all{"all", ring.comparison.seq, &ring.comparison.overall, bytes_sent(ring), 0, 0, 0, 0};
  for (std::size_t i = 0; i < ring.ranks.size(); ++i) {
    const Row row = row_of(ring.ranks[i], ring.comparison.by_rank[i]);
    text += row_text(row);
    all.compute_s += row.compute_s;
    all.transfer_s += row.transfer_s;
    all.wait_s += row.wait_s;
    all.span_s += row.span_s;
  }
  return text + paint.bold(row_text(all));
}

std::string gradient_table(const RingSummary& ring, const Paint& paint) {
  if (!ring.comparison.gradients) return "";
  const GradientComparison& gradients = *ring.comparison.gradients;
  std::string text =
      "\n" + paint.pale("             ── error of dq ─── ── error of dk ─── ── error of dv ───") + "\n" +
      paint.bold("rank  tokens   largest relative   largest relative   largest relative") + "\n";
  for (std::size_t i = 0; i < ring.ranks.size(); ++i) {
    const RankResult& rank = ring.ranks[i];
    text += gradient_cells(std::to_string(rank.trace.rank), rank.tokens, gradients.by_rank[i]);
  }
  return text + paint.bold(gradient_cells("all", ring.comparison.seq, gradients.overall)) +
         paint.pale("relative: of that rank's part of one head, which may itself be next to nothing\n");
}

std::string side_by_side(const RunSummary& run, const Paint& paint) {
  if (run.rings.size() == 1) return "";
  const auto gradient = [](Deviation GradientDeviations::*of) {
    return [of](const Comparison& comparison) { return comparison.gradients->overall.*of; };
  };
  std::string text = paint.bold(
      beside(run, "Side by side", [](const RingSummary& ring) { return std::string(ring.kind.name); }));
  text += beside(run, "  time of the slowest rank",
                 [](const RingSummary& ring) { return format_duration(slowest_s(ring)); });
  text += beside(run, "  of it exposed, all ranks",
                 [](const RingSummary& ring) { return format_percent(exposed(ring)) + " %"; });
  text += beside(run, "  sent, all ranks",
                 [](const RingSummary& ring) { return format_bytes(bytes_sent(ring)); });
  text += "  error, largest and relative\n";
  text += errors_beside(run, "o", [](const Comparison& comparison) { return comparison.overall.o; });
  text += errors_beside(run, "lse", [](const Comparison& comparison) { return comparison.overall.lse; });
  if (run.backward()) {
    text += errors_beside(run, "dq", gradient(&GradientDeviations::dq));
    text += errors_beside(run, "dk", gradient(&GradientDeviations::dk));
    text += errors_beside(run, "dv", gradient(&GradientDeviations::dv));
  }
  return text + paint.pale("exposed: in transfers and waits, which no work hides\n") + "\n";
}

}  // namespace course::demo
