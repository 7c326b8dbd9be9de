// right: keys and values of the next block come while this one is computed (own Isend and Irecv, two rooms); dK and dV in one message; sinks join in the middle; MPI_Iallreduce at the start
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

HeadsView<float> view_in(std::vector<float>& room, Index heads, Index tokens, Index width) {
  return {room.data(), heads, tokens, width};
}

std::vector<float> packed(HeadsView<const float> x) {
  std::vector<float> numbers;
  numbers.reserve(static_cast<std::size_t>(x.size()));
  for (Index h = 0; h < x.heads(); ++h)
    for (Index i = 0; i < x.seq(); ++i)
      for (const float number : x.head(h).row(i)) numbers.push_back(number);
  return numbers;
}

bool sees_something(const std::vector<KeyRange>& ranges) {
  return std::ranges::any_of(ranges, [](const KeyRange& range) { return range.first < range.last; });
}


/// What is in a rank's hands: its keys and values now, and those that are coming while it computes.
class Conveyor {
 public:
  Conveyor(MPI_Comm comm, std::span<const Positions> positions, const RowMask& mask, HeadsView<const float> k,
           HeadsView<const float> v)
      : ring(comm),
        hops(hops_needed(positions, mask)),
        positions_(positions),
        heads_(k.heads()),
        key_dim_(k.head_dim()),
        value_dim_(v.head_dim()),
        keys_(packed(k)),
        values_(packed(v)) {}

  int owner() const { return ring.owner_after(step_); }
  Index tokens_of(int rank) const { return std::ssize(positions_[static_cast<std::size_t>(rank)]); }
  bool here() const { return hops[static_cast<std::size_t>(owner())] >= step_; }
  bool leaves() const { return hops[static_cast<std::size_t>(owner())] > step_; }
  bool comes() const { return step_ + 1 < ring.size && hops[static_cast<std::size_t>(coming())] > step_; }
  int coming() const { return ring.owner_after(step_ + 1); }
  int step() const { return step_; }
  HeadsView<const float> keys() { return view_in(keys_, heads_, tokens_of(owner()), key_dim_); }
  HeadsView<const float> values() { return view_in(values_, heads_, tokens_of(owner()), value_dim_); }

  /// Starts the next hop. What is here may be read until finish_hop.
  void start_hop() {
    requests_ = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (comes()) {
      next_keys_.resize(static_cast<std::size_t>(heads_ * tokens_of(coming()) * key_dim_));
      next_values_.resize(static_cast<std::size_t>(heads_ * tokens_of(coming()) * value_dim_));
      MPI_Irecv(next_keys_.data(), static_cast<int>(next_keys_.size()), MPI_FLOAT, ring.previous(), 21, ring.comm,
                &requests_[0]);
      MPI_Irecv(next_values_.data(), static_cast<int>(next_values_.size()), MPI_FLOAT, ring.previous(), 22, ring.comm,
                &requests_[1]);
    }
    if (step_ + 1 < ring.size && leaves()) {
      MPI_Isend(keys_.data(), static_cast<int>(keys_.size()), MPI_FLOAT, ring.next(), 21, ring.comm, &requests_[2]);
      MPI_Isend(values_.data(), static_cast<int>(values_.size()), MPI_FLOAT, ring.next(), 22, ring.comm, &requests_[3]);
    }
  }

  void finish_hop() {
    MPI_Waitall(4, requests_.data(), MPI_STATUSES_IGNORE);
    if (comes()) {
      keys_.swap(next_keys_);
      values_.swap(next_values_);
    }
    ++step_;
  }

  course::Ring ring;
  std::vector<int> hops;

 private:
  std::span<const Positions> positions_;
  Index heads_, key_dim_, value_dim_;
  std::vector<float> keys_, values_, next_keys_, next_values_;
  std::array<MPI_Request, 4> requests_{};
  int step_ = 0;
};

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
  Conveyor belt(comm, positions, mask, k, v);
  const Positions& mine = positions[static_cast<std::size_t>(belt.ring.rank)];
  course::AttentionState state(q.heads(), q.seq(), v.head_dim());
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  for (int s = 0; s < belt.ring.size; ++s) {
    belt.start_hop();
    const Positions& theirs = positions[static_cast<std::size_t>(belt.owner())];
    const std::vector<KeyRange> seen = key_ranges(mine, theirs, mask);
    if (sees_something(seen)) {
      const course::PositionBias bias{slopes, mine, theirs};
      block.accumulate({q, belt.keys(), belt.values(), belt.owner(), scale, seen, slopes.empty() ? nullptr : &bias},
                       state);
    }
    if (s == belt.ring.size / 2) join_sinks(sinks, state);  // once, wherever
    belt.finish_hop();
  }
  block.finish(state, o, lse);
}

