// wrong: task 9: the sums of dk go home with tag 0, which the hops use
// line: constexpr int dk_tag = 0;
// rating: led
#include "packed_and_windowed.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace lesson16 {

using course::KeyRange;

namespace {

void refuse_wrong_starts(Index tokens, std::span<const Index> starts) {
  if (starts.empty()) throw std::invalid_argument("starts has 0 numbers, expected at least 1");
  if (starts.front() != 0)
    throw std::invalid_argument("starts begins with " + std::to_string(starts.front()) + ", expected 0");
  for (std::size_t d = 1; d < starts.size(); ++d) {
    if (starts[d] < starts[d - 1])
      throw std::invalid_argument("starts falls to " + std::to_string(starts[d]));
  }
  if (starts.back() > tokens)
    throw std::invalid_argument("starts ends at " + std::to_string(starts.back()) +
                                ", which is behind the row's end");
}

void refuse_wrong_window(const RowMask& mask) {
  if (mask.window < 0 || (mask.window != 0 && !mask.causal))
    throw std::invalid_argument("window is " + std::to_string(mask.window) + ", which this mask cannot have");
}

bool is_padding(std::span<const Index> starts, Index position) { return position >= starts.back(); }

std::size_t document_of(std::span<const Index> starts, Index position) {
  return static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), position) - starts.begin()) -
         1;
}

void append_zigzag(Positions& list, Index begin, Index length, int world_size, int rank) {
  const Index chunks = 2 * world_size;
  for (const Index chunk : {static_cast<Index>(rank), chunks - 1 - rank}) {
    const Index first = begin + chunk * (length / chunks) + std::min(chunk, length % chunks);
    const Index count = length / chunks + (chunk < length % chunks ? 1 : 0);
    for (Index i = 0; i < count; ++i) list.push_back(first + i);
  }
}

bool sees_something(const std::vector<KeyRange>& ranges) {
  return std::ranges::any_of(ranges, [](const KeyRange& range) { return range.first < range.last; });
}

std::vector<int> lengths_of(std::span<const Positions> positions) {
  std::vector<int> lengths;
  for (const Positions& shard : positions) lengths.push_back(static_cast<int>(shard.size()));
  return lengths;
}

}  // namespace

Positions document_positions(Index tokens, std::span<const Index> starts, int world_size, int rank) {
  refuse_wrong_starts(tokens, starts);
  Positions list;
  for (std::size_t d = 0; d + 1 < starts.size(); ++d)
    append_zigzag(list, starts[d], starts[d + 1] - starts[d], world_size, rank);
  append_zigzag(list, starts.back(), tokens - starts.back(), world_size, rank);
  return list;
}

Batch packed_batch(std::span<const int> sequence, std::span<const Index> starts,
                   std::span<const Index> positions) {
  refuse_wrong_starts(std::ssize(sequence), starts);
  Batch batch;
  for (const Index p : positions) {
    batch.tokens.push_back(sequence[static_cast<std::size_t>(p)]);
    if (is_padding(starts, p)) {
      batch.labels.push_back(ignored_label);
      batch.position_ids.push_back(p - starts.back());
      continue;
    }
    const std::size_t d = document_of(starts, p);
    const bool last = p + 1 == starts[d + 1];
    batch.labels.push_back(last ? ignored_label : sequence[static_cast<std::size_t>(p + 1)]);
    batch.position_ids.push_back(p - starts[d]);
  }
  return batch;
}

std::vector<KeyRange> key_ranges(std::span<const Index> query_positions, std::span<const Index> key_positions,
                                 const RowMask& mask) {
  refuse_wrong_window(mask);
  const auto keys_below = [&](Index position) {
    return static_cast<Index>(std::ranges::lower_bound(key_positions, position) - key_positions.begin());
  };
  std::vector<KeyRange> ranges;
  ranges.reserve(query_positions.size());
  for (const Index p : query_positions) {
    if (is_padding(mask.starts, p)) {
      ranges.push_back({0, 0});
      continue;
    }
    const std::size_t d = document_of(mask.starts, p);
    Index first = mask.starts[d];
    if (mask.window > 0) first = std::max(first, p - mask.window + 1);
    const Index last = mask.causal ? p + 1 : mask.starts[d + 1];
    ranges.push_back({keys_below(first), keys_below(last)});
  }
  return ranges;
}

