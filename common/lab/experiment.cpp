#include "lab/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include "demo/block_entry.hpp"
#include "demo/call_record.hpp"
#include "demo/exchange.hpp"
#include "demo/loading.hpp"
#include "demo/ring_entry.hpp"
#include "lab/repeated.hpp"
#include "lab/subjects.hpp"
#include "player/adapter.hpp"
#include "player/graded_blocks.hpp"
#include "protocol/case.hpp"
#include "ring/shards.hpp"
#include "tensor/npy.hpp"

namespace course::lab {

namespace {

using demo::rank_of;
using demo::size_of;

constexpr int trace_calls = 8;

const TiledBlockAttention& tiled_block(const Plan& plan) {
  return *demo::require_entry<decltype(course_demo_tiled_block)>(plan.block, "course_demo_tiled_block")();
}

bool says_when_it_computes(const Recording& recording) {
  const std::vector<Span>& spans = recording.result.trace.spans;
  return std::any_of(spans.begin(), spans.end(),
                     [](const Span& span) { return span.kind == Span::Kind::Compute; });
}

/// What a ring does, to be drawn.
CallResult drawn(const std::string& name, const Repeated::Call& call, MPI_Comm comm) {
  Repeated calls(name, call, Repeated::Look::Fastest, comm);
  for (int i = 0; i < trace_calls; ++i) calls.again();
  if (!says_when_it_computes(calls.recording())) take_gaps_for_compute(calls.recording());
  return calls.collect();
}

/// One rank's tensors of a forward ring, with numbers as they may come out of a layer norm.
class Shard {
 public:
  Shard(const Workload& work, std::vector<int> shard_tokens, int rank)
      : shard_tokens_(std::move(shard_tokens)), shape_{work.heads, shard_tokens_[rank], work.head_dim} {
    std::mt19937 generator(static_cast<unsigned>(rank) + 1);
    std::normal_distribution<float> normal;
    for (Tensor* tensor : {&q_, &k_, &v_}) {
      *tensor = Tensor(shape_);
      for (float& value : tensor->values()) value = normal(generator);
    }
    o_ = Tensor(shape_);
    lse_ = Tensor({shape_[0], shape_[1]});
  }

  HeadsView<const float> q() { return q_.heads(); }
  HeadsView<const float> k() { return k_.heads(); }
  HeadsView<const float> v() { return v_.heads(); }
  HeadsView<float> o() { return o_.heads(); }
  MatrixView<float> lse() { return lse_.matrix(); }
  const std::vector<int>& shard_tokens() const { return shard_tokens_; }

 private:
  std::vector<int> shard_tokens_;
  Shape shape_;
  Tensor q_, k_, v_, o_, lse_;
};

/// The same computation, timed, for a ring that has no use for tiles: one span a block.
BlockAttention timed_whole(const TiledBlockAttention& block, ComputeLog& log) {
  return demo::timed(whole(block), log);
}

/// Tiles, and nobody told between them.
TiledBlockAttention without_progress(const TiledBlockAttention& block) {
  return {[&block](HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v, int owner,
                   AttentionState& state,
                   const BetweenTiles&) { block.accumulate(q, k, v, owner, state, [] {}); },
          block.finish};
}

/// What the plan's shared objects hold.
struct Rings {
  decltype(&course_demo_ring) blocking = nullptr;
  decltype(&course_demo_overlapped_ring) overlapped = nullptr;
};

/// Calls of one ring on one shard, each as something to record.
class RingCalls {
 public:
  RingCalls(const Rings& rings, Shard& shard, MPI_Comm comm) : rings_(rings), shard_(shard), comm_(comm) {}

  Repeated::Call blocking(const TiledBlockAttention& block) {
    return [this, &block](ComputeLog& log) {
      rings_.blocking(shard_.q(), shard_.k(), shard_.v(), shard_.o(), shard_.lse(), shard_.shard_tokens(),
                      timed_whole(block, log), comm_);
    };
  }

  Repeated::Call overlapped(const TiledBlockAttention& block) {
    return [this, &block](ComputeLog& log) {
      rings_.overlapped(shard_.q(), shard_.k(), shard_.v(), shard_.o(), shard_.lse(), shard_.shard_tokens(),
                        demo::timed(block, log), comm_);
    };
  }

