#include "packed_and_windowed.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "lesson/not_implemented.hpp"

namespace lesson16 {

using course::KeyRange;

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

void require_starts(std::span<const Index> starts, Index tokens) {
  if (starts.empty() || starts.front() != 0)
    throw std::invalid_argument("starts begins with " +
                                (starts.empty() ? "nothing" : std::to_string(starts.front())) +
                                ", expected 0");
  for (std::size_t d = 1; d < starts.size(); ++d) {
    if (starts[d] < starts[d - 1])
      throw std::invalid_argument("starts falls from " + std::to_string(starts[d - 1]) + " to " +
                                  std::to_string(starts[d]));
  }
  if (starts.back() > tokens)
    throw std::invalid_argument("documents end at " + std::to_string(starts.back()) + ", the row at " +
                                std::to_string(tokens));
}

/// The document of a position; starts.size() - 1 for padding.
std::size_t document_of(std::span<const Index> starts, Index position) {
  return static_cast<std::size_t>(std::ranges::upper_bound(starts, position) - starts.begin()) - 1;
}

bool is_padding(std::span<const Index> starts, Index position) {
  return position >= starts.back();
}

}  // namespace

Positions document_positions(Index tokens, std::span<const Index> starts, int world_size, int rank) {
  require_starts(starts, tokens);
  Positions owned;
  for (std::size_t d = 0; d < starts.size(); ++d) {
    const Index first = starts[d], last = d + 1 < starts.size() ? starts[d + 1] : tokens;
    const Index chunks = 2 * world_size, length = (last - first) / chunks, longer = (last - first) % chunks;
    for (const Index chunk : {Index{rank}, chunks - 1 - rank}) {
      const Index begin = first + chunk * length + std::min(chunk, longer);
      const Index end = begin + length + (chunk < longer ? 1 : 0);
      for (Index position = begin; position < end; ++position) owned.push_back(position);
    }
  }
  return owned;
}

Batch packed_batch(std::span<const int> sequence, std::span<const Index> starts,
                   std::span<const Index> positions) {
  require_starts(starts, std::ssize(sequence));
  Batch batch;
  for (const Index position : positions) {
    const std::size_t document = document_of(starts, position);
    const bool has_next = !is_padding(starts, position) && position + 1 < starts[document + 1];
    batch.tokens.push_back(sequence[position]);
    batch.labels.push_back(has_next ? sequence[position + 1] : ignored_label);
    batch.position_ids.push_back(position - starts[document]);
  }
  return batch;
}

std::vector<KeyRange> key_ranges(std::span<const Index> query_positions, std::span<const Index> key_positions,
                                 const RowMask& mask) {
  if (mask.window < 0 || (mask.window > 0 && !mask.causal))
    throw std::invalid_argument("a window of " + std::to_string(mask.window) +
                                " keys, expected 0, or more where the mask is causal");
  const auto row_of = [&](Index position) {
    return std::ranges::lower_bound(key_positions, position) - key_positions.begin();
  };
  std::vector<KeyRange> seen;
  for (const Index position : query_positions) {
    if (is_padding(mask.starts, position)) {
      seen.push_back({0, 0});
      continue;
    }
    const std::size_t document = document_of(mask.starts, position);
    const Index in_window = mask.window > 0 ? position - mask.window + 1 : 0;
    const Index first = std::max(mask.starts[document], in_window);
    const Index last = mask.causal ? position + 1 : mask.starts[document + 1];
    seen.push_back({row_of(first), row_of(last)});
  }
  return seen;
}

namespace {

bool any_seen(const std::vector<KeyRange>& seen) {
  return std::ranges::any_of(seen, [](const KeyRange& range) { return range.first < range.last; });
}

}  // namespace

std::vector<int> hops_needed(std::span<const Positions> positions, const RowMask& mask) {
  const int ranks = static_cast<int>(positions.size());
  std::vector<int> hops(positions.size(), 0);
  for (int block = 0; block < ranks; ++block) {
    for (int hop = 1; hop < ranks; ++hop) {
      if (any_seen(key_ranges(positions[(block + hop) % ranks], positions[block], mask))) hops[block] = hop;
    }
  }
  return hops;
}

std::vector<float> alibi_slopes(Index heads) {
  const Index below = static_cast<Index>(std::bit_floor(static_cast<std::size_t>(heads)));
  std::vector<float> slopes;
  for (Index head = 0; head < heads; ++head) {
    const double steps = head < below
                             ? 8.0 * static_cast<double>(head + 1) / static_cast<double>(below)
                             : 4.0 * static_cast<double>(2 * (head - below) + 1) / static_cast<double>(below);
    slopes.push_back(static_cast<float>(std::exp2(-steps)));
  }
  return slopes;
}

void join_sinks(std::span<const float> sinks, course::AttentionState& state) {
  for (Index head = 0; head < std::ssize(sinks); ++head) {
    for (Index i = 0; i < state.m().cols(); ++i) {
      float &m = state.m()(head, i), &l = state.l()(head, i);
      const float before = l > 0.0f ? m : minus_infinity;
      m = std::max(before, sinks[head]);
      const float factor = std::exp(before - m);
      l = (l > 0.0f ? l * factor : 0.0f) + std::exp(sinks[head] - m);
      for (float& x : state.o().head(head).row(i)) x = before == minus_infinity ? 0.0f : x * factor;
    }
  }
}

void sink_gradients(std::span<const float> sinks, MatrixView<const float> lse, MatrixView<const float> delta,
                    std::span<float> d_sinks) {
  for (Index head = 0; head < std::ssize(sinks); ++head) {
    d_sinks[head] = 0.0f;
    for (Index i = 0; i < lse.cols(); ++i)
      d_sinks[head] -= std::exp(sinks[head] - lse(head, i)) * delta(head, i);
  }
}

