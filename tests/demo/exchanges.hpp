#pragma once

#include <string>

#include "own_tensor.hpp"
#include "reference/reference.hpp"
#include "ring_demo.hpp"
#include "tensor/npy.hpp"

namespace course {

inline constexpr Index exchanged_tokens = 13, exchanged_width = 4;

/// `--exchange`, on own tensors of 13 tokens.
class Exchanges : public RingDemo {
 protected:
  std::string own_tensors(Index heads, Index kv_heads) const {
    for (const auto& [name, count] : {std::pair{"q", heads}, {"k", kv_heads}, {"v", kv_heads}, {"do", heads}})
      write_npy(folder_ / (std::string(name) + ".npy"), own(name, count));
    return "--q q.npy --k k.npy --v v.npy --do do.npy ";
  }

  static Tensor own(const std::string& name, Index heads) {
    return own_tensor({heads, exchanged_tokens, exchanged_width}, name[0]);
  }

  /// o and lse and, if `backward`, the gradients, against float64.
  void expect_saved(Index heads, Index kv_heads, bool causal, bool backward, const std::string& where) const {
    const Tensor64 q = cast<double>(own("q", heads)), k = cast<double>(own("k", kv_heads)),
                   v = cast<double>(own("v", kv_heads)), d_o = cast<double>(own("do", heads));
    const reference::Mask mask = causal ? reference::Mask::causal() : reference::Mask::none();
    const auto forward = reference::attention(q, k, v, mask);
    const auto gradients = reference::attention_gradients(q, k, v, d_o, mask);
    for (const auto& [name, expected] : {std::pair{"o", &forward.o},
                                         {"lse", &forward.lse},
                                         {"dq", &gradients.dq},
                                         {"dk", &gradients.dk},
                                         {"dv", &gradients.dv}}) {
      if (!backward && name[0] == 'd') continue;
      const Tensor saved = read_npy<float>(folder_ / "out" / (std::string(name) + ".npy"));
      ASSERT_EQ(saved.shape(), expected->shape()) << name << where;
      for (Index i = 0; i < saved.size(); ++i)
        ASSERT_NEAR(saved[i], (*expected)[i], 1e-3) << name << ", value " << i << where;
    }
  }
};

}  // namespace course
