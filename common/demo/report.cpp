#include "demo/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "demo/tables.hpp"

namespace course::demo {

namespace {

constexpr double poor_baseline = 1e-3;
constexpr int widest_timeline = 140;

/// "4 MPI ranks on one host with 2 cores".
std::string where(const RunSummary& run) {
  const std::vector<RankRecord>& all = run.rings.front().ranks;
  const std::string ranks = plural(static_cast<Index>(all.size()), "MPI rank");
  if (const std::size_t hosts = hosts_of(run); hosts > 1) return fmt::format("{} on {} hosts", ranks, hosts);
  return fmt::format("{} on one host with {}", ranks, plural(all[0].cores, "core"));
}

/// "04 (blocks) and 05 (ring), 06 and 07 (the same backward)".
std::string lessons(const RunSummary& run) {
  std::vector<std::string> forward{"04 (blocks)"};
  std::vector<std::string> backward{"06"};
  for (const RingSummary& ring : run.rings) {
    const std::string what = run.rings.size() == 1 ? "ring" : fmt::format("{} ring", ring.kind.name);
    forward.push_back(fmt::format("{} ({})", ring.kind.lesson, what));
    backward.emplace_back(ring.kind.backward_lesson);
  }
  return listed(forward) + (run.backward() ? ", " + listed(backward) + " (the same backward)" : "");
}

/// "each ring's fastest of 8 runs"
std::string times(const RunSummary& run) {
  return fmt::format("{} fastest of {} runs", run.rings.size() == 1 ? "the" : "each ring's", run.runs);
}

std::string heading(const RunSummary& run, const Paint& paint) {
  return paint.bold(fmt::format("Ring attention, forward{}, not causal: {}{}",
                                run.backward() ? " and backward" : "", where(run),
                                run.mine ? ", your own code" : "")) +
         fmt::format("\n{}: {}\n", to_string(run.shape), run.input);
}

/// What the heading leaves out.
std::string details(const RunSummary& run) {
  std::string text = fmt::format("  code   {} lessons {}\n  times  ",
                                 run.mine ? "your own" : "the solutions of", lessons(run));
  if (run.runs > 1) text += times(run) + (run.rings.size() == 1 ? "; " : ", in turns; ");
  text += "a transfer includes waiting for the neighbour\n";
  if (share_cores(run)) {
    text +=
        "         more ranks than cores (mpirun oversubscribes): ranks take turns, and most of a transfer or "
        "wait is such waiting\n";
  }
  return text + "\n";
}

/// "Blocking ring", over what is that ring's alone; nothing where there is no other.
std::string ring_heading(const RunSummary& run, const RingSummary& ring, const Paint& paint) {
  if (run.rings.size() == 1) return "";
  std::string name = fmt::format("{} ring", ring.kind.name);
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return paint.bold(name) + "\n";
}

std::string tables(const RunSummary& run, const Paint& paint) {
  std::string text;
  for (const RingSummary& ring : run.rings)
    text += ring_heading(run, ring, paint) + rank_table(ring, paint) + gradient_table(ring, paint) + "\n";
  return text;
}

/// What was compared, the same of every ring: "every query row".
std::string coverage(const Comparison& comparison) {
  std::string text =
      comparison.rows == comparison.seq
          ? "every query row"
          : fmt::format("{} of {} query rows of each head, evenly spread", comparison.rows, comparison.seq);
  if (comparison.gradients && comparison.gradients->heads_compared < comparison.gradients->heads) {
    text += fmt::format(", and in the gradients of {} of {} heads", comparison.gradients->heads_compared,
                        comparison.gradients->heads);
  }
  return text;
}

/// Which of a ring's outputs are not right.
std::vector<std::string> wrong_outputs(const Comparison& comparison) {
  std::vector<std::string> names;
  const auto look = [&](const char* name, const Deviation& off, double tolerance) {
    if (!(off.relative <= tolerance)) names.emplace_back(name);
  };
  look("o", comparison.overall.o, comparison.tolerance_o);
  look("lse", comparison.overall.lse, comparison.tolerance_lse);
  if (const auto& gradients = comparison.gradients) {
    look("dq", gradients->overall.dq, gradients->tolerance_dq);
    look("dk", gradients->overall.dk, gradients->tolerance_dk);
    look("dv", gradients->overall.dv, gradients->tolerance_dv);
  }
  return names;
}

/// "Right in every query row, compared with float64 attention (Eigen); times: the fastest of 8 runs"
std::string conclusion(const RunSummary& run, const Paint& paint) {
  const Comparison& first = run.rings.front().comparison;
  std::vector<std::string> wrong;
  for (const RingSummary& ring : run.rings) {
    if (!ring.comparison.passed())
      wrong.push_back(
          fmt::format("{} of the {} ring", listed(wrong_outputs(ring.comparison)), ring.kind.name));
  }
  std::string text = wrong.empty() ? paint.right("Right") + " in "
                                   : paint.wrong("WRONG") + ": " + listed(wrong) + ", looking at ";
  text += coverage(first) + ", compared with float64 attention (Eigen)";
  if (run.runs > 1) text += "; times: " + times(run);
  if (first.baseline.o.relative > poor_baseline)
    text += "\nscores this large are beyond float32, whatever the order of the computation";
  return text + "\n";
}

std::string verdict(const Comparison& comparison, const Paint& paint) {
  const auto line = [&](const char* name, const Deviation& off, const Deviation& baseline, double tolerance) {
    return fmt::format(
        "  {:<3} is {}: relative error {:.1e} in the worst head; plain float32 attention has {:.1e}, allowed "
        "is {:.1e}\n",
        name, paint.verdict(off.relative <= tolerance), off.relative, baseline.relative, tolerance);
  };
  std::string text = line("o", comparison.overall.o, comparison.baseline.o, comparison.tolerance_o);
  text += line("lse", comparison.overall.lse, comparison.baseline.lse, comparison.tolerance_lse);
  if (const auto& gradients = comparison.gradients) {
    text += line("dq", gradients->overall.dq, gradients->baseline.dq, gradients->tolerance_dq);
    text += line("dk", gradients->overall.dk, gradients->baseline.dk, gradients->tolerance_dk);
    text += line("dv", gradients->overall.dv, gradients->baseline.dv, gradients->tolerance_dv);
  }
  return text;
}

std::string verdicts(const RunSummary& run, const Paint& paint) {
  std::string text;
  for (const RingSummary& ring : run.rings)
    text += ring_heading(run, ring, paint) + verdict(ring.comparison, paint);
  return text + "\n";
}

std::string remarks(const RingSummary& ring, const std::string& whose) {
  std::string text;
  for (const RankRecord& rank : ring.ranks) {
    const std::string who = fmt::format("  {}rank {}: ", whose, rank.trace.rank);
    if (rank.collective_bytes > 0) {
      text += who + fmt::format("received {} in collectives, which a ring does without\n",
                                format_bytes(rank.collective_bytes));
    }
    for (const std::string& fact : rank.facts) text += who + fact + "\n";
  }
  return text;
}

std::string remarks(const RunSummary& run) {
  std::string text;
  for (const RingSummary& ring : run.rings) {
    text += remarks(ring, run.rings.size() == 1 ? "" : fmt::format("{} ring, ", ring.kind.name));
    if (bytes_sent(ring) == bytes_sent(run.rings.front())) continue;
    text += fmt::format(
        "  the {} ring sent {} bytes and the {} one {}: one of them pads, or makes a hop more\n",
        ring.kind.name, bytes_sent(ring), run.rings.front().kind.name, bytes_sent(run.rings.front()));
  }
  return text.empty() ? "" : "Noticed\n" + text;
}

std::string pictures(const RunSummary& run, const Page& page) {
  const std::string note = timeline_note(run);
  return terminal_timelines(joined_timelines(run), std::min(page.columns, widest_timeline), page.colour) +
         (note.empty() ? "" : note + "\n");
}

/// "Written: out/o.npy, lse.npy"
std::string files_text(const SavedFiles& saved) {
  if (!saved.why_not.empty()) return "Nothing was written: " + saved.why_not + "\n";
  std::string text;
  for (const std::string& name : saved.names)
    text += text.empty() ? "Written: " + (saved.folder / name).string() : ", " + name;
  return text + "\n";
}

}  // namespace

std::string report_text(const RunSummary& run, const SavedFiles& saved, const Page& page) {
  const Paint paint(page.colour);
  std::string text = heading(run, paint);
  if (page.verbose) text += details(run) + tables(run, paint) + verdicts(run, paint);
  return text + ring_table(run, paint) + conclusion(run, paint) + remarks(run) + "\n" + pictures(run, page) +
         files_text(saved);
}

}  // namespace course::demo
