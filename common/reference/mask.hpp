#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ring/key_range.hpp"
#include "tensor/view.hpp"

namespace course::reference {

using course::KeyRange;

/// What a mask leaves of a tile.
enum class Tile { Empty, Mixed, Full };

/// Which keys each query sees: one range of them, both counted by their positions in the sequence.
class Mask {
 public:
  /// Every query sees every key.
  Mask();
  static Mask none() { return {}; }
  /// Query i sees keys 0 .. i + offset. Where there are fewer queries than keys, or more, an offset of 0
  /// aligns the first query with the first key, and keys - queries the last with the last.
  static Mask causal(Index offset = 0);
  /// Query i sees the last `width` keys up to key i + offset. Throws std::invalid_argument for width < 1.
  static Mask window(Index width, Index offset = 0);
  /// Queries and keys starts[d] .. starts[d + 1] - 1 are document d, and see nothing of others; a query
  /// beyond the last one sees no key. `starts` is what varlen kernels call cu_seqlens: it begins with 0 and
  /// does not fall, else std::invalid_argument with the number that is wrong.
  static Mask documents(std::vector<Index> starts);
  /// Documents, and of its own each query sees the keys up to itself if `causal`, and the last `window` of
  /// these, 0 being no limit. Without starts all is one document.
  static Mask packed(const std::vector<Index>& starts, bool causal, Index window);
  /// Query i sees the keys of ranges[i]; one beyond the last sees none.
  static Mask ranges(std::vector<KeyRange> ranges);
  /// What both masks show.
  friend Mask operator&(const Mask& a, const Mask& b);

  /// The range may reach beyond the keys that there are.
  KeyRange keys(Index query) const;
  /// The same mask of some positions, queries and keys counted by their places among them. Both ascend.
  Mask among(std::span<const Index> queries, std::span<const Index> keys) const;
  /// How many pairs of these queries and keys it shows, by their positions, which ascend: the scores that
  /// have to be computed.
  Index work(std::span<const Index> queries, std::span<const Index> keys) const;
  /// Whether it shows none of these pairs, some or all. Where there are no pairs: none.
  Tile tile(std::span<const Index> queries, std::span<const Index> keys) const;

 private:
  using Range = std::function<KeyRange(Index query)>;
  explicit Mask(Range range) : range_(std::move(range)) {}

  Range range_;  ///< may begin below 0 and end before it begins
};

}  // namespace course::reference
