#include "lab/laboratory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "timed/timed.hpp"

namespace course::lab {

namespace {

constexpr const char* shards_name = "shards";  ///< of the case that the others take their inputs from

/// The measurements of one setting.
class Setting {
 public:
  Setting(const Laboratory& laboratory, const Starter& starter, const Say& say)
      : laboratory_(laboratory), ranks_(laboratory.ranks), starter_(starter), say_(say) {}

  Measured measure(double work_over_transfer) const {
    Measured measured;
    measured.work_over_transfer = work_over_transfer;
    choose_workload(measured);
    const Case alone = compute_alone(measured.work);
    const std::vector<Case> cases{alone,
                                  ring(alone, laboratory_.blocking, "idle"),
                                  ring(alone, laboratory_.overlapped, "idle"),
                                  ring(alone, laboratory_.blocking, ""),
                                  ring(alone, laboratory_.overlapped, "without_progress"),
                                  ring(alone, laboratory_.overlapped, "")};
    const std::array names{"compute alone",
                           "blocking hops",
                           "overlapped hops",
                           "blocking",
                           "nonblocking, no progress",
                           "nonblocking with progress"};
    std::vector<timed::Call> all = in_turns(cases, rounds(measured), [&](int which, int round) {
      say_(fmt::format("work at {:g} times the transfer: {}, round {}", work_over_transfer,
                       names.at(static_cast<std::size_t>(which)), round));
    });
    for (std::size_t i = 0; i < all.size(); ++i) all[i].name = names[i];
    measured.compute_alone_s = all[0].seconds;
    measured.blocking_transfers_s = all[1].seconds;
    measured.overlapped_transfers_s = all[2].seconds;
    measured.rings.assign(all.begin() + 3, all.end());
    return measured;
  }

 private:
  static constexpr Index most_tokens = 65536, least_tokens = 64;
  static constexpr double shortest_block_s = 0.04;

  /// As many blocks as the ring has, all of the rank's own.
  Case compute_alone(const timed::Extents& work) const {
    const std::vector<int> tokens(static_cast<std::size_t>(ranks_), static_cast<int>(work.tokens));
    Case made = timed::generated_case("own_blocks", tokens, work.heads, work.head_dim);
    made.arguments["blocks"] = {static_cast<double>(ranks_)};
    made.subject = laboratory_.block.library;
    made.name = shards_name;
    return made;
  }

  static Case ring(const Case& alone, const timed::Code& code, const char* block) {
    Case made{{code.ring, alone.arguments}};
    made.inputs.resize(alone.inputs.size());
    for (const char* name : {"q", "k", "v"}) made.from[name] = shards_name;
    made.subject = code.library;
    made.block_mode = block;
    return made;
  }

  /// Medians compare: on a machine that is now and then a little faster or slower the fastest call of one
  /// ring and of another differ by luck.
  std::vector<timed::Call> in_turns(const std::vector<Case>& cases, int rounds,
                                    const std::function<void(int, int)>& on_turn) const {
    constexpr double quiet_limit_s = 60;  // a block or a hop takes seconds where either is slow
    LauncherOptions options;
    options.quiet_limit_s = quiet_limit_s;
    options.launch_limit_s = 2 * longest_setting_s;  // the machine may get busier
    options.timed = TimedPlay{rounds, true, laboratory_.block.library, {}};
    options.starter = starter_;
    // A round begins with the first case. Cases take longer than the time from one look to the next.
    options.on_look = [&, round = 1, latest = 0](const LaunchView& view) mutable {
      const int now = view.ranks.empty() ? -1 : view.ranks[0].case_index;
      if (now < 0) return;
      if (now < latest) ++round;
      latest = now;
      on_turn(now, round);
    };
    std::vector<timed::Call> calls;
    for (const Outcome& outcome : timed::play(cases, options)) calls.push_back(timed::call_of(outcome));
    return calls;
  }

  RingParts parts(const Measured& measured) const {
    return {ranks_, timed::forward_operations(measured.work) / measured.flops,
            hop_bytes(measured.work) / measured.bytes_per_s};
  }

  int rounds(const Measured& measured) const {
    constexpr double enough_s = 60, most_rounds = 60;
    return static_cast<int>(
        std::clamp<double>(enough_s / round_s(parts(measured)), least_rounds, most_rounds));
  }

  /// F and B of a workload, while all ranks compute, and while all send.
  void measure_speeds(Measured& measured) const {
    const Case alone = compute_alone(measured.work);
    const std::vector<timed::Call> both =
        in_turns({alone, ring(alone, laboratory_.overlapped, "idle")}, speed_calls,
                 [&](int, int) { say_("measuring the speed of a rank and of the link"); });
    measured.flops = ranks_ * timed::forward_operations(measured.work) / both[0].seconds;
    measured.bytes_per_s = (ranks_ - 1) * hop_bytes(measured.work) / both[1].seconds;
  }

