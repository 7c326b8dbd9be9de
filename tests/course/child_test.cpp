#include "course/build/child.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace course::program {

namespace {

TEST(Capture, EndsAtItsLimitWhoeverElseHoldsThePipe) {
  // The shell ends when it is asked to; the sleeper that it leaves behind keeps its stdout for longer.
  errno = EINTR;  // as an earlier call may have left it
  const Captured said = capture({.argv = {"sh", "-c", "(sleep 20; echo late) & echo early; sleep 20"},
                                 .folder = {},
                                 .environment = {},
                                 .limit_s = 0.2});
  EXPECT_TRUE(said.exit.timed_out);
  EXPECT_EQ(said.output, "early\n");
}

}  // namespace

}  // namespace course::program
