#pragma once

#include <span>
#include <vector>

#include "ring/block_attention.hpp"
#include "ring/hop.hpp"  // yours to use: course::Ring, course::TravellingTensor
#include "tensor/view.hpp"

namespace lesson16 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

/// Of a rank's shard the position of each row in the sequence, ascending.
using Positions = std::vector<Index>;

/// What a query sees: keys of its own document, up to itself if `causal`, and of these the last `window`,
/// itself counted; 0: no limit. Document d has the positions starts[d] .. starts[d + 1] - 1 (starts is what
/// others call cu_seqlens): 0 = starts[0], it does not fall, and a document may be empty. Positions from
/// starts.back() on are padding: they see nothing, and nobody sees them.
struct RowMask {
  std::span<const Index> starts;
  Index window = 0;
  bool causal = true;
};

/// The label of a token that has no next one.
inline constexpr int ignored_label = -100;

/// What a rank feeds its model; three lists of one length.
struct Batch {
  std::vector<int> tokens;
  std::vector<int> labels;  ///< of each token the next one of its document, else ignored_label
  Positions position_ids;   ///< 0 for a document's first token
};

/// Task 1. Every document cut into 2 world_size chunks as lesson 14 cuts a row (the first tokens mod 2
/// world_size chunks hold one token more), and of each document the chunks that `rank` owns, its r-th and its
/// (2 world_size - 1 - r)-th, in the order of the row. Padding is cut as one more document. Throws
/// std::invalid_argument with the number where starts does not begin with 0, falls, or passes `tokens`, and
/// where it is empty. Source: Transformer Engine's thd format.
Positions document_positions(Index tokens, std::span<const Index> starts, int world_size, int rank);

/// Task 2. The shard of a packed row at these positions. A document's last token, and padding, has no next
/// token; position ids of padding count from starts.back().
Batch packed_batch(std::span<const int> sequence, std::span<const Index> starts,
                   std::span<const Index> positions);

/// Task 3. Of each query of a shard, by its row, the keys of a block that the mask shows it. Both lists
/// ascend. Where it sees none, any empty range within 0 .. key_positions.size(). Throws std::invalid_argument
/// with the window where that is negative, or not 0 although the mask is not causal.
std::vector<course::KeyRange> key_ranges(std::span<const Index> query_positions,
                                         std::span<const Index> key_positions, const RowMask& mask);

/// Task 4. By block: how many hops to rank + 1, modulo the number of ranks, it has to make until the last
/// rank that sees a key of it has it; 0 .. P - 1. It does not go through pairs of a query and a key.
std::vector<int> hops_needed(std::span<const Positions> positions, const RowMask& mask);

/// Task 5. The slopes of ALiBi: 2^(-8 (h + 1) / heads) for head h where heads is a power of two; else those
/// of the power of two below, and then every other one of the power of two above, from its first on. Source:
/// Press et al. 2021.
std::vector<float> alibi_slopes(Index heads);

/// Task 6. Each head's sink joins the softmax of each of its queries, as a key with the score sinks[head],
/// which is not scaled, and the value 0. The state may have seen nothing: where l = 0, m may be anything, and
/// o is 0.
void join_sinks(std::span<const float> sinks, course::AttentionState& state);

/// Task 7. d_sinks[head] = what these queries give: - sum_i exp(sinks[head] - lse_i) delta_i, where lse
/// includes the sink.
void sink_gradients(std::span<const float> sinks, MatrixView<const float> lse, MatrixView<const float> delta,
                    std::span<float> d_sinks);

/// Task 8. Attention under the mask of this rank's queries over the blocks of all ranks, with scores scaled
/// by 1/sqrt(head_dim). q, o [heads, n, head_dim]; k, v [kv_heads, n, head_dim]; lse [heads, n]; positions[r]
/// are those of rank r. slopes and sinks have a number for each QUERY head, or none. A block of which a query
/// of this rank sees a key, and no other, is given to block.accumulate once, with the keys that each query
/// sees (seen) and, with slopes, with bias = {slopes, positions[rank], positions[owner]}. A block makes as
/// many hops as hops_needed says, and no more. A query that sees no key: o = 0, and lse is its sink, or -inf.
/// Memory as in lesson 15.
void packed_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                           const RowMask& mask, std::span<const float> slopes, std::span<const float> sinks,
                           const course::BlockForward& block, MPI_Comm comm);

/// Task 9. The gradients of task 8. dk and dv of a block travel with it, and go straight to its owner from
/// where it stops: at most hops + 1 messages a tensor and block; or every rank sends its share straight to
/// the owner. d_sinks has a number for each query head where sinks has, and none where not: of the queries of
/// all ranks, the same on every rank; a collective adds them up. The rows of dq, dk and dv follow each other
/// without gaps.
void packed_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<float> d_sinks, std::span<const Positions> positions, const RowMask& mask,
                          std::span<const float> slopes, std::span<const float> sinks,
                          const course::BlockBackward& block, MPI_Comm comm);

}  // namespace lesson16
