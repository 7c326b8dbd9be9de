#include "judge/program/session.hpp"

#include <gtest/gtest.h>

namespace course {

namespace {

/// Allows nothing, so that every example allows too much.
Task blunt_task() {
  const auto always = [](const Example&) { return Answer{{"o", Tensor64({2}, {3, 4})}}; };
  return {.id = "1",
          .function = "no_such_function",
          .outputs = {{"o", {"row"}}},
          .examples =
              [](InputGenerator&, int) {
                return std::vector<Example>{{"some input", {{"x", Tensor({1, 1})}}}};
              },
          .expected = always,
          .baseline = always,
          .largest_tolerance = 0};
}

TEST(Session, IsEndedByABluntExampleWhereExamplesMustBeSharpAlone) {
  const Task task = blunt_task();
  for (const bool must_be_sharp : {false, true}) {
    Session session{{{&task, 0}},
                    Launcher({.subject = SUBJECT, .player = {PLAYER_SOLO}}),
                    {.must_be_sharp = must_be_sharp}};
    if (must_be_sharp) {
      EXPECT_THROW(session.play(), std::logic_error);
    } else {
      session.play();
      EXPECT_NE(session.first.tests.at(0).verdict.text.find("no_such_function"), std::string::npos);
    }
  }
}

}  // namespace

}  // namespace course
