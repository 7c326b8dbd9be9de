#include <gtest/gtest.h>

#include "protocol/fact_kinds.hpp"
#include "runner/launcher.hpp"

/// What is said of an answer on two ranks that touches memory that is not its own: with sanitizers by them,
/// else by what the player knows of the memory.
namespace course {

namespace {

using Ending = Outcome::Ending;

Outcome play(const std::string& function) {
  Case one{{function, {}}};
  one.inputs.resize(2);
  return Launcher({.subject = SUBJECT, .player = {PLAYER_MPI}, .mpi = true}).play({one}).at(0);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Memory, OfItsOwnAnAnswerMayUse) {
  const Outcome outcome = play("stays");
  EXPECT_EQ(outcome.ending, Ending::Finished) << outcome.text;
  for (const Facts& facts : outcome.facts) EXPECT_TRUE(facts.empty()) << facts.at(0).text;
}

#ifdef COURSE_SANITIZED

/// Of both ranks alike rank 0's is told.
void expect_told(const std::string& function, const std::string& what, const std::string& where) {
  const Outcome outcome = play(function);
  EXPECT_EQ(outcome.ending, Ending::Crashed);
  EXPECT_FALSE(outcome.by_signal);
  EXPECT_TRUE(outcome.text.starts_with("rank 0, ")) << outcome.text;
  EXPECT_TRUE(has(outcome.text, what)) << outcome.text;
  EXPECT_TRUE(has(outcome.text, "\nin " + where + " lessons/memory.cpp:")) << outcome.text;
  EXPECT_LE(std::ranges::count(outcome.text, '\n'), 1) << outcome.text;
}

TEST(Memory, IsLeftInAMessage) {
  expect_told("sends_beyond",
              "before any receive: AddressSanitizer: heap-buffer-overflow, READ of size 8 in MPI_Sendrecv\n",
              "hop");
  expect_told("receives_beyond", "AddressSanitizer: heap-buffer-overflow, WRITE of size 48 in MPI_Sendrecv\n",
              "hop");
}

TEST(Memory, IsLeftInACollective) {
  expect_told("broadcasts_beyond", "AddressSanitizer: heap-buffer-overflow, READ of size 8 in MPI_Bcast\n",
              "broadcasts_beyond");
}

TEST(Memory, IsLeftInTheAnswerItself) {
  expect_told("writes_beyond", "after 1 receive: AddressSanitizer: heap-buffer-overflow, WRITE of size 4\n",
              "writes_beyond");
  expect_told("frees_what_is_none", "before any receive: AddressSanitizer: attempting free",
              "frees_what_is_none");
}

TEST(Memory, IsNotAllThatSanitizersLookAt) {
  const Outcome outcome = play("divides_by_zero");
  EXPECT_TRUE(outcome.text.starts_with("rank 0, after 1 receive: lessons/memory.cpp:")) << outcome.text;
  EXPECT_TRUE(has(outcome.text, "runtime error: division by zero")) << outcome.text;
}

#else

void expect_fact(const std::string& function, const std::string& words) {
  const Outcome outcome = play(function);
  for (const Facts& facts : outcome.facts) {
    ASSERT_FALSE(facts.empty()) << outcome.text;
    const auto fact = std::ranges::find(facts, fact_beyond_block, &Fact::kind);
    ASSERT_NE(fact, facts.end());
    EXPECT_TRUE(has(fact->text, words)) << fact->text;
  }
}

TEST(Memory, IsLeftInAMessage) {
  expect_fact("sends_beyond", "that the function allocated and ends 8 bytes beyond it");
  expect_fact("receives_beyond",
              "ends 48 bytes beyond it; a count of bytes in place of one of numbers would do that");
}

TEST(Memory, IsLeftInACollective) {
  expect_fact("broadcasts_beyond",
              "the buffer of MPI_Bcast begins in memory of 8 bytes that the function allocated and ends 8");
}

TEST(Memory, IsWhatTheCLibraryComplainsOf) {
  const Outcome outcome = play("frees_what_is_none");
  EXPECT_EQ(outcome.ending, Ending::Crashed);
  EXPECT_TRUE(outcome.by_signal);
  // Which of its sentences the C library says depends on where the block lies.
  EXPECT_TRUE(has(outcome.text, "died of signal 6 (Aborted) before any receive (")) << outcome.text;
}

#endif

}  // namespace

}  // namespace course