  /// Speeds depend a little on the size, so the size is chosen twice.
  void choose_workload(Measured& measured) const {
    measured.work = {.heads = 1, .tokens = 2048, .head_dim = 16};
    measure_speeds(measured);
    size_for(measured);
    measure_speeds(measured);
    size_for(measured);
  }

  void size_for(Measured& measured) const {
    const double tokens = tokens_for(measured.work_over_transfer, measured.flops, measured.bytes_per_s);
    if (tokens > most_tokens) {
      throw std::runtime_error(fmt::format(
          "the link gives each rank {:.2g} MB/s: to hide its transfers takes {:.0f} tokens a rank, "
          "more than the {} this laboratory has time for; a larger --bandwidth needs fewer",
          measured.bytes_per_s / 1e6, tokens, most_tokens));
    }
    timed::Extents& work = measured.work;
    work.tokens = std::max<Index>(least_tokens, static_cast<Index>(std::lround(tokens / 16)) * 16);
    work.heads = 1;
    const double head_s = timed::forward_operations(work) / measured.flops;
    work.heads = std::clamp<Index>(static_cast<Index>(std::ceil(shortest_block_s / head_s)), 1, 64);
    require_time(measured);
  }

  /// Ranks that share cores and a link make the time of a ring grow with their square.
  void require_time(const Measured& measured) const {
    const double seconds = setting_s(parts(measured));
    if (seconds <= longest_setting_s) return;
    throw std::runtime_error(fmt::format(
        "{} ranks with {} tokens each, which hide their transfers here, would take {:.0f} minutes, more than "
        "the {:.0f} this laboratory has time for; fewer --ranks or a larger --bandwidth take less",
        ranks_, measured.work.tokens, std::ceil(seconds / 60), longest_setting_s / 60));
  }

  const Laboratory& laboratory_;
  int ranks_;
  const Starter& starter_;
  const Say& say_;
};

constexpr double hidden_share = 0.03, lost_share = 0.30, model_share = 0.15;
constexpr std::size_t blocking = 0, progressed = 2;

double per_hop(double seconds, int ranks) {
  return ranks > 1 ? seconds / (ranks - 1) : 0;
}

std::string few_hops(int ranks) {
  return "with " + std::to_string(ranks) +
         " ranks there are too few hops beside the blocks to lose as much; --ranks shows more";
}

/// What the model says of a ring whose messages take turns with its blocks, or travel beside them.
double predicted_s(const Measured& measured, int ranks, std::size_t ring) {
  const double work_s = measured.compute_alone_s / ranks;
  if (ring == progressed) {
    return overlapped_s({ranks, work_s, per_hop(measured.overlapped_transfers_s, ranks)});
  }
  const double hops_s = ring == blocking ? measured.blocking_transfers_s : measured.overlapped_transfers_s;
  return blocking_s({ranks, work_s, per_hop(hops_s, ranks)});
}

}  // namespace

std::vector<Measured> measure(const Laboratory& laboratory, const Starter& starter, const Say& say) {
  std::vector<Measured> settings;
  for (const double work_over_transfer : {2.0, 0.5})
    settings.push_back(Setting(laboratory, starter, say).measure(work_over_transfer));
  return settings;
}

Reading read(const Measured& measured, int ranks) {
  using timed::exposed_share;
  Reading finding{measured.compute_alone_s / ranks, per_hop(measured.overlapped_transfers_s, ranks), {}};
  for (std::size_t ring = 0; ring < measured.rings.size(); ++ring) {
    finding.exposed.push_back({exposed_share(measured.rings[ring].seconds, measured.compute_alone_s),
                               exposed_share(predicted_s(measured, ranks, ring), measured.compute_alone_s)});
  }
  return finding;
}

std::vector<Target> targets(const std::vector<Measured>& settings, int ranks) {
  std::vector<Target> all;
  for (const Measured& measured : settings) {
    const Reading finding = read(measured, ranks);
    const double hidden = finding.exposed.at(progressed).measured;
    if (measured.work_over_transfer > 1) {
      all.push_back({"with progress: exposed, at most", hidden, hidden_share, hidden <= hidden_share});
      const Exposed& lost = finding.exposed.at(blocking);
      all.push_back({"blocking: exposed, at least", lost.measured, lost_share, lost.measured >= lost_share,
                     lost.predicted < lost_share ? few_hops(ranks) : ""});
    } else {
      const double off = std::abs((1 + hidden) / (1 + finding.exposed.at(progressed).predicted) - 1);
      all.push_back({"with progress: time off the model's, at most", off, model_share, off <= model_share});
    }
  }
  return all;
}

}  // namespace course::lab
