#include <algorithm>

#include "player/position_lists.hpp"
#include "striped_and_zigzag.hpp"

namespace {

using course::Call;
using course::Index;
using lesson14::Positions;

void positions(Call& call) {
  const Index tokens = call.integer("tokens");
  const int ranks = static_cast<int>(call.integer("ranks"));
  const auto striped = call.output("striped", {ranks, tokens + 2}).matrix();
  const auto zigzag = call.output("zigzag", {ranks, tokens + 2}).matrix();
  for (int rank = 0; rank < ranks; ++rank) {
    course::write_list("striped_positions", lesson14::striped_positions(tokens, ranks, rank),
                       striped.row(rank));
    course::write_list("zigzag_positions", lesson14::zigzag_positions(tokens, ranks, rank), zigzag.row(rank));
  }
}

/// x [heads, tokens, head_dim] cut into shards, which are joined in the order of ranks, and rows in that
/// order put back.
void reorder(Call& call) {
  const std::vector<Positions> by_rank = course::positions_by_rank(call);
  const auto x = call.input("x").heads();
  course::Tensor& shards = call.output("shards", call.input("x").shape());
  Index first = 0;
  for (const Positions& positions : by_rank) {
    course::Tensor shard({x.heads(), std::ssize(positions), x.head_dim()});
    lesson14::shard_rows(x, positions, shard.heads());
    for (Index head = 0; head < x.heads(); ++head) {
      for (Index row = 0; row < std::ssize(positions); ++row)
        std::ranges::copy(shard.heads().head(head).row(row),
                          shards.heads().head(head).row(first + row).begin());
    }
    first += std::ssize(positions);
  }
  lesson14::unshard_rows(call.input("gathered").heads(), by_rank,
                         call.output("whole", call.input("x").shape()).heads());
}

void batch(Call& call) {
  const std::vector<Positions> by_rank = course::positions_by_rank(call);
  const std::vector<int> sequence = call.integers("sequence");
  const course::Shape shape{std::ssize(by_rank), course::longest(by_rank)};
  const auto tokens = call.output("tokens", shape).matrix();
  const auto labels = call.output("labels", shape).matrix();
  const auto position_ids = call.output("position_ids", shape).matrix();
  for (Index rank = 0; rank < std::ssize(by_rank); ++rank) {
    const lesson14::Batch own = lesson14::shard_batch(sequence, by_rank[rank]);
    course::write_list("tokens", own.tokens, tokens.row(rank));
    course::write_list("labels", own.labels, labels.row(rank));
    course::write_list("position_ids", own.position_ids, position_ids.row(rank));
  }
}

/// Every pair of a query shard and a key shard, and every rank and step. Beyond a shard's last query a range
/// is empty; every empty range is [0, 0).
void causal(Call& call) {
  const std::vector<Positions> by_rank = course::positions_by_rank(call);
  const Index ranks = std::ssize(by_rank);
  const auto first = call.output("first", {ranks, ranks, course::longest(by_rank)}).heads();
  const auto last = call.output("last", {ranks, ranks, course::longest(by_rank)}).heads();
  const auto work = call.output("work", {ranks, ranks}).matrix();
  for (Index rank = 0; rank < ranks; ++rank) {
    for (Index owner = 0; owner < ranks; ++owner) {
      std::vector<course::KeyRange> ranges = lesson14::key_ranges(by_rank[rank], by_rank[owner]);
      if (ranges.size() != by_rank[rank].size()) {
        throw course::FactException<std::length_error>(
            {course::fact_ranges_of_other_queries, "key_ranges has " + std::to_string(ranges.size()) +
                                                       " ranges for " + std::to_string(by_rank[rank].size()) +
                                                       " queries"});
      }
      ranges.resize(course::longest(by_rank), {0, 0});
      for (Index row = 0; row < std::ssize(ranges); ++row) {
        const bool empty = ranges[row].first >= ranges[row].last;
        first(rank, owner, row) = empty ? 0.0f : static_cast<float>(ranges[row].first);
        last(rank, owner, row) = empty ? 0.0f : static_cast<float>(ranges[row].last);
      }
      work(rank, owner) =
          static_cast<float>(lesson14::causal_work(by_rank, static_cast<int>(rank), static_cast<int>(owner)));
    }
  }
}

void causal_ring_attention(Call& call) {
  const course::Tensor& q = call.input("q");
  const course::Shape rows{q.extent(0), q.extent(1)};
  lesson14::causal_ring_attention(q.heads(), call.input("k").heads(), call.input("v").heads(),
                                  call.output("o", q.shape()).heads(), call.output("lse", rows).matrix(),
                                  course::positions_by_rank(call), call.blocks().masked_forward(),
                                  call.communicator<MPI_Comm>());
}

void causal_ring_backward(Call& call) {
  const course::Tensor& q = call.input("q");
  lesson14::causal_ring_backward(
      q.heads(), call.input("k").heads(), call.input("v").heads(), call.input("o").heads(),
      call.input("lse").matrix(), call.input("d_o").heads(), call.output("dq", q.shape()).heads(),
      call.output("dk", q.shape()).heads(), call.output("dv", q.shape()).heads(),
      course::positions_by_rank(call), call.blocks().masked_backward(), call.communicator<MPI_Comm>());
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"positions", positions},
                                       {"reorder", reorder},
                                       {"batch", batch},
                                       {"causal", causal},
                                       {"causal_ring_attention", causal_ring_attention},
                                       {"causal_ring_backward", causal_ring_backward}};
  return adapter;
}