  /// As many blocks as the ring has, all of the rank's own.
  Repeated::Call compute_alone(const TiledBlockAttention& block) {
    return [this, &block](ComputeLog& log) {
      const BlockAttention inside = timed_whole(block, log);
      AttentionState state(shard_.q().heads(), shard_.q().seq(), shard_.q().head_dim());
      for (int hop = 0; hop < size_of(comm_); ++hop)
        inside.accumulate(shard_.q(), shard_.k(), shard_.v(), rank_of(comm_), state);
      inside.finish(state, shard_.o(), shard_.lse());
    };
  }

 private:
  Rings rings_;
  Shard& shard_;
  MPI_Comm comm_;
};

/// Logs the computation that an adapter hands to the lesson's function, where the adapter tells of it.
class LoggingWatch : public ComputeObserver {
 public:
  explicit LoggingWatch(ComputeLog& log) : log_(log) {}
  void begin(std::span<const ComputeBuffer>) override { log_.begin("block"); }
  void end() override { log_.end(); }

 private:
  ComputeLog& log_;
};

/// How long a call takes.
double seconds_of(const Repeated::Call& call, int calls, MPI_Comm comm) {
  Repeated repeated("", call, Repeated::Look::Median, comm);
  for (int i = 0; i < calls; ++i) repeated.again();
  return repeated.seconds();
}

/// The laboratory on one link.
class Laboratory {
 public:
  Laboratory(const Plan& plan, const Say& say, MPI_Comm comm)
      : rings_{demo::require_entry<decltype(course_demo_ring)>(plan.subject, "course_demo_ring"),
               demo::require_entry<decltype(course_demo_overlapped_ring)>(plan.overlap,
                                                                          "course_demo_overlapped_ring")},
        work_(tiled_block(plan)),
        say_(say),
        comm_(comm),
        ranks_(size_of(comm)) {}

  Measured measure(double work_over_transfer) {
    Measured measured;
    measured.work_over_transfer = work_over_transfer;
    choose_workload(measured);
    Shard shard(measured.work, tokens_each(measured.work.tokens), rank_of(comm_));
    RingCalls calls(rings_, shard, comm_);
    const TiledBlockAttention unaided = without_progress(work_);
    const TiledBlockAttention idle = no_work();
    std::vector<Repeated> all;
    const auto add = [&](const char* name, const Repeated::Call& call) {
      all.emplace_back(name, call, Repeated::Look::Median, comm_);
    };
    add("compute alone", calls.compute_alone(work_));
    add("blocking hops", calls.blocking(idle));
    add("overlapped hops", calls.overlapped(idle));
    add("blocking", calls.blocking(work_));
    add("nonblocking, no progress", calls.overlapped(unaided));
    add("nonblocking with progress", calls.overlapped(work_));
    repeat(all, work_over_transfer);
    measured.compute_alone_s = all[0].seconds();
    measured.blocking_transfers_s = all[1].seconds();
    measured.overlapped_transfers_s = all[2].seconds();
    for (std::size_t ring = 3; ring < all.size(); ++ring) measured.rings.push_back(all[ring].collect());
    return measured;
  }

 private:
  static constexpr Index most_tokens = 65536, least_tokens = 64;
  static constexpr double shortest_block_s = 0.04;

  std::vector<int> tokens_each(std::int64_t tokens) const {
    return std::vector<int>(static_cast<std::size_t>(ranks_), static_cast<int>(tokens));
  }

  /// In turn, so that what else the machine does meets all of them alike.
  void repeat(std::vector<Repeated>& all, double work_over_transfer) const {
    constexpr double enough_s = 60, most_rounds = 60;
    double round_s = 0;
    const auto rounds = [&] {
      return static_cast<int>(std::clamp<double>(enough_s / round_s, least_rounds, most_rounds));
    };
    for (int round = 1; round == 1 || round <= rounds(); ++round) {
      for (Repeated& one : all) {
        say_(fmt::format("work at {:g} times the transfer: {}, round {}", work_over_transfer, one.name(),
                         round));
        one.again();
        if (round == 1) round_s += one.seconds();
      }
    }
  }