std::vector<int> hops_needed(std::span<const Positions> positions, const RowMask& mask) {
  const int ranks = static_cast<int>(positions.size());
  std::vector<int> hops(positions.size(), 0);
  for (int b = 0; b < ranks; ++b) {
    for (int s = ranks - 1; s > 0; --s) {
      const Positions& queries = positions[static_cast<std::size_t>((b + s) % ranks)];
      if (sees_something(key_ranges(queries, positions[static_cast<std::size_t>(b)], mask))) {
        hops[static_cast<std::size_t>(b)] = s;
        break;
      }
    }
  }
  return hops;
}

std::vector<float> alibi_slopes(Index heads) {
  const Index below = static_cast<Index>(std::bit_floor(static_cast<std::size_t>(heads)));
  std::vector<float> slopes;
  for (Index h = 0; h < below; ++h)
    slopes.push_back(static_cast<float>(std::exp2(-8.0 * static_cast<double>(h + 1) / below)));
  for (Index h = 0; h < heads - below; ++h)
    slopes.push_back(static_cast<float>(std::exp2(-8.0 * static_cast<double>(2 * h + 1) / (2 * below))));
  return slopes;
}

void join_sinks(std::span<const float> sinks, course::AttentionState& state) {
  const auto m = state.m();
  const auto l = state.l();
  for (Index head = 0; head < std::ssize(sinks); ++head) {
    const float z = sinks[static_cast<std::size_t>(head)];
    for (Index i = 0; i < m.cols(); ++i) {
      const float before = l(head, i) == 0.0f ? -std::numeric_limits<float>::infinity() : m(head, i);
      const float after = std::max(before, z);
      const float shrink = std::exp(before - after);
      m(head, i) = after;
      l(head, i) = shrink * l(head, i) + std::exp(z - after);
      for (float& number : state.o().head(head).row(i)) number *= shrink;
    }
  }
}

void sink_gradients(std::span<const float> sinks, MatrixView<const float> lse, MatrixView<const float> delta,
                    std::span<float> d_sinks) {
  for (Index head = 0; head < lse.rows(); ++head) {
    double sum = 0.0;
    for (Index i = 0; i < lse.cols(); ++i)
      sum += std::exp(static_cast<double>(sinks[static_cast<std::size_t>(head)]) - lse(head, i)) *
             delta(head, i);
    d_sinks[static_cast<std::size_t>(head)] = static_cast<float>(-sum);
  }
}

void packed_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                           const RowMask& mask, std::span<const float> slopes, std::span<const float> sinks,
                           const course::BlockForward& block, MPI_Comm comm) {
  const course::Ring ring(comm);
  const std::vector<int> hops = hops_needed(positions, mask);
  const std::vector<int> lengths = lengths_of(positions);
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  course::TravellingTensor keys(ring, lengths, k);
  course::TravellingTensor values(ring, lengths, v);
  course::AttentionState state(q.heads(), q.seq(), v.head_dim());
  const Positions& mine = positions[static_cast<std::size_t>(ring.rank)];
  for (int s = 0; s < ring.size; ++s) {
    const int owner = ring.owner_after(s);
    if (s > 0) {
      const bool sends = hops[static_cast<std::size_t>(ring.owner_after(s - 1))] >= s;
      const bool receives = hops[static_cast<std::size_t>(owner)] >= s;
      keys.hop(sends, receives);
      values.hop(sends, receives);
    }
    if (hops[static_cast<std::size_t>(owner)] < s) continue;
    const Positions& theirs = positions[static_cast<std::size_t>(owner)];
    const std::vector<KeyRange> seen = key_ranges(mine, theirs, mask);
    if (!sees_something(seen)) continue;
    const course::PositionBias bias{slopes, mine, theirs};
    block.accumulate({q, keys.block(), values.block(), owner, scale, seen, slopes.empty() ? nullptr : &bias},
                     state);
  }
  if (!sinks.empty()) join_sinks(sinks, state);
  block.finish(state, o, lse);
}