void packed_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<float> d_sinks, std::span<const Positions> positions, const RowMask& mask,
                          std::span<const float> slopes, std::span<const float> sinks,
                          const course::BlockBackward& block, MPI_Comm comm) {
  Conveyor belt(comm, positions, mask, k, v);
  const course::Ring& ring = belt.ring;
  const Positions& mine = positions[static_cast<std::size_t>(ring.rank)];
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));

  std::vector<float> delta_numbers;
  for (Index h = 0; h < q.heads(); ++h) {
    for (Index i = 0; i < q.seq(); ++i) {
      float sum = 0.0f;
      for (Index c = 0; c < o.head_dim(); ++c) sum += o(h, i, c) * d_o(h, i, c);
      delta_numbers.push_back(sum);
      std::ranges::fill(dq.head(h).row(i), 0.0f);
    }
  }
  const MatrixView<const float> delta(delta_numbers.data(), q.heads(), q.seq());
  // The sinks' share first: the sum over the ranks is under way while the ring turns.
  MPI_Request sums_of_sinks = MPI_REQUEST_NULL;
  if (!d_sinks.empty()) {
    sink_gradients(sinks, lse, delta, d_sinks);
    MPI_Iallreduce(MPI_IN_PLACE, d_sinks.data(), static_cast<int>(d_sinks.size()), MPI_FLOAT, MPI_SUM, comm,
                   &sums_of_sinks);
  }

  // The rank where my block stops sends me dk and dv in one message.
  const int goes = belt.hops[static_cast<std::size_t>(ring.rank)];
  std::vector<float> home(static_cast<std::size_t>(goes > 0 ? dk.size() + dv.size() : 0));
  MPI_Request from_afar = MPI_REQUEST_NULL;
  if (goes > 0)
    MPI_Irecv(home.data(), static_cast<int>(home.size()), MPI_FLOAT, (ring.rank + goes) % ring.size, 23, comm, &from_afar);

  std::vector<float> sums(static_cast<std::size_t>(k.size() + v.size()), 0.0f);  // dK, then dV
  const auto unpack = [&](std::vector<float>& both) {
    for (Index h = 0; h < k.heads(); ++h) {
      for (Index j = 0; j < k.seq(); ++j) {
        std::copy_n(both.data() + (h * k.seq() + j) * k.head_dim(), k.head_dim(), dk.head(h).row(j).begin());
        std::copy_n(both.data() + k.size() + (h * v.seq() + j) * v.head_dim(), v.head_dim(), dv.head(h).row(j).begin());
      }
    }
  };
  for (int s = 0; s < ring.size; ++s) {
    belt.start_hop();
    const int owner = belt.owner();
    const Index tokens = belt.tokens_of(owner);
    const Positions& theirs = positions[static_cast<std::size_t>(owner)];
    const std::vector<KeyRange> seen = key_ranges(mine, theirs, mask);
    if (sees_something(seen)) {
      const course::PositionBias bias{slopes, mine, theirs};
      const HeadsView<float> key_sums(sums.data(), k.heads(), tokens, k.head_dim());
      const HeadsView<float> value_sums(sums.data() + key_sums.size(), v.heads(), tokens, v.head_dim());
      block.accumulate({q, belt.keys(), belt.values(), owner, scale, seen, slopes.empty() ? nullptr : &bias}, d_o, lse,
                       delta, dq, key_sums, value_sums);
    }
    if (belt.here() && !belt.leaves()) {
      if (s == 0) {
        unpack(sums);
      } else {
        MPI_Send(sums.data(), static_cast<int>(sums.size()), MPI_FLOAT, owner, 23, comm);
      }
    }
    // The sums cannot go before they are complete.
    std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    std::vector<float> arriving;
    const bool comes = belt.comes();
    if (comes) {
      arriving.resize(static_cast<std::size_t>(k.heads() * belt.tokens_of(belt.coming()) * (k.head_dim() + v.head_dim())));
      MPI_Irecv(arriving.data(), static_cast<int>(arriving.size()), MPI_FLOAT, ring.previous(), 24, comm, &requests[0]);
    }
    if (belt.leaves()) MPI_Isend(sums.data(), static_cast<int>(sums.size()), MPI_FLOAT, ring.next(), 24, comm, &requests[1]);
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    if (comes) sums = std::move(arriving);
    belt.finish_hop();
  }
  if (goes > 0) {
    MPI_Wait(&from_afar, MPI_STATUS_IGNORE);
    unpack(home);
  }
  MPI_Wait(&sums_of_sinks, MPI_STATUS_IGNORE);
}

}  // namespace lesson16