namespace {

std::vector<int> lengths_of(std::span<const Positions> positions) {
  std::vector<int> lengths;
  for (const Positions& owned : positions) lengths.push_back(static_cast<int>(owned.size()));
  return lengths;
}

/// Which of the tensors that pass by are to move at a hop: what is here may have arrived where nobody ahead
/// needs it, and nothing may come.
struct Step {
  Step(const course::Ring& ring, const std::vector<int>& hops, int hop)
      : owner(ring.owner_after(hop)),
        sends(hop > 0 && hops[ring.owner_after(hop - 1)] >= hop),
        is_here(hops[owner] >= hop) {}
  int owner;
  bool sends;
  bool is_here;
};

}  // namespace

void packed_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                           const RowMask& mask, std::span<const float> slopes, std::span<const float> sinks,
                           const course::BlockForward& block, MPI_Comm comm) {
  const course::Ring ring(comm);
  const std::vector<int> hops = hops_needed(positions, mask), lengths = lengths_of(positions);
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  course::TravellingTensor held_k(ring, lengths, k), held_v(ring, lengths, v);
  course::AttentionState state(q.heads(), q.seq(), v.head_dim());
  for (int hop = 0; hop < ring.size; ++hop) {
    const Step step(ring, hops, hop);
    if (hop > 0) {
      held_k.hop(step.sends, step.is_here);
      held_v.hop(step.sends, step.is_here);
    }
    if (!step.is_here) continue;
    const std::vector<KeyRange> seen = key_ranges(positions[ring.rank], positions[step.owner], mask);
    if (!any_seen(seen)) continue;
    const course::PositionBias bias{slopes, positions[ring.rank], positions[step.owner]};
    block.accumulate(
        {q, held_k.block(), held_v.block(), step.owner, scale, seen, slopes.empty() ? nullptr : &bias},
        state);
  }
  join_sinks(sinks, state);
  block.finish(state, o, lse);
}

namespace {

/// delta_i = o_i . d_o_i, [heads, n].
std::vector<float> row_delta(HeadsView<const float> o, HeadsView<const float> d_o) {
  std::vector<float> delta;
  for (Index head = 0; head < o.heads(); ++head) {
    for (Index i = 0; i < o.seq(); ++i) {
      float sum = 0.0f;
      for (Index c = 0; c < o.head_dim(); ++c) sum += o(head, i, c) * d_o(head, i, c);
      delta.push_back(sum);
    }
  }
  return delta;
}

}  // namespace

void packed_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<float> d_sinks, std::span<const Positions> positions, const RowMask& mask,
                          std::span<const float> slopes, std::span<const float> sinks,
                          const course::BlockBackward& block, MPI_Comm comm) {
  const course::Ring ring(comm);
  const std::vector<int> hops = hops_needed(positions, mask), lengths = lengths_of(positions);
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  const std::vector<float> delta = row_delta(o, d_o);
  const MatrixView<const float> deltas(delta.data(), q.heads(), q.seq());
  std::fill_n(dq.data(), dq.size(), 0.0f);

  const bool leaves = hops[ring.rank] > 0;
  const int stop = (ring.rank + hops[ring.rank]) % ring.size;
  MPI_Request home[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (leaves) {
    MPI_Irecv(dk.data(), static_cast<int>(dk.size()), MPI_FLOAT, stop, 1, comm, &home[0]);
    MPI_Irecv(dv.data(), static_cast<int>(dv.size()), MPI_FLOAT, stop, 2, comm, &home[1]);
  }
  course::TravellingTensor held_k(ring, lengths, k), held_v(ring, lengths, v);
  course::TravellingTensor held_dk(ring, lengths, k.heads(), k.head_dim());
  course::TravellingTensor held_dv(ring, lengths, v.heads(), v.head_dim());
  for (int hop = 0; hop < ring.size; ++hop) {
    const Step step(ring, hops, hop);
    if (hop > 0) {
      for (course::TravellingTensor* held : {&held_k, &held_v, &held_dk, &held_dv})
        held->hop(step.sends, step.is_here);
    }
    if (!step.is_here) continue;
    const std::vector<KeyRange> seen = key_ranges(positions[ring.rank], positions[step.owner], mask);
    if (any_seen(seen)) {
      const course::PositionBias bias{slopes, positions[ring.rank], positions[step.owner]};
      block.accumulate(
          {q, held_k.block(), held_v.block(), step.owner, scale, seen, slopes.empty() ? nullptr : &bias}, d_o,
          lse, deltas, dq, held_dk.block(), held_dv.block());
    }
    if (hops[step.owner] > hop) continue;
    const HeadsView<float> sum_k = held_dk.block(), sum_v = held_dv.block();
    if (hop == 0) {
      std::copy_n(sum_k.data(), sum_k.size(), dk.data());
      std::copy_n(sum_v.data(), sum_v.size(), dv.data());
    } else {
      MPI_Send(sum_k.data(), static_cast<int>(sum_k.size()), MPI_FLOAT, step.owner, 1, comm);
      MPI_Send(sum_v.data(), static_cast<int>(sum_v.size()), MPI_FLOAT, step.owner, 2, comm);
    }
  }
  MPI_Waitall(2, home, MPI_STATUSES_IGNORE);

  sink_gradients(sinks, lse, deltas, d_sinks);
  MPI_Allreduce(MPI_IN_PLACE, d_sinks.data(), static_cast<int>(d_sinks.size()), MPI_FLOAT, MPI_SUM, comm);
}

}  // namespace lesson16
