#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "protocol/block_log.hpp"
#include "tensor/view.hpp"

namespace course {

/// What block computations have left in the memory of dK and dV, for which later ones are given it, too.
class GradientRooms {
 public:
  /// Looks at tensors without gaps between their rows. Returns the first number in the tensors of `owner`'s
  /// block, before it is computed, that the block of another owner has left there: it has not changed since,
  /// or others of the tensor were set to 0 and it was not. (A sum that has arrived in the same memory is
  /// neither.)
  block_log::Leftover look(int owner, HeadsView<const float> dk, HeadsView<const float> dv) const {
    for (const auto& [tensor, x] : {std::pair{0, dk}, std::pair{1, dv}}) {
      if (!x.is_contiguous()) continue;
      const std::span<const float> numbers(x.data(), static_cast<std::size_t>(x.size()));
      const bool cleared_in_part = std::ranges::count(numbers, 0.0f) > 0;
      for (const float& number : numbers) {
        const Left* const left = number == 0 ? nullptr : last_at(&number);
        if (left == nullptr || left->owner == owner) continue;
        if (!cleared_in_part && left->at(&number) != number) continue;
        const Index i = &number - x.data(), row = i / x.head_dim();
        return {tensor, row / x.seq(), row % x.seq(), i % x.head_dim(), left->owner};
      }
    }
    return {};
  }

  /// The block is computed.
  void leave(int owner, HeadsView<const float> dk, HeadsView<const float> dv) {
    for (const HeadsView<const float>& x : {dk, dv}) {
      if (x.size() > largest || !x.is_contiguous()) continue;
      std::erase_if(all_,
                    [&](const Left& left) { return left.begin == x.data() && left.ssize() <= x.size(); });
      all_.push_back({x.data(), {x.data(), x.data() + x.size()}, owner});
    }
  }

 private:
  /// Numbers. Larger tensors are not remembered: copies of them would be most of what a rank holds, of which
  /// somebody keeps count.
  static constexpr Index largest = 16 * 1024;

  struct Left {
    const float* begin;
    std::vector<float> numbers;
    int owner;
    Index ssize() const { return std::ssize(numbers); }
    bool covers(const float* place) const {
      return std::greater_equal<>()(place, begin) && std::less<>()(place, begin + ssize());
    }
    float at(const float* place) const { return numbers[place - begin]; }
  };

  const Left* last_at(const float* place) const {
    const auto last =
        std::find_if(all_.rbegin(), all_.rend(), [&](const Left& left) { return left.covers(place); });
    return last == all_.rend() ? nullptr : &*last;
  }

  std::vector<Left> all_;  ///< in the order of time
};

}  // namespace course
