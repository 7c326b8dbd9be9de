// right: every share goes straight home at its own step; K and V in one message of own Isend and Irecv; sinks join first
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

/// Keys and values of one block, in one message.
struct Pair {
  std::vector<float> numbers;
  Index heads, tokens, key_dim, value_dim;

  Pair(Index h, Index n, Index dk, Index dv)
      : numbers(static_cast<std::size_t>(h * n * (dk + dv)), 0.0f), heads(h), tokens(n), key_dim(dk), value_dim(dv) {}

  HeadsView<float> first() { return {numbers.data(), heads, tokens, key_dim}; }
  HeadsView<float> second() { return {numbers.data() + heads * tokens * key_dim, heads, tokens, value_dim}; }
  int count() const { return static_cast<int>(numbers.size()); }
};

void copy_rows(HeadsView<const float> from, HeadsView<float> to) {
  for (Index h = 0; h < from.heads(); ++h)
    for (Index i = 0; i < from.seq(); ++i) std::ranges::copy(from.head(h).row(i), to.head(h).row(i).begin());
}

void add_rows(HeadsView<const float> from, HeadsView<float> to) {
  for (Index h = 0; h < from.heads(); ++h)
    for (Index i = 0; i < from.seq(); ++i)
      for (Index c = 0; c < from.head_dim(); ++c) to(h, i, c) += from(h, i, c);
}

void clear_rows(HeadsView<float> rows) {
  for (Index h = 0; h < rows.heads(); ++h)
    for (Index i = 0; i < rows.seq(); ++i) std::ranges::fill(rows.head(h).row(i), 0.0f);
}

/// Sends `held` on if it goes further than step - 1 hops; what comes takes its place.
void step_on(const course::Ring& ring, std::span<const Positions> positions, const std::vector<int>& hops, int step,
             Pair& held) {
  const auto leaving = static_cast<std::size_t>(ring.owner_after(step - 1));
  const auto coming = static_cast<std::size_t>(ring.owner_after(step));
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  Pair arriving(held.heads, hops[coming] >= step ? std::ssize(positions[coming]) : 0, held.key_dim, held.value_dim);
  if (hops[coming] >= step)
    MPI_Irecv(arriving.numbers.data(), arriving.count(), MPI_FLOAT, ring.previous(), 7, ring.comm, &requests[0]);
  if (hops[leaving] >= step)
    MPI_Isend(held.numbers.data(), held.count(), MPI_FLOAT, ring.next(), 7, ring.comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  held = std::move(arriving);
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
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  const Positions& mine = positions[static_cast<std::size_t>(ring.rank)];
  course::AttentionState state(q.heads(), q.seq(), v.head_dim());
  join_sinks(sinks, state);
  Pair held(k.heads(), k.seq(), k.head_dim(), v.head_dim());
  copy_rows(k, held.first());
  copy_rows(v, held.second());
  for (int s = 0; s < ring.size; ++s) {
    if (s > 0) step_on(ring, positions, hops, s, held);
    const auto owner = static_cast<std::size_t>(ring.owner_after(s));
    const std::vector<KeyRange> seen = key_ranges(mine, positions[owner], mask);
    if (!sees_something(seen)) continue;  // what I see has come
    const course::PositionBias bias{slopes, mine, positions[owner]};
    course::BlockRequest request{q, held.first(), held.second(), static_cast<int>(owner), scale, seen};
    if (!slopes.empty()) request.bias = &bias;
    block.accumulate(request, state);
  }
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
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  const Positions& mine = positions[static_cast<std::size_t>(ring.rank)];
  std::vector<float> delta_numbers(static_cast<std::size_t>(q.heads() * q.seq()));
  const MatrixView<float> delta(delta_numbers.data(), q.heads(), q.seq());
  for (Index h = 0; h < q.heads(); ++h)
    for (Index i = 0; i < q.seq(); ++i)
      for (Index c = 0; c < o.head_dim(); ++c) delta(h, i) += o(h, i, c) * d_o(h, i, c);
  clear_rows(dq);
  clear_rows(dk);
  clear_rows(dv);

  Pair held(k.heads(), k.seq(), k.head_dim(), v.head_dim());
  copy_rows(k, held.first());
  copy_rows(v, held.second());
  for (int s = 0; s < ring.size; ++s) {
    if (s > 0) step_on(ring, positions, hops, s, held);
    const auto owner = static_cast<std::size_t>(ring.owner_after(s));
    const auto other = static_cast<std::size_t>((ring.rank + s) % ring.size);  // who has my block now
    MPI_Request request_home = MPI_REQUEST_NULL;
    Pair inbox(k.heads(), s == 0 ? 0 : k.seq(), k.head_dim(), v.head_dim());
    const bool comes = s > 0 && sees_something(key_ranges(positions[other], mine, mask));
    if (comes)
      MPI_Irecv(inbox.numbers.data(), inbox.count(), MPI_FLOAT, static_cast<int>(other), 8, comm, &request_home);
    const std::vector<KeyRange> seen = key_ranges(mine, positions[owner], mask);
    if (sees_something(seen)) {
      const course::PositionBias bias{slopes, mine, positions[owner]};
      course::BlockRequest request{q, held.first(), held.second(), static_cast<int>(owner), scale, seen};
      if (!slopes.empty()) request.bias = &bias;
      if (s == 0) {
        block.accumulate(request, d_o, lse, delta, dq, dk, dv);
      } else {
        Pair share(held.heads, held.tokens, held.key_dim, held.value_dim);
        block.accumulate(request, d_o, lse, delta, dq, share.first(), share.second());
        MPI_Send(share.numbers.data(), share.count(), MPI_FLOAT, static_cast<int>(owner), 8, comm);
      }
    }
    if (comes) {
      MPI_Wait(&request_home, MPI_STATUS_IGNORE);
      add_rows(inbox.first(), dk);
      add_rows(inbox.second(), dv);
    }
  }
  if (d_sinks.empty()) return;
  sink_gradients(sinks, lse, delta, d_sinks);
  MPI_Allreduce(MPI_IN_PLACE, d_sinks.data(), static_cast<int>(d_sinks.size()), MPI_FLOAT, MPI_SUM, comm);
}

}  // namespace lesson16
