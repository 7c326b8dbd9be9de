#include "judge/attention/block_backward.hpp"

#include <gtest/gtest.h>

#include "judge/attention/block_backward_steps.hpp"
#include "judge/attention/forward.hpp"
#include "judge/attention/gradient_checks.hpp"
#include "judge/numbers/compare.hpp"

namespace course::block_backward {

namespace {

using reference::Mask;

TEST(BlockBackward, FollowsRangesOfKeysThatBeginAnywhere) {
  InputGenerator generator(1);
  for (const Mask& mask :
       {Mask::window(5), Mask::window(3, 4), Mask::documents({0, 4, 13}) & Mask::causal(-1)}) {
    Example example =
        drawn_example(generator, "", random_qkv(generator, 2, 13, 17, 5), LseGradient::Drawn, {4, 4});
    const AttentionProblem problem = problem_of(example, input(example, "d_lse"), mask);
    const reference::Attention<double> forward = reference::attention(problem.q, problem.k, problem.v, mask);
    example.inputs["o"] = cast<float>(forward.o);
    example.inputs["lse"] = cast<float>(forward.lse);
    const Answer right = right_gradients(problem);
    for (const auto& [name, gradient] : gradients<double>({}, example, mask))
      EXPECT_LT(relative_error(gradient, right.at(name)), 1e-5) << name;
    for (const Weights wrong : {Weights::NothingHidden, Weights::CountedPerBlock, Weights::BlockMaximum}) {
      for (const auto& [name, gradient] : gradients<double>({.weights = wrong}, example, mask))
        EXPECT_GT(relative_error(gradient, right.at(name)), 1e-2) << name;
    }
  }
}

}  // namespace

}  // namespace course::block_backward
