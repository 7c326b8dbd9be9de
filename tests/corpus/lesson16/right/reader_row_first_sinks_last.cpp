// right: tasks 1 to 6 by other means (two fingers, the whole row first, a normalised state); sinks join what finish wrote; the way home has a duplicated communicator; Reduce and Bcast
#include "packed_and_windowed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

namespace lesson16 {

namespace {

void look_at(std::span<const Index> starts, Index end) {
  const auto refuse = [](Index number) { throw std::invalid_argument("not a list of starts: " + std::to_string(number)); };
  if (starts.empty()) refuse(0);
  if (starts[0] != 0) refuse(starts[0]);
  const auto fall = std::ranges::adjacent_find(starts, std::greater<>());
  if (fall != starts.end()) refuse(*(fall + 1));
  if (starts.back() > end) refuse(starts.back());
}

/// By position: where its document begins and ends; padding is one that begins at starts.back().
struct Document {
  Index begin;
  Index end;
};

Document find(std::span<const Index> starts, Index p, Index end) {
  Document found{starts.back(), end};
  for (std::size_t d = 0; d + 1 < starts.size(); ++d) {
    if (starts[d] <= p && p < starts[d + 1]) found = {starts[d], starts[d + 1]};
  }
  return found;
}

bool sees(std::span<const Index> queries, std::span<const Index> keys, const RowMask& mask) {
  for (const course::KeyRange& r : key_ranges(queries, keys, mask))
    if (r.first != r.last) return true;
  return false;
}

}  // namespace

/// Deals out the positions one by one: who owns this one?
Positions document_positions(Index tokens, std::span<const Index> starts, int world_size, int rank) {
  look_at(starts, tokens);
  Positions own;
  std::vector<Index> edges(starts.begin(), starts.end());
  edges.push_back(tokens);
  for (std::size_t d = 0; d + 1 < edges.size(); ++d) {
    Index p = edges[d];
    for (int chunk = 0; chunk < 2 * world_size; ++chunk) {
      const Index length = (edges[d + 1] - edges[d] + 2 * world_size - 1 - chunk) / (2 * world_size);
      const int who = chunk < world_size ? chunk : 2 * world_size - 1 - chunk;
      for (Index i = 0; i < length; ++i, ++p)
        if (who == rank) own.push_back(p);
    }
  }
  return own;
}

Batch packed_batch(std::span<const int> sequence, std::span<const Index> starts, std::span<const Index> positions) {
  const Index end = std::ssize(sequence);
  look_at(starts, end);
  // The whole row first, then what is ours.
  std::vector<int> labels(sequence.size(), ignored_label);
  Positions ids(sequence.size());
  for (Index p = 0; p < end; ++p) {
    const Document here = find(starts, p, end);
    ids[static_cast<std::size_t>(p)] = p - here.begin;
    if (p < starts.back() && p + 1 < here.end)
      labels[static_cast<std::size_t>(p)] = sequence[static_cast<std::size_t>(p + 1)];
  }
  Batch batch;
  for (const Index p : positions) {
    const auto at = static_cast<std::size_t>(p);
    batch.tokens.push_back(sequence[at]);
    batch.labels.push_back(labels[at]);
    batch.position_ids.push_back(ids[at]);
  }
  return batch;
}

/// Both lists ascend, and so do first and last: two fingers that never go back.
std::vector<course::KeyRange> key_ranges(std::span<const Index> query_positions, std::span<const Index> key_positions,
                                         const RowMask& mask) {
  if (mask.window < 0 || (!mask.causal && mask.window > 0))
    throw std::invalid_argument(std::to_string(mask.window) + " is no window of this mask");
  const Index keys = std::ssize(key_positions);
  const Index limit = mask.window == 0 ? std::numeric_limits<Index>::max() / 2 : mask.window;
  std::vector<course::KeyRange> ranges(query_positions.size(), {keys, keys});
  Index first = 0;
  Index last = 0;
  std::size_t d = 0;
  for (std::size_t i = 0; i < query_positions.size(); ++i) {
    const Index p = query_positions[i];
    while (d < mask.starts.size() && mask.starts[d] <= p) ++d;  // now d - 1 is its document
    if (d == mask.starts.size()) break;
    const Index from = std::max(mask.starts[d - 1], p + 1 - limit);
    const Index to = mask.causal ? p + 1 : mask.starts[d];
    while (first < keys && key_positions[static_cast<std::size_t>(first)] < from) ++first;
    while (last < keys && key_positions[static_cast<std::size_t>(last)] < to) ++last;
    ranges[i] = {first, last};
  }
  return ranges;
}

std::vector<int> hops_needed(std::span<const Positions> positions, const RowMask& mask) {
  const std::size_t ranks = positions.size();
  std::vector<int> farthest(ranks, 0);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t block = 0; block < ranks; ++block) {
      if (sees(positions[rank], positions[block], mask))
        farthest[block] = std::max(farthest[block], static_cast<int>((rank + ranks - block) % ranks));
    }
  }
  return farthest;
}

