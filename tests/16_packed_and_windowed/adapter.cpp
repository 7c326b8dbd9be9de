#include <algorithm>
#include <string>

#include "packed_and_windowed.hpp"
#include "player/block_forward_walk.hpp"
#include "player/position_lists.hpp"
#include "player/refusal.hpp"

namespace {

using course::Call;
using course::Index;
using course::Tensor;
using lesson16::Positions;

std::vector<Index> starts_of(const Call& call) {
  const std::vector<int> starts = call.integers("starts");
  return {starts.begin(), starts.end()};
}

void document_positions(Call& call) {
  const Index tokens = call.integer("tokens");
  const int ranks = static_cast<int>(call.integer("ranks"));
  const std::vector<Index> starts = starts_of(call);
  const auto positions = call.output("positions", {ranks, tokens + 2}).matrix();
  course::call_or_refuse(call, [&] {
    for (int rank = 0; rank < ranks; ++rank)
      course::write_list("document_positions", lesson16::document_positions(tokens, starts, ranks, rank),
                         positions.row(rank));
  });
}

void packed_batch(Call& call) {
  const std::vector<Positions> by_rank = course::positions_by_rank(call);
  const std::vector<int> sequence = call.integers("sequence");
  const std::vector<Index> starts = starts_of(call);
  const course::Shape shape{std::ssize(by_rank), course::longest(by_rank)};
  const auto tokens = call.output("tokens", shape).matrix();
  const auto labels = call.output("labels", shape).matrix();
  const auto position_ids = call.output("position_ids", shape).matrix();
  for (Index rank = 0; rank < std::ssize(by_rank); ++rank) {
    const lesson16::Batch own = lesson16::packed_batch(sequence, starts, by_rank[rank]);
    course::write_list("tokens", own.tokens, tokens.row(rank));
    course::write_list("labels", own.labels, labels.row(rank));
    course::write_list("position_ids", own.position_ids, position_ids.row(rank));
  }
}

lesson16::RowMask mask_of(const Call& call, std::span<const Index> starts) {
  return {starts, call.integer("window"), call.is_set("causal")};
}

/// Every pair of a query shard and a key shard. Beyond a shard's last query a range is empty; every empty
/// range is [0, 0).
void key_ranges(Call& call) {
  const std::vector<Positions> by_rank = course::positions_by_rank(call);
  const std::vector<Index> starts = starts_of(call);
  const Index ranks = std::ssize(by_rank);
  const auto first = call.output("first", {ranks, ranks, course::longest(by_rank)}).heads();
  const auto last = call.output("last", {ranks, ranks, course::longest(by_rank)}).heads();
  const auto write_pair = [&](Index rank, Index owner) {
    std::vector<course::KeyRange> ranges =
        lesson16::key_ranges(by_rank[rank], by_rank[owner], mask_of(call, starts));
    if (ranges.size() != by_rank[rank].size()) {
      throw std::length_error("key_ranges has " + std::to_string(ranges.size()) + " ranges for " +
                              std::to_string(by_rank[rank].size()) + " queries");
    }
    ranges.resize(course::longest(by_rank), {0, 0});
    for (Index row = 0; row < std::ssize(ranges); ++row) {
      const bool empty = ranges[row].first == ranges[row].last;
      first(rank, owner, row) = empty ? 0.0f : static_cast<float>(ranges[row].first);
      last(rank, owner, row) = empty ? 0.0f : static_cast<float>(ranges[row].last);
    }
  };
  course::call_or_refuse(call, [&] {
    for (Index rank = 0; rank < ranks; ++rank)
      for (Index owner = 0; owner < ranks; ++owner) write_pair(rank, owner);
  });
}

void hops_needed(Call& call) {
  const std::vector<Positions> by_rank = course::positions_by_rank(call);
  const std::vector<Index> starts = starts_of(call);
  const std::vector<int> hops = lesson16::hops_needed(by_rank, mask_of(call, starts));
  course::write_list("hops_needed", hops, call.output("hops", {std::ssize(by_rank) + 1}).values());
}

/// Of several numbers of heads, one after another.
void alibi_slopes(Call& call) {
  std::vector<float> all;
  for (const int heads : call.integers("heads")) {
    const std::vector<float> slopes = lesson16::alibi_slopes(heads);
    if (std::ssize(slopes) != heads) {
      throw std::length_error("alibi_slopes has " + std::to_string(slopes.size()) + " slopes for " +
                              std::to_string(heads) + " heads");
    }
    all.insert(all.end(), slopes.begin(), slopes.end());
  }
  std::ranges::copy(all, call.output("slopes", {std::ssize(all)}).data());
}

/// The state after the sinks have joined, divided.
void join_sinks(Call& call) {
  const Tensor &m = call.input("m"), &o = call.input("o");
  course::AttentionState state(o.extent(0), o.extent(1), o.extent(2));
  std::ranges::copy(m.values(), state.m().data());
  std::ranges::copy(call.input("l").values(), state.l().data());
  std::ranges::copy(o.values(), state.o().data());
  lesson16::join_sinks(call.input("sinks").values(), state);
  course::write_state(call, state);
}

void sink_gradients(Call& call) {
  const Tensor& sinks = call.input("sinks");
  lesson16::sink_gradients(sinks.values(), call.input("lse").matrix(), call.input("delta").matrix(),
                           call.output("d_sinks", sinks.shape()).values());
}

void packed_ring_attention(Call& call) {
  const Tensor &q = call.input("q"), &v = call.input("v");
  const std::vector<Index> starts = starts_of(call);
  lesson16::packed_ring_attention(q.heads(), call.input("k").heads(), v.heads(),
                                  call.output("o", {q.extent(0), q.extent(1), v.extent(2)}).heads(),
                                  call.output("lse", {q.extent(0), q.extent(1)}).matrix(),
                                  course::positions_by_rank(call), mask_of(call, starts),
                                  call.input("slopes").values(), call.input("sinks").values(),
                                  call.blocks().block_forward_of_mask(), call.communicator<MPI_Comm>());
}

void packed_ring_backward(Call& call) {
  const Tensor &q = call.input("q"), &k = call.input("k"), &v = call.input("v");
  const std::vector<Index> starts = starts_of(call);
  const std::vector<float>& sinks = call.input("sinks").values();
  lesson16::packed_ring_backward(
      q.heads(), k.heads(), v.heads(), call.input("o").heads(), call.input("lse").matrix(),
      call.input("d_o").heads(), call.output("dq", q.shape()).heads(), call.output("dk", k.shape()).heads(),
      call.output("dv", v.shape()).heads(), call.output("d_sinks", {1, std::ssize(sinks)}).values(),
      course::positions_by_rank(call), mask_of(call, starts), call.input("slopes").values(), sinks,
      call.blocks().block_backward_of_mask(), call.communicator<MPI_Comm>());
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"document_positions", document_positions},
                                       {"packed_batch", packed_batch},
                                       {"key_ranges", key_ranges},
                                       {"hops_needed", hops_needed},
                                       {"alibi_slopes", alibi_slopes},
                                       {"join_sinks", join_sinks},
                                       {"sink_gradients", sink_gradients},
                                       {"packed_ring_attention", packed_ring_attention},
                                       {"packed_ring_backward", packed_ring_backward}};
  return adapter;
}
