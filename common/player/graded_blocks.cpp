#include "player/graded_blocks.hpp"

#include <type_traits>

#include "player/plain_attention.hpp"

namespace course {

namespace {

template <class T>
ComputeBuffer buffer(HeadsView<T> x) {
  return {x.data(), x.size() * static_cast<std::int64_t>(sizeof(float)), !std::is_const_v<T>};
}

/// While it lives the instruments know that a block is being computed.
class Computing {
 public:
  Computing(ComputeObserver& observer, const std::vector<ComputeBuffer>& buffers) : observer_(observer) {
    observer_.begin(buffers);
  }
  ~Computing() { observer_.end(); }

  /// What the computation is to call after each tile.
  BetweenTiles after_a_tile(const BetweenTiles& between_tiles) {
    return [this, &between_tiles] {
      observer_.pause();
      if (between_tiles) between_tiles();
    };
  }

  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;

 private:
  ComputeObserver& observer_;
};

}  // namespace

void GradedBlocks::enter(int owner, HeadsView<const float> k, HeadsView<const float> v) {
  entries_.push_back({static_cast<float>(owner), static_cast<float>(k.seq()), block_log::fingerprint(k),
                      block_log::fingerprint(v)});
}

TiledBlockAttention GradedBlocks::make_forward(bool in_tiles) {
  handed_out_ = true;
  ComputeObserver& told = in_tiles ? observer_ : nobody_;
  return {[this, &told](HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                        int owner, AttentionState& state, const BetweenTiles& between_tiles) {
            Computing computing(told, {buffer(q), buffer(k), buffer(v)});
            enter(owner, k, v);
            plain::accumulate(q, k, v, owner, state, computing.after_a_tile(between_tiles));
          },
          plain::finish};
}

TiledBlockAttentionBackward GradedBlocks::make_backward(bool in_tiles) {
  handed_out_ = true;
  ComputeObserver& told = in_tiles ? observer_ : nobody_;
  return {[this, &told](HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                        HeadsView<const float> d_o, MatrixView<const float> lse,
                        MatrixView<const float> delta, int owner, HeadsView<float> dq, HeadsView<float> dk,
                        HeadsView<float> dv, const BetweenTiles& between_tiles) {
    Computing computing(told,
                        {buffer(q), buffer(k), buffer(v), buffer(d_o), buffer(dq), buffer(dk), buffer(dv)});
    enter(owner, k, v);
    plain::accumulate_backward(q, k, v, d_o, lse, delta, owner, dq, dk, dv,
                               computing.after_a_tile(between_tiles));
  }};
}

std::optional<Tensor> GradedBlocks::log() const {
  if (!handed_out_) return std::nullopt;
  std::vector<float> values;
  for (const block_log::Entry& entry : entries_)
    values.insert(values.end(), {entry.owner, entry.keys, entry.k, entry.v});
  return Tensor({static_cast<Index>(entries_.size()), block_log::columns}, std::move(values));
}

}  // namespace course
