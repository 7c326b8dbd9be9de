#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "player/adapter.hpp"

/// What a window ring is timed against: every rank gathers the keys and values of all ranks at once, and
/// computes on those that its queries see. Equal contiguous shards of one document.
namespace {

using course::Index;
using course::Tensor;

/// [ranks, heads, tokens, width], from a shard [heads, tokens, width] of each rank.
std::vector<float> gathered(const Tensor& shard, int ranks, MPI_Comm comm) {
  std::vector<float> all(static_cast<std::size_t>(ranks * shard.size()));
  const int count = static_cast<int>(shard.size());
  MPI_Allgather(shard.data(), count, MPI_FLOAT, all.data(), count, MPI_FLOAT, comm);
  return all;
}

/// Of each query, at these positions, the keys of a block from `first` on that the window shows it.
std::vector<course::KeyRange> seen(Index first_query, Index queries, Index first_key, Index keys,
                                   Index window) {
  std::vector<course::KeyRange> ranges;
  for (Index query = first_query; query < first_query + queries; ++query) {
    const Index last = std::clamp<Index>(query + 1 - first_key, 0, keys);
    const Index first = window > 0 ? std::clamp<Index>(query + 1 - window - first_key, 0, last) : 0;
    ranges.push_back({first, last});
  }
  return ranges;
}

void gather_attention(course::Call& call) {
  const Tensor &q = call.input("q"), &k = call.input("k"), &v = call.input("v");
  const MPI_Comm comm = call.communicator<MPI_Comm>();
  int ranks = 0, rank = 0;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &rank);
  const std::vector<float> all_k = gathered(k, ranks, comm), all_v = gathered(v, ranks, comm);
  const course::BlockForward block = call.blocks().block_forward_of_mask();
  course::AttentionState state(q.extent(0), q.extent(1), v.extent(2));
  const Index n = k.extent(1), window = call.integer("window");
  for (int owner = 0; owner <= rank; ++owner) {
    const std::vector<course::KeyRange> ranges = seen(rank * n, n, owner * n, n, window);
    if (std::ranges::all_of(ranges, [](course::KeyRange range) { return range.first == range.last; }))
      continue;
    const float scale = 1 / std::sqrt(static_cast<float>(q.extent(2)));
    block.accumulate({q.heads(),
                      {all_k.data() + owner * k.size(), k.extent(0), n, k.extent(2)},
                      {all_v.data() + owner * v.size(), v.extent(0), n, v.extent(2)},
                      owner,
                      scale,
                      ranges},
                     state);
  }
  block.finish(state, call.output("o", {q.extent(0), q.extent(1), v.extent(2)}).heads(),
               call.output("lse", {q.extent(0), q.extent(1)}).matrix());
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"gather_attention", gather_attention}};
  return adapter;
}
