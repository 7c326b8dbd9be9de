#include "demo/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "demo/exchange.hpp"
#include "reference/hops.hpp"
#include "ring/shards.hpp"
#include "trace/timeline.hpp"

namespace course::demo {

namespace {

using program::Colour;
using program::painted;
using timeline::format_duration;
using timeline::format_percent;

/// From the first begin to the last end, which may be another stream's than the last begin.
double span_s(const RankTrace& trace) {
  if (trace.spans.empty()) return 0;
  const auto last = std::ranges::max_element(trace.spans, {}, &Span::end_s);
  return last->end_s - std::ranges::min_element(trace.spans, {}, &Span::begin_s)->begin_s;
}

/// Nobody counts what NCCL sends between devices.
std::string sent(const RunResult& run, std::span<const RankRecord> ranks) {
  return run.shown.on_device() ? "-" : format_bytes(bytes_sent(ranks));
}

/// Columns as wide as their widest cell, the first one to the left and the others to the right; the first
/// line is bold, the last pale.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::string line;
    for (std::size_t column = 0; column < rows[row].size(); ++column) {
      std::size_t width = 0;
      for (const auto& other : rows) width = std::max(width, other[column].size());
      line += column == 0 ? fmt::format("{:<{}}", rows[row][0], width)
                          : fmt::format("  {:>{}}", rows[row][column], width);
    }
    const bool first = row == 0, last = row + 1 == rows.size();
    text += (first || last ? painted(line, first ? Colour::Bold : Colour::Grey) : line) + "\n";
  }
  return text;
}

std::string scientific(double number) {
  return fmt::format("{:.1e}", number);
}

/// A line for each rank and one for all of them. `cells` makes what stands beside the tokens: of a rank by
/// its number, of all by the number of ranks.
std::string table_by_rank(const RunResult& run, std::vector<std::string> heads,
                          const std::function<std::vector<std::string>(std::size_t)>& cells) {
  const std::vector<int> tokens = run.shown.layout().shard_tokens();
  heads.insert(heads.begin(), {"rank", "tokens"});
  std::vector<std::vector<std::string>> rows{std::move(heads)};
  for (std::size_t rank = 0; rank <= tokens.size(); ++rank) {
    auto& row = rows.emplace_back(cells(rank));
    const bool all = rank == tokens.size();
    row.insert(row.begin(), {all ? "all" : std::to_string(rank),
                             std::to_string(all ? run.shown.input.seq() : tokens[rank])});
  }
  return table(rows);
}

/// Traffic and times of one rank or all.
std::vector<std::string> time_cells(const RunResult& run, std::span<const RankRecord> ranks) {
  const auto sum = [&](const auto& seconds_of) {
    return std::transform_reduce(ranks.begin(), ranks.end(), 0.0, std::plus(), seconds_of);
  };
  const auto spent_s = [&](Span::Kind kind) {
    return sum([&](const RankRecord& rank) { return total_s(rank.trace, kind); });
  };
  const double transfer_s = spent_s(Span::Kind::Transfer);
  const double all_s = sum([](const RankRecord& rank) { return span_s(rank.trace); });
  return {sent(run, ranks), format_duration(spent_s(Span::Kind::Compute)), format_duration(transfer_s),
          format_duration(spent_s(Span::Kind::Wait)),
          all_s > 0 ? format_percent(transfer_s / all_s) + " %" : "-"};
}

/// What a rank has of a table of work, or all have: in all, and over an equal share of it. That of all ranks
/// is of steps that last as long as their slowest rank's.
struct Share {
  double work, of_equal;
};
Share share(const WorkTable& work, std::size_t rank) {
  double all = 0;
  for (const std::vector<double>& steps : work) all += total(steps);
  if (rank == work.size()) return {all, slowest_steps(work)};
  const double own = total(work[rank]);
  return {own, all > 0 ? own * static_cast<double>(work.size()) / all : 0};
}

double largest_step(const WorkTable& work, std::size_t rank) {
  if (rank < work.size()) return *std::ranges::max_element(work[rank]);
  double largest = 0;
  for (const std::vector<double>& steps : work) largest = std::max(largest, *std::ranges::max_element(steps));
  return largest;
}

