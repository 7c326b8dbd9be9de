#pragma once

#include "own_tensor.hpp"
#include "reference/reference.hpp"
#include "ring_demo.hpp"
#include "tensor/npy.hpp"

namespace course {

/// The demo on q, k, v and the gradient of a sequence that no world size but 1 divides.
class OwnSequence : public RingDemo {
 protected:
  void write_own() const {
    for (const char* name : {"q", "k", "v", "do"})
      write_npy(folder_ / (std::string(name) + ".npy"), own_tensor(shape_, name[0]));
  }

  /// Everything is there, in the order of the sequence.
  void expect_saved(const reference::Mask& mask, const std::string& where) const {
    const auto forward = reference::attention(own("q"), own("k"), own("v"), mask);
    const auto backward = reference::attention_gradients(own("q"), own("k"), own("v"), own("do"), mask);
    for (const auto& [name, expected] : {std::pair{"o", &forward.o},
                                         {"lse", &forward.lse},
                                         {"dq", &backward.dq},
                                         {"dk", &backward.dk},
                                         {"dv", &backward.dv}}) {
      const Tensor saved = read_npy<float>(folder_ / "out" / (std::string(name) + ".npy"));
      ASSERT_EQ(saved.shape(), expected->shape()) << name << where;
      for (Index i = 0; i < saved.size(); ++i)
        ASSERT_NEAR(saved[i], (*expected)[i], 1e-3) << name << ", value " << i << where;
    }
  }

  const std::string own_files_ = "--q q.npy --k k.npy --v v.npy --do do.npy --out out ";

 private:
  Tensor64 own(const char* name) const { return cast<double>(own_tensor(shape_, name[0])); }

  const Shape shape_{2, 11, 4};
};

}  // namespace course
