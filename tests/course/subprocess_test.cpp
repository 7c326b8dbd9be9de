#include "runner/subprocess.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace course {

namespace {

TEST(Capture, EndsAtItsLimitWhoeverElseHoldsThePipe) {
  // The shell ends when it is asked to; the sleeper that it leaves behind keeps its stdout for longer.
  errno = EINTR;  // as an earlier call may have left it
  const Captured said =
      capture({.argv = {"sh", "-c", "(sleep 20; echo late) & echo early; sleep 20"}, .limit_s = 0.2});
  EXPECT_TRUE(said.exit.timed_out);
  EXPECT_EQ(said.output, "early\n");
}

TEST(Capture, StartsWithWhatTheCommandSays) {
  const Captured said = capture({.argv = {"sh", "-c", "pwd; echo $WORD >&2; cat; printf end; exit 3"},
                                 .folder = "/",
                                 .environment = {{"WORD", "a word"}}});
  EXPECT_EQ(said.exit.code, 3);
  EXPECT_EQ(said.output, "/\na word\nend\n");
}

TEST(Capture, SaysWhatCannotBeStarted) {
  const Captured said = capture({.argv = {"no-such-program"}});
  EXPECT_EQ(said.exit.code, 127);
  EXPECT_EQ(said.output, "cannot start no-such-program: No such file or directory\n");
}

TEST(Run, TellsASignal) {
  const Exit exit = run({.argv = {"sh", "-c", "kill -TERM $$"}});
  EXPECT_EQ(exit.code, 143);
  EXPECT_EQ(exit.signal, 15);
  EXPECT_FALSE(exit.timed_out);
}

}  // namespace

}  // namespace course