std::vector<float> alibi_slopes(Index heads) {
  Index power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<float> slopes;
  const auto slopes_of = [](Index count, Index head) {
    return static_cast<float>(std::pow(2.0, -8.0 * static_cast<double>(head + 1) / static_cast<double>(count)));
  };
  for (Index head = 0; head < heads; ++head)
    slopes.push_back(head < power ? slopes_of(power, head) : slopes_of(2 * power, 2 * (head - power)));
  return slopes;
}

/// Leaves a normalised state: l = 1, m = lse, O = o.
void join_sinks(std::span<const float> sinks, course::AttentionState& state) {
  for (std::size_t head = 0; head < sinks.size(); ++head) {
    const auto h = static_cast<Index>(head);
    for (Index i = 0; i < state.m().cols(); ++i) {
      const auto row = state.o().head(h).row(i);
      const double l = state.l()(h, i);
      const double z = sinks[head];
      state.l()(h, i) = 1.0f;
      if (l == 0.0) {
        state.m()(h, i) = sinks[head];
        std::ranges::fill(row, 0.0f);
        continue;
      }
      const double lse = state.m()(h, i) + std::log(l);
      const double weight = 1.0 / (1.0 + std::exp(z - lse));
      const double joined = lse > z ? lse + std::log1p(std::exp(z - lse)) : z + std::log1p(std::exp(lse - z));
      state.m()(h, i) = static_cast<float>(joined);
      for (float& number : row) number = static_cast<float>(number / l * weight);
    }
  }
}

void sink_gradients(std::span<const float> sinks, MatrixView<const float> lse, MatrixView<const float> delta,
                    std::span<float> d_sinks) {
  std::ranges::fill(d_sinks, 0.0f);
  for (Index i = 0; i < lse.cols(); ++i)
    for (Index h = 0; h < lse.rows(); ++h)
      d_sinks[static_cast<std::size_t>(h)] -= std::exp(sinks[static_cast<std::size_t>(h)] - lse(h, i)) * delta(h, i);
}

void packed_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                           const RowMask& mask, std::span<const float> slopes, std::span<const float> sinks,
                           const course::BlockForward& block, MPI_Comm comm) {
  const course::Ring ring(comm);
  const auto u = hops_needed(positions, mask);
  std::vector<int> lengths;
  std::ranges::transform(positions, std::back_inserter(lengths), [](const Positions& p) { return static_cast<int>(p.size()); });
  course::TravellingTensor keys(ring, lengths, k);
  course::TravellingTensor values(ring, lengths, v);
  course::AttentionState state(q.heads(), q.seq(), v.head_dim());
  const Positions& mine = positions[static_cast<std::size_t>(ring.rank)];
  for (int done = 0;; ++done) {
    const int owner = ring.owner_after(done);
    const Positions& theirs = positions[static_cast<std::size_t>(owner)];
    if (sees(mine, theirs, mask)) {
      const auto seen = key_ranges(mine, theirs, mask);
      const course::PositionBias bias{slopes, mine, theirs};
      block.accumulate({q, keys.block(), values.block(), owner, 1 / std::sqrt(float(q.head_dim())), seen,
                        slopes.empty() ? nullptr : &bias},
                       state);
    }
    if (done + 1 == ring.size) break;
    const bool sends = u[static_cast<std::size_t>(owner)] > done;
    const bool receives = u[static_cast<std::size_t>(ring.owner_after(done + 1))] > done;
    keys.hop(sends, receives);
    values.hop(sends, receives);
  }
  block.finish(state, o, lse);
  // The sinks join what is written.
  for (std::size_t head = 0; head < sinks.size(); ++head) {
    const auto h = static_cast<Index>(head);
    for (Index i = 0; i < lse.cols(); ++i) {
      const float before = lse(h, i);
      const float z = sinks[head];
      const float top = std::max(before, z);
      lse(h, i) = top + std::log(std::exp(before - top) + std::exp(z - top));
      const float keep = std::exp(before - lse(h, i));
      for (float& number : o.head(h).row(i)) number *= keep;
    }
  }
}