/// A rank's number, or behind the last rank the sum.
template <class Number>
Number one_or_all(const std::vector<Number>& by_rank, std::size_t rank) {
  return rank < by_rank.size() ? by_rank[rank] : std::reduce(by_rank.begin(), by_rank.end());
}

double not_computing_s(std::span<const RankRecord> ranks) {
  double seconds = 0;
  for (const RankRecord& rank : ranks)
    seconds += total_s(rank.trace, Span::Kind::Transfer) + total_s(rank.trace, Span::Kind::Wait);
  return seconds;
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

double slowest_s(const RingResult& ring) {
  double seconds = 0;
  for (const RankRecord& rank : ring.ranks) seconds = std::max(seconds, span_s(rank.trace));
  return seconds;
}

double exposed(const RunResult& run, const RingResult& ring) {
  if (run.shown.backend != "mpi") return std::numeric_limits<double>::quiet_NaN();
  return timed::exposed_share(slowest_s(ring), timed::computation_s(ring.ranks));
}

std::int64_t bytes_sent(std::span<const RankRecord> ranks) {
  return std::transform_reduce(ranks.begin(), ranks.end(), std::int64_t{0}, std::plus(),
                               std::mem_fn(&RankRecord::bytes_sent));
}

std::vector<int> hops_of_blocks(const Demonstration& shown) {
  if (shown.is_packed()) return reference::hops_needed(shown.layout(), shown.mask());
  return std::vector<int>(shown.ranks, shown.ranks - 1);
}

std::vector<std::int64_t> bytes_of_ring(const Demonstration& shown) {
  const Layout layout = shown.layout();
  const Index numbers_of_token = shown.input.latent ? shown.input.latent->latent.extent(2)
                                                    : 2 * shown.input.kv_heads() * shown.input.head_dim();
  const std::int64_t block =
      numbers_of_token * largest_shard(layout.shard_tokens()) * static_cast<Index>(sizeof(float));
  // The sum of the sinks' gradients, as the MPI layer counts an MPI_Allreduce.
  const std::int64_t sinks = std::ssize(shown.row.bias.sinks) * static_cast<Index>(sizeof(float));
  const std::int64_t summed = shown.backward ? (shown.ranks - 1) * (2 * sinks / shown.ranks) : 0;
  std::vector<std::int64_t> bytes;
  for (const auto& [keys, gradients] : blocks_to_send(hops_of_blocks(shown)))
    bytes.push_back(block * (keys + (shown.backward ? keys + gradients : 0)) + summed);
  return bytes;
}

std::int64_t bytes_needed(const RunResult& run) {
  const std::vector<std::int64_t> bytes =
      run.shown.is_exchange() ? shares_of(run.shown).bytes_to_send() : bytes_of_ring(run.shown);
  return std::reduce(bytes.begin(), bytes.end());
}

WorkTable scores_to_compute(const Demonstration& shown) {
  return shown.is_exchange() ? scores_of_exchange(shown) : scores_by_step(shown.layout(), shown.mask());
}

std::string ring_table(const RunResult& run) {
  const bool says_needed = run.shown.what != RingFor::Everything && run.shown.what != RingFor::Causal;
  std::vector<std::vector<std::string>> rows{{run.shown.is_exchange() ? "exchange" : "ring",
                                              run.shown.simulated() ? "model's time" : "time", "exposed",
                                              "sent"}};
  if (says_needed) rows.front().push_back("needed");
  const std::size_t before_outputs = rows.front().size();
  for (const RingResult& ring : run.rings) {
    const double share = exposed(run, ring);
    rows.push_back({ring.name, format_duration(slowest_s(ring)),
                    std::isnan(share) ? "-" : format_percent(share) + " %", sent(run, ring.ranks)});
    if (says_needed) rows.back().push_back(format_bytes(bytes_needed(run)));
    for (const OutputComparison& output : ring.comparison.outputs)
      rows.back().push_back(scientific(output.overall.relative));
  }
  rows.emplace_back(before_outputs).front() = "allowed";
  for (const OutputComparison& output : run.rings.front().comparison.outputs) {
    rows.front().push_back(rows.front().size() == before_outputs ? "error: " + output.name : output.name);
    rows.back().push_back(scientific(output.tolerance));
  }
  return table(rows);
}

std::string time_table(const RunResult& run, std::span<const RankRecord> ranks) {
  return table_by_rank(run, {"sent", "compute", "transfer", "wait", "share of transfers"},
                       [&](std::size_t rank) {
                         return time_cells(run, rank < ranks.size() ? ranks.subspan(rank, 1) : ranks);
                       });
}

std::string error_table(const RunResult& run, std::span<const OutputComparison> outputs) {
  const std::vector<int> tokens = run.shown.layout().shard_tokens();
  std::vector<std::string> heads;
  for (const OutputComparison& output : outputs)
    heads.insert(heads.end(), {"error of " + output.name + ": largest", "relative"});
  return table_by_rank(run, heads, [&](std::size_t rank) {
    std::vector<std::string> cells;
    for (const OutputComparison& output : outputs) {
      const Deviation& off = rank < tokens.size() ? output.by_rank[rank] : output.overall;
      const bool nothing = rank < tokens.size() && tokens[rank] == 0;
      cells.insert(cells.end(),
                   {nothing ? "-" : scientific(off.largest), nothing ? "-" : scientific(off.relative)});
    }
    return cells;
  });
}

std::string load_table(const RunResult& run, const RingResult& ring) {
  const WorkTable scores = scores_to_compute(run.shown);
  const WorkTable seconds = seconds_by_step(ring.ranks, owners_by_step(run.shown));
  const std::span ranks(ring.ranks);
  std::vector<std::string> heads{"scores",   "largest step",   "of equal share",
                                 "CPU time", "of equal share", "transfer, wait"};
  const bool timed_on_cores = run.shown.backend == "mpi";
  std::vector<int> hops;
  if (run.shown.is_packed()) {
    hops = hops_of_blocks(run.shown);
    heads.emplace_back("hops");
  }
  return table_by_rank(run, heads, [&](std::size_t rank) {
    const Share to_do = share(scores, rank), done = share(seconds, rank);
    std::vector<std::string> cells{
        fmt::format("{:.0f}", to_do.work),
        fmt::format("{:.0f}", largest_step(scores, rank)),
        fmt::format("{:.2f}", to_do.of_equal),
        timed_on_cores ? format_duration(done.work) : "-",
        timed_on_cores ? fmt::format("{:.2f}", done.of_equal) : "-",
        format_duration(not_computing_s(rank < ranks.size() ? ranks.subspan(rank, 1) : ranks))};
    if (!hops.empty())
      cells.push_back(
          std::to_string(rank < hops.size() ? hops[rank] : std::accumulate(hops.begin(), hops.end(), 0)));
    return cells;
  });
}

std::string exchange_table(const RunResult& run, const RingResult& ring) {
  const ExchangeShares shares = shares_of(run.shown);
  const WorkTable scores = scores_to_compute(run.shown),
                  seconds = seconds_by_step(ring.ranks, owners_by_step(run.shown));
  const std::vector<std::int64_t> of_ring = bytes_of_ring(run.shown);
  std::vector<std::string> heads{"heads", "of equal share", "key heads", "CPU time", "of equal share"};
  for (const Way& way : shares.ways) heads.push_back(way.name);
  heads.emplace_back("ring");
  return table_by_rank(run, heads, [&](std::size_t rank) {
    const Share to_do = share(scores, rank), done = share(seconds, rank);
    const Index times = rank < shares.heads.size() ? 1 : shares.times;
    std::vector<std::string> cells{std::to_string(one_or_all(shares.heads, rank) / times),
                                   fmt::format("{:.2f}", to_do.of_equal),
                                   std::to_string(one_or_all(shares.kv_heads, rank) / times),
                                   format_duration(done.work), fmt::format("{:.2f}", done.of_equal)};
    for (const Way& way : shares.ways) cells.push_back(format_bytes(one_or_all(way.bytes, rank)));
    cells.push_back(format_bytes(one_or_all(of_ring, rank)));
    return cells;
  });
}

}  // namespace course::demo