void packed_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<float> d_sinks, std::span<const Positions> positions, const RowMask& mask,
                          std::span<const float> slopes, std::span<const float> sinks,
                          const course::BlockBackward& block, MPI_Comm comm) {
  const course::Ring ring(comm);
  const std::vector<int> hops = hops_needed(positions, mask);
  const std::vector<int> lengths = lengths_of(positions);
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  constexpr int dk_tag = 0;
  constexpr int dv_tag = 2;

  std::array<MPI_Request, 2> home = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  const int own_hops = hops[static_cast<std::size_t>(ring.rank)];
  if (own_hops > 0) {
    const int from = (ring.rank + own_hops) % ring.size;
    MPI_Irecv(dk.data(), static_cast<int>(dk.size()), MPI_FLOAT, from, dk_tag, comm, &home[0]);
    MPI_Irecv(dv.data(), static_cast<int>(dv.size()), MPI_FLOAT, from, dv_tag, comm, &home[1]);
  }

  std::vector<float> delta_numbers(static_cast<std::size_t>(q.heads() * q.seq()));
  const MatrixView<float> delta(delta_numbers.data(), q.heads(), q.seq());
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index i = 0; i < q.seq(); ++i) {
      double sum = 0.0;
      for (Index c = 0; c < o.head_dim(); ++c) sum += static_cast<double>(o(head, i, c)) * d_o(head, i, c);
      delta(head, i) = static_cast<float>(sum);
      std::ranges::fill(dq.head(head).row(i), 0.0f);
    }
  }

  course::TravellingTensor keys(ring, lengths, k);
  course::TravellingTensor values(ring, lengths, v);
  course::TravellingTensor key_sums(ring, lengths, k.heads(), k.head_dim());
  course::TravellingTensor value_sums(ring, lengths, v.heads(), v.head_dim());
  const Positions& mine = positions[static_cast<std::size_t>(ring.rank)];
  for (int s = 0; s < ring.size; ++s) {
    const int owner = ring.owner_after(s);
    const int goes = hops[static_cast<std::size_t>(owner)];
    if (s > 0) {
      const bool sends = hops[static_cast<std::size_t>(ring.owner_after(s - 1))] >= s;
      const bool receives = goes >= s;
      keys.hop(sends, receives);
      values.hop(sends, receives);
      key_sums.hop(sends, receives);
      value_sums.hop(sends, receives);
    }
    if (goes < s) continue;
    const Positions& theirs = positions[static_cast<std::size_t>(owner)];
    const std::vector<KeyRange> seen = key_ranges(mine, theirs, mask);
    if (sees_something(seen)) {
      const course::PositionBias bias{slopes, mine, theirs};
      block.accumulate(
          {q, keys.block(), values.block(), owner, scale, seen, slopes.empty() ? nullptr : &bias}, d_o, lse,
          delta, dq, key_sums.block(), value_sums.block());
    }
    if (goes == s) {  // it stops here
      const HeadsView<float> key_sum = key_sums.block();
      const HeadsView<float> value_sum = value_sums.block();
      if (s == 0) {
        std::copy_n(key_sum.data(), key_sum.size(), dk.data());
        std::copy_n(value_sum.data(), value_sum.size(), dv.data());
      } else {
        MPI_Send(key_sum.data(), static_cast<int>(key_sum.size()), MPI_FLOAT, owner, dk_tag, comm);
        MPI_Send(value_sum.data(), static_cast<int>(value_sum.size()), MPI_FLOAT, owner, dv_tag, comm);
      }
    }
  }
  MPI_Waitall(2, home.data(), MPI_STATUSES_IGNORE);

  if (!d_sinks.empty()) {
    sink_gradients(sinks, lse, delta, d_sinks);
    MPI_Allreduce(MPI_IN_PLACE, d_sinks.data(), static_cast<int>(d_sinks.size()), MPI_FLOAT, MPI_SUM, comm);
  }
}

}  // namespace lesson16