void packed_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<float> d_sinks, std::span<const Positions> positions, const RowMask& mask,
                          std::span<const float> slopes, std::span<const float> sinks,
                          const course::BlockBackward& block, MPI_Comm comm) {
  const course::Ring ring(comm);
  const auto u = hops_needed(positions, mask);
  std::vector<int> lengths;
  std::ranges::transform(positions, std::back_inserter(lengths), [](const Positions& p) { return static_cast<int>(p.size()); });
  MPI_Comm home = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &home);
  std::vector<MPI_Request> requests;
  const int far = u[static_cast<std::size_t>(ring.rank)];
  const auto post = [&](HeadsView<float> room) {
    requests.emplace_back();
    MPI_Irecv(room.data(), static_cast<int>(room.size()), MPI_FLOAT, (ring.rank + far) % ring.size, MPI_ANY_TAG, home,
              &requests.back());
  };
  if (far != 0) {
    post(dk);
    post(dv);
  }
  std::vector<float> dots(static_cast<std::size_t>(q.heads() * q.seq()));
  MatrixView<float> delta(dots.data(), q.heads(), q.seq());
  for (Index h = 0; h < q.heads(); ++h) {
    for (Index i = 0; i < q.seq(); ++i) {
      const auto left = o.head(h).row(i);
      const auto right = d_o.head(h).row(i);
      delta(h, i) = std::inner_product(left.begin(), left.end(), right.begin(), 0.0f);
      std::ranges::fill(dq.head(h).row(i), 0.0f);
    }
  }
  course::TravellingTensor keys(ring, lengths, k);
  course::TravellingTensor values(ring, lengths, v);
  course::TravellingTensor key_sums(ring, lengths, k.heads(), k.head_dim());
  course::TravellingTensor value_sums(ring, lengths, v.heads(), v.head_dim());
  const Positions& mine = positions[static_cast<std::size_t>(ring.rank)];
  for (int done = 0; done < ring.size; ++done) {
    const int owner = ring.owner_after(done);
    const int goes = u[static_cast<std::size_t>(owner)];
    const Positions& theirs = positions[static_cast<std::size_t>(owner)];
    if (sees(mine, theirs, mask)) {
      const auto seen = key_ranges(mine, theirs, mask);
      const course::PositionBias bias{slopes, mine, theirs};
      block.accumulate({q, keys.block(), values.block(), owner, 1 / std::sqrt(float(q.head_dim())), seen,
                        slopes.empty() ? nullptr : &bias},
                       d_o, lse, delta, dq, key_sums.block(), value_sums.block());
    }
    if (goes == done && owner == ring.rank) {
      for (Index h = 0; h < k.heads(); ++h) {
        for (Index j = 0; j < k.seq(); ++j) {
          std::ranges::copy(key_sums.block().head(h).row(j), dk.head(h).row(j).begin());
          std::ranges::copy(value_sums.block().head(h).row(j), dv.head(h).row(j).begin());
        }
      }
    } else if (goes == done) {
      MPI_Send(key_sums.block().data(), static_cast<int>(key_sums.block().size()), MPI_FLOAT, owner, 0, home);
      MPI_Send(value_sums.block().data(), static_cast<int>(value_sums.block().size()), MPI_FLOAT, owner, 0, home);
    }
    if (done + 1 == ring.size) break;
    const bool sends = goes > done;
    const bool receives = u[static_cast<std::size_t>(ring.owner_after(done + 1))] > done;
    for (course::TravellingTensor* x : {&keys, &values, &key_sums, &value_sums}) x->hop(sends, receives);
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  MPI_Comm_free(&home);
  if (!sinks.empty()) {
    std::vector<float> share(sinks.size());
    sink_gradients(sinks, lse, delta, share);
    MPI_Reduce(share.data(), d_sinks.data(), static_cast<int>(share.size()), MPI_FLOAT, MPI_SUM, 0, comm);
    MPI_Bcast(d_sinks.data(), static_cast<int>(share.size()), MPI_FLOAT, 0, comm);
  }
}

}  // namespace lesson16
