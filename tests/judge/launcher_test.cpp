#include "runner/launcher.hpp"

#include <gtest/gtest.h>

namespace course {

namespace {

/// A case that ends with an exception: no adapter has its function.
Case throwing_case() {
  return {{"no_such_function"}, "1", "1", {{{"x", Tensor({1, 1})}}}};
}

TEST(Launcher, PlaysATestOnAfterAnExceptionInTheLastCase) {
  Launcher launcher({.subject = SUBJECT, .player = {PLAYER_SOLO}});
  for (int again = 0; again < 2; ++again) {
    const std::vector<Outcome> outcomes = launcher.play({throwing_case(), throwing_case()});
    for (const Outcome& outcome : outcomes) {
      EXPECT_EQ(outcome.ending, Outcome::Ending::Threw) << outcome.text;
      EXPECT_NE(outcome.text.find("no_such_function"), std::string::npos) << outcome.text;
    }
  }
}

}  // namespace

}  // namespace course