  /// F and B of a workload, while all ranks compute, and while all send.
  void measure_speeds(Measured& measured) {
    Shard shard(measured.work, tokens_each(measured.work.tokens), rank_of(comm_));
    RingCalls ring(rings_, shard, comm_);
    const TiledBlockAttention idle = no_work();
    measured.flops =
        ranks_ * block_operations(measured.work) / seconds_of(ring.compute_alone(work_), speed_calls, comm_);
    measured.bytes_per_s =
        (ranks_ - 1) * hop_bytes(measured.work) / seconds_of(ring.overlapped(idle), speed_calls, comm_);
  }

  /// Speeds depend a little on the size, so the size is chosen twice.
  void choose_workload(Measured& measured) {
    measured.work = {2048, 1, 16};
    say_("measuring the speed of a rank and of the link");
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
    Workload& work = measured.work;
    work.tokens = std::max<Index>(least_tokens, static_cast<Index>(std::lround(tokens / 16)) * 16);
    work.heads = 1;
    const double head_s = block_operations(work) / measured.flops;
    work.heads = std::clamp<Index>(static_cast<Index>(std::ceil(shortest_block_s / head_s)), 1, 64);
    require_time(measured);
  }

  /// Ranks that share cores and a link make the time of a ring grow with their square.
  void require_time(const Measured& measured) const {
    const double seconds = setting_s({ranks_, block_operations(measured.work) / measured.flops,
                                      hop_bytes(measured.work) / measured.bytes_per_s});
    if (seconds <= longest_setting_s) return;
    throw std::runtime_error(fmt::format(
        "{} ranks with {} tokens each, which hide their transfers here, would take {:.0f} minutes, more than "
        "the {:.0f} this laboratory has time for; fewer --ranks or a larger --bandwidth take less",
        ranks_, measured.work.tokens, std::ceil(seconds / 60), longest_setting_s / 60));
  }

  Rings rings_;
  const TiledBlockAttention& work_;
  const Say& say_;
  MPI_Comm comm_;
  int ranks_;
};

}  // namespace

CallResult play_case(const Plan& plan, MPI_Comm comm) {
  const Adapter& adapter = demo::require_entry<decltype(course_adapter)>(plan.subject, "course_adapter")();
  const CaseManifest manifest = read_manifest(plan.folder);
  const auto function = adapter.find(manifest.function);
  if (function == adapter.end()) throw std::runtime_error("the adapter has no function " + manifest.function);
  std::map<std::string, Tensor> inputs;
  for (const std::string& name : manifest.inputs)
    inputs.emplace(name, read_npy<float>(input_folder(plan.folder, rank_of(comm)) / (name + ".npy")));
  const auto call = [&](ComputeLog& log) {
    LoggingWatch watch(log);
    GradedBlocks blocks(watch);
    Call one(inputs, manifest.arguments, &comm, blocks);
    function->second(one);
  };
  return drawn(manifest.function, call, comm);
}

CallResult run_ring(const Plan& plan, MPI_Comm comm) {
  const Workload work{512, 12, 32};  // as the demo's real data
  const int ranks = size_of(comm);
  Shard shard(work, even_shards(static_cast<int>(work.tokens), ranks), rank_of(comm));
  const TiledBlockAttention& tiles = tiled_block(plan);
  if (void* const entry = demo::find_entry(plan.subject, "course_demo_overlapped_ring")) {
    RingCalls calls({nullptr, reinterpret_cast<decltype(&course_demo_overlapped_ring)>(entry)}, shard, comm);
    return drawn("overlapped ring", calls.overlapped(tiles), comm);
  }
  const auto entry = demo::require_entry<decltype(course_demo_ring)>(plan.subject, "course_demo_ring");
  RingCalls calls({entry, nullptr}, shard, comm);
  return drawn("blocking ring", calls.blocking(tiles), comm);
}

std::vector<Measured> run_laboratory(const Plan& plan, const Say& say, MPI_Comm comm) {
  Laboratory laboratory(plan, say, comm);
  std::vector<Measured> all;
  for (const double work_over_transfer : {2.0, 0.5}) all.push_back(laboratory.measure(work_over_transfer));
  return all;
}

}  // namespace course::lab
