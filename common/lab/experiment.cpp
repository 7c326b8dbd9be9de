#include "lab/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <stdexcept>

#include "lab/playing.hpp"
#include "ring/shards.hpp"
#include "tensor/npy.hpp"

namespace course::lab {

namespace {

namespace fs = std::filesystem;
using Tensors = std::map<std::string, Tensor>;

constexpr const char* shards_name = "shards";  ///< of the case that the others take their inputs from

Case read_case(const fs::path& folder) {
  const CaseManifest manifest = read_manifest(folder);
  Case made{{manifest.function, manifest.arguments}};
  for (int rank = 0; rank < manifest.ranks; ++rank) {
    Tensors& own = made.inputs.emplace_back();
    for (const std::string& name : manifest.inputs)
      own.emplace(name, read_npy<float>(input_folder(folder, rank) / (name + ".npy")));
  }
  return made;
}

/// One rank's part of a forward ring, with numbers as they may come out of a layer norm.
Tensors generated_shard(const Shape& shape, int rank) {
  std::mt19937 generator(static_cast<unsigned>(rank) + 1);
  std::normal_distribution<float> normal;
  Tensors shard;
  for (const char* name : {"q", "k", "v"}) {
    Tensor& tensor = shard.emplace(name, shape).first->second;
    for (float& value : tensor.values()) value = normal(generator);
  }
  return shard;
}

/// A ring that begins with these shards of generated tokens.
Case generated_case(const std::vector<int>& shard_tokens, Index heads, Index head_dim) {
  Case made;
  made.arguments["shard_tokens"] = {shard_tokens.begin(), shard_tokens.end()};
  for (const int tokens : shard_tokens)
    made.inputs.push_back(generated_shard({heads, tokens, head_dim}, made.ranks()));
  return made;
}

/// What ranks do, to be drawn.
Result drawn(const Case& traced, const fs::path& block) {
  constexpr int trace_calls = 8;
  const PlayOrder order{
      .timed = {.rounds = trace_calls, .show_median = false, .block = block, .block_backward = {}}};
  return {traced.ranks(), play({traced}, order).at(0), {}};
}

/// The laboratory on one link.
class Laboratory {
 public:
  Laboratory(const LaboratoryCode& code, int ranks, const Starter& starter, const Say& say)
      : code_(code), ranks_(ranks), starter_(starter), say_(say) {}

  Measured measure(double work_over_transfer) const {
    Measured measured;
    measured.work_over_transfer = work_over_transfer;
    choose_workload(measured);
    const Case alone = compute_alone(measured.work);
    const std::vector<Case> cases{alone,
                                  blocking(alone, "idle"),
                                  overlapped(alone, "idle"),
                                  blocking(alone, ""),
                                  overlapped(alone, "without_progress"),
                                  overlapped(alone, "")};
    const std::array names{"compute alone",
                           "blocking hops",
                           "overlapped hops",
                           "blocking",
                           "nonblocking, no progress",
                           "nonblocking with progress"};
    std::vector<CallResult> all = in_turns(cases, rounds(measured), [&](int which, int round) {
      say_(fmt::format("work at {:g} times the transfer: {}, round {}", work_over_transfer,
                       names.at(static_cast<std::size_t>(which)), round));
    });
    measured.compute_alone_s = all[0].seconds;
    measured.blocking_transfers_s = all[1].seconds;
    measured.overlapped_transfers_s = all[2].seconds;
    for (std::size_t ring = 3; ring < all.size(); ++ring) {
      all[ring].name = names[ring];
      measured.rings.push_back(std::move(all[ring]));
    }
    return measured;
  }

 private:
  static constexpr Index most_tokens = 65536, least_tokens = 64;
  static constexpr double shortest_block_s = 0.04;

  /// As many blocks as the ring has, all of the rank's own.
  Case compute_alone(const Workload& work) const {
    const std::vector<int> tokens(static_cast<std::size_t>(ranks_), static_cast<int>(work.tokens));
    Case made = generated_case(tokens, work.heads, work.head_dim);
    made.function = "own_blocks";
    made.arguments["blocks"] = {static_cast<double>(ranks_)};
    made.subject = code_.block;
    made.name = shards_name;
    return made;
  }

  Case ring(const Case& alone, const char* function, const fs::path& subject, const char* block) const {
    Case made{{function, alone.arguments}};
    made.inputs.resize(alone.inputs.size());
    for (const char* name : {"q", "k", "v"}) made.from[name] = shards_name;
    made.subject = subject;
    made.block = block;
    return made;
  }
  Case blocking(const Case& alone, const char* block) const {
    return ring(alone, "ring_attention", code_.blocking, block);
  }
  Case overlapped(const Case& alone, const char* block) const {
    return ring(alone, "overlapped_ring_attention", code_.overlap, block);
  }

  /// Medians compare: on a machine that is now and then a little faster or slower the fastest call of one
  /// ring and of another differ by luck.
  std::vector<CallResult> in_turns(const std::vector<Case>& cases, int rounds,
                                   const std::function<void(int, int)>& on_turn) const {
    // Twice what a setting may take: the machine may get busier.
    const double limit_s = 2 * longest_setting_s;
    return play(cases, {.timed = {rounds, true, code_.block, {}},
                        .limit_s = limit_s,
                        .starter = starter_,
                        .on_turn = on_turn});
  }

  RingParts parts(const Measured& measured) const {
    return {ranks_, block_operations(measured.work) / measured.flops,
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
    const std::vector<CallResult> both =
        in_turns({alone, overlapped(alone, "idle")}, speed_calls,
                 [&](int, int) { say_("measuring the speed of a rank and of the link"); });
    measured.flops = ranks_ * block_operations(measured.work) / both[0].seconds;
    measured.bytes_per_s = (ranks_ - 1) * hop_bytes(measured.work) / both[1].seconds;
  }

  /// Speeds depend a little on the size, so the size is chosen twice.
  void choose_workload(Measured& measured) const {
    measured.work = {2048, 1, 16};
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
    const double seconds = setting_s(parts(measured));
    if (seconds <= longest_setting_s) return;
    throw std::runtime_error(fmt::format(
        "{} ranks with {} tokens each, which hide their transfers here, would take {:.0f} minutes, more than "
        "the {:.0f} this laboratory has time for; fewer --ranks or a larger --bandwidth take less",
        ranks_, measured.work.tokens, std::ceil(seconds / 60), longest_setting_s / 60));
  }

  const LaboratoryCode& code_;
  int ranks_;
  const Starter& starter_;
  const Say& say_;
};

}  // namespace

Result trace_case(const fs::path& folder, const fs::path& subject) {
  Case traced = read_case(folder);
  traced.subject = subject;
  return drawn(traced, {});
}

Result trace_ring(const TracedRing& ring, int ranks) {
  constexpr Index tokens = 512, heads = 12, head_dim = 32;  // as the demo's real data
  Case traced = generated_case(even_shards(tokens, ranks), heads, head_dim);
  traced.function = ring.function;
  traced.subject = ring.subject;
  return drawn(traced, ring.block);
}

Result run_laboratory(const LaboratoryCode& code, int ranks, const Starter& starter, const Say& say) {
  const Laboratory laboratory(code, ranks, starter, say);
  Result result;
  result.ranks = ranks;
  for (const double work_over_transfer : {2.0, 0.5})
    result.settings.push_back(laboratory.measure(work_over_transfer));
  return result;
}

}  // namespace course::lab
