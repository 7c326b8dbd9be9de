#include <gtest/gtest.h>

#include "complaint.hpp"
#include "player/adapter.hpp"

namespace course {
namespace {

class NoBlocks : public Blocks {
  BlockForward make_forward(Taker) override { return {}; }
  BlockBackward make_backward(Taker) override { return {}; }
};

#ifndef __SANITIZE_ADDRESS__  // else there is no margin, and the sanitizer ends the program at the line
TEST(Call, SaysWhichOutputWasWrittenToBeyondItsEnd) {
  NoBlocks blocks;
  Call call({}, {}, nullptr, blocks);
  call.output("dq", {2, 3});
  float* const dk = call.output("dk", {2, 3}).data();
  std::fill_n(dk, 6, 1.0f);
  EXPECT_NO_THROW(call.require_margins());
  dk[6] = 1.0f;
  EXPECT_EQ(complaint_of<std::out_of_range>([&] { call.require_margins(); }),
            "dk was written to beyond its end: its shape is [2, 3]");
  try {
    call.require_margins();
  } catch (const TellsFact& telling) {
    EXPECT_EQ(telling.fact().kind, fact_beyond_output);
  }
}
#endif

TEST(Call, SaysWhichInputWasWrittenTo) {
  NoBlocks blocks;
  const Call call({{"k", Tensor({2}, {1.0f, 2.0f})}, {"q", Tensor({2}, {3.0f, 4.0f})}}, {}, nullptr, blocks);
  const Call::InputMarks marks = call.mark_inputs();
  EXPECT_NO_THROW(call.require_inputs(marks));
  const_cast<float*>(call.input("k").data())[1] = 0.0f;
  EXPECT_EQ(complaint_of<std::logic_error>([&] { call.require_inputs(marks); }),
            "k was written to; it is an input, and its caller's");
  try {
    call.require_inputs(marks);
  } catch (const TellsFact& telling) {
    EXPECT_EQ(telling.fact().kind, fact_input_changed);
  }
}

TEST(Call, TakesAnOutputThatTheAdapterHasMade) {
  NoBlocks blocks;
  Call call({}, {}, nullptr, blocks);
  call.output("lse", {4}) = Tensor({4}, std::vector<float>(4, 1.0f));
  EXPECT_NO_THROW(call.require_margins());
}

}  // namespace
}  // namespace course
