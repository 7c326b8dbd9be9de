#include "demo/tables.hpp"

#include <fmt/format.h>

#include <algorithm>

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

Row row_of(const RankRecord& rank, Index tokens, const Deviations& deviations) {
  return {std::to_string(rank.trace.rank),
          tokens,
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

/// One line of ring_table.
std::string ring_row(const std::string& name, const std::string& time, const std::string& exposed,
                     const std::string& sent, const std::vector<std::string>& errors) {
  std::string text = name + std::string(10 - std::min<std::size_t>(10, name.size()), ' ') + cell(time, 9) +
                     cell(exposed, 8) + cell(sent, 10);
  for (std::size_t i = 0; i < errors.size(); ++i) text += cell(errors[i], i == 0 ? 10 : 8);
  return text + "\n";
}

std::vector<std::string> error_texts(const std::vector<double>& errors) {
  std::vector<std::string> texts;
  for (const double error : errors) texts.push_back(fmt::format("{:.1e}", error));
  return texts;
}

std::vector<double> relative_errors(const Comparison& comparison) {
  std::vector<double> errors{comparison.overall.o.relative, comparison.overall.lse.relative};
  if (const auto& gradients = comparison.gradients) {
    const GradientDeviations& off = gradients->overall;
    errors.insert(errors.end(), {off.dq.relative, off.dk.relative, off.dv.relative});
  }
  return errors;
}

std::vector<double> allowed_errors(const Comparison& comparison) {
  std::vector<double> allowed{comparison.tolerance_o, comparison.tolerance_lse};
  if (const auto& gradients = comparison.gradients)
    allowed.insert(allowed.end(),
                   {gradients->tolerance_dq, gradients->tolerance_dk, gradients->tolerance_dv});
  return allowed;
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
    const Row row = row_of(ring.ranks[i], ring.tokens[i], ring.comparison.by_rank[i]);
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
    text += gradient_cells(std::to_string(ring.ranks[i].trace.rank), ring.tokens[i], gradients.by_rank[i]);
  }
  return text + paint.bold(gradient_cells("all", ring.comparison.seq, gradients.overall)) +
         paint.pale("relative: of that rank's part of one head, which may itself be next to nothing\n");
}

std::string ring_table(const RunSummary& run, const Paint& paint) {
  std::vector<std::string> outputs{"error: o", "lse"};
  if (run.backward()) outputs.insert(outputs.end(), {"dq", "dk", "dv"});
  std::string text = paint.bold(ring_row("ring", "time", "exposed", "sent", outputs));
  for (const RingSummary& ring : run.rings) {
    text += ring_row(std::string(ring.kind.name), format_duration(slowest_s(ring)),
                     format_percent(exposed(ring)) + " %", format_bytes(bytes_sent(ring)),
                     error_texts(relative_errors(ring.comparison)));
  }
  return text + paint.pale(ring_row("allowed", "", "", "",
                                    error_texts(allowed_errors(run.rings.front().comparison))));
}

}  // namespace course::demo
