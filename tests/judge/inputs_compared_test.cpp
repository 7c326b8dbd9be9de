#include "judge/diagnosis/inputs_compared.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <list>

namespace course {

namespace {

/// Inputs of a task that returns its input x as o and the half of it as h, and what came of them.
class Inputs {
 public:
  Inputs() {
    const auto right = [](const Example& example) {
      Tensor64 half = cast<double>(example.inputs.at("x"));
      for (double& entry : half.values()) entry /= 2;
      return Answer{{"o", cast<double>(example.inputs.at("x"))}, {"h", half}};
    };
    task_.id = "1";
    task_.outputs = {{"o", {"row"}}, {"h", {"row"}}};
    task_.expected = task_.baseline = right;
  }

  /// `errors` are added to o; h is right.
  void play(const std::string& what, std::vector<float> x, const std::vector<float>& errors,
            Layout layout = {}) {
    const Index size = std::ssize(x);
    const Example& example =
        examples_.emplace_back(Example{what, {{"x", Tensor({size}, std::move(x))}}, {}, std::move(layout)});
    Outcome& outcome = outcomes_.emplace_back();
    outcome.ending = Outcome::Ending::Finished;
    const Answer right = task_.expected(example);
    Answer answer = right;
    for (std::size_t i = 0; i < errors.size(); ++i) answer.at("o")[static_cast<Index>(i)] += errors[i];
    played.push_back({&example, &outcome, right, right, {{"o", 1e-5}, {"h", 1e-5}}, answer, ""});
  }

  void filled_with(double filler) { task_.outputs[0].filler = filler; }

  void less_telling() { examples_.back().less_telling = true; }

  std::string simplest(bool relations) const {
    std::vector<const Played*> failed;
    for (const Played& one : played) {
      if (!is_right(one)) failed.push_back(&one);
    }
    return course::simplest(task_, failed, relations)->example->what;
  }

  std::string right_and_side(std::size_t shown = 0) const {
    return course::right_and_side(task_, played[shown], played);
  }

  std::string kinds_that_pass() const {
    std::set<const Played*> failed;
    for (const Played& one : played) {
      if (!is_right(one)) failed.insert(&one);
    }
    return course::kinds_that_pass(played, failed);
  }

  std::string one_wrong_rank(const char* axis) {
    for (Output& output : task_.outputs) output.axes = {axis};
    return course::one_wrong_rank(task_, played);
  }

  std::vector<Played> played;

 private:
  Task task_;
  std::list<Example> examples_;
  std::list<Outcome> outcomes_;
};

TEST(WrongRank, IsTheLastOrTheFirstOnEveryInput) {
  Inputs last;
  last.play("3 ranks", {1, 2, 3}, {0, 0, 1});
  last.play("2 ranks, which tell nothing", {1, 2}, {1, 1});
  EXPECT_EQ(last.one_wrong_rank("rank"), "") << "one input proves nothing";
  last.play("right", {1, 2, 3}, {});
  last.play("4 ranks", {1, 2, 3, 4}, {0, 0, 0, 5});
  EXPECT_EQ(last.one_wrong_rank("rank"), "wrong is the last rank, and no other, on every wrong input");
  EXPECT_EQ(last.one_wrong_rank("row"), "");
  last.play("another", {1, 2, 3}, {1, 0, 1});
  EXPECT_EQ(last.one_wrong_rank("rank"), "");
  Inputs first;
  first.play("3 ranks", {1, 2, 3}, {1});
  first.play("4 ranks", {1, 2, 3, 4}, {2});
  EXPECT_EQ(first.one_wrong_rank("rank"), "wrong is the first rank, and no other, on every wrong input");
}

TEST(SimplestInput, HasTheFewestNumbers) {
  Inputs inputs;
  inputs.play("many", {1, 2, 3, 4}, {1, 2, -3, 1});
  inputs.play("few", {1, 2}, {1, -1});
  inputs.play("fewest, which is right", {1}, {});
  EXPECT_EQ(inputs.simplest(false), "few");
}

TEST(SimplestInput, HasNothingSpecial) {
  const std::vector<float> specials[] = {{1, -std::numeric_limits<float>::infinity()}, {1, -150}, {0, 0}};
  for (const std::vector<float>& special : specials) {
    Inputs inputs;
    inputs.play("special", special, {1});
    inputs.play("plain", {1, 2, 3}, {1});
    EXPECT_EQ(inputs.simplest(true), "plain") << special[1];
  }
  Inputs inputs;
  inputs.play("an empty rank", {1, 2}, {1}, std::vector<int>{0, 2});
  inputs.play("plain", {1, 2, 3}, {1}, std::vector<int>{1, 2});
  EXPECT_EQ(inputs.simplest(true), "plain");
}

TEST(SimplestInput, IsOffByMoreThanRoundingWhereOneIs) {
  Inputs inputs;
  inputs.play("off by little", {1, 2}, {5e-5f, 1e-4f});
  inputs.play("far from 0, off by much", {1, 200, 3}, {1, -100});
  EXPECT_EQ(inputs.simplest(true), "far from 0, off by much");
  EXPECT_EQ(inputs.simplest(false), "off by little");
  Inputs by_little;
  by_little.play("far from 0, off by little", {1, 200}, {0, 0.01f});
  by_little.play("off by little", {1, 2, 3}, {5e-5f, 1e-4f});
  EXPECT_EQ(by_little.simplest(true), "off by little");
}

TEST(SimplestInput, IsFirstOneOffByOneNumber) {
  Inputs inputs;
  inputs.play("few, but far from 0", {1, 200}, {0.5, 0.5});
  inputs.play("few", {1, 2}, {1, -1});
  inputs.play("many", {1, 2, 3, 4}, {0.5, 0.5, 0.5, 0.5});
  EXPECT_EQ(inputs.simplest(true), "many");
  EXPECT_EQ(inputs.simplest(false), "few");
}

TEST(SimplestInput, IsOneOnWhichFewMistakesLookAlikeWhereNothingIsNamed) {
  Inputs inputs;
  inputs.play("no numbers", {1, 2, 3}, {std::numeric_limits<float>::infinity(), 1});
  inputs.play("numbers, and twice as many", {1, 2, 3, 4, 5, 6, 7}, {1, -1});
  inputs.play("as good as those", {1, 2, 3, 4}, {1, -1});
  EXPECT_EQ(inputs.simplest(true), "numbers, and twice as many");
  EXPECT_EQ(inputs.simplest(false), "no numbers");
}

TEST(SimplestInput, IsALessTellingOneWhereThereIsNoOther) {
  Inputs inputs;
  inputs.play("less telling", {1, 2}, {0.5, 0.5});
  inputs.less_telling();
  EXPECT_EQ(inputs.simplest(true), "less telling");
  inputs.play("plain", {1, 2, 3}, {1, -1});
  EXPECT_EQ(inputs.simplest(true), "plain");
}

TEST(RightAndSide, SaysWhatIsRight) {
  Inputs inputs;
  inputs.play("first", {1, 2, 3}, {1, -1, 1});
  EXPECT_EQ(inputs.right_and_side(), "h is right here") << "as when one input is replayed";
  inputs.play("right", {1, 2}, {});
  EXPECT_EQ(inputs.right_and_side(), "h is right on every input");
  inputs.play("third", {1, 2, 3}, {});
  inputs.played.back().answer.at("h")[0] += 1;
  EXPECT_EQ(inputs.right_and_side(), "h is right here");
  EXPECT_EQ(inputs.right_and_side(2), "o is right here");
}

TEST(RightAndSide, SaysWhichSideItIsWhereItIsOne) {
  const std::vector<float> x(7, 1), up{0.1f, 0.2f, 0.7f, 0.1f, 0.1f, 0.1f, 0.1f};
  Inputs inputs;
  inputs.play("first", x, up);
  EXPECT_EQ(inputs.right_and_side(), "h is right here") << "seven entries prove nothing";
  inputs.play("second", x, up);
  EXPECT_EQ(
      inputs.right_and_side(),
      "every wrong entry of o, on whatever input, is too large, by 0.1 to 0.7; h is right on every input");
  inputs.play("third", x, {-0.1f});
  EXPECT_EQ(inputs.right_and_side(), "h is right on every input");
}

TEST(RightAndSide, SaysNothingOfWhatStandsForNoEntry) {
  Inputs inputs;
  inputs.play("first", {1, 2, 3, 4, 5, 6, 7}, {1, 1, 1, 1, 1, 1, 1});
  inputs.play("second", {8, 9, 10, 11, 12, 13, -1}, {1, 1, 1, 1, 1, 1, 12});
  EXPECT_EQ(inputs.right_and_side(),
            "every wrong entry of o, on whatever input, is too large, by 1 to 12; h is right on every input");
  inputs.filled_with(-1);
  EXPECT_EQ(inputs.right_and_side(), "h is right on every input");
}

TEST(RightAndSide, SaysWhichValueAllWrongEntriesHaveWhereItIsOne) {
  Inputs inputs;
  inputs.play("first", {1, 2, 3, 4, 5, 6, 7}, {-101, -102, -103, -104, -105, -106, -107});
  inputs.play("second", {8, 9, 10, 11, 12}, {-108, -109, -110, -111, -112});
  EXPECT_EQ(inputs.right_and_side(),
            "every wrong entry of o, on whatever input, is -100; h is right on every input");
}

TEST(KindsThatPass, AreListedWhileTheyFitALine) {
  Inputs inputs;
  inputs.play("one key", {1}, {1});
  inputs.play("two keys", {1}, {1});
  EXPECT_EQ(inputs.kinds_that_pass(), "");
  inputs.play("no keys", {1}, {});
  inputs.play("no queries", {1}, {});
  EXPECT_EQ(inputs.kinds_that_pass(), "right on: no keys; no queries");
  inputs.play("no keys", {1}, {1});
  EXPECT_EQ(inputs.kinds_that_pass(), "right on: no queries");
  for (int i = 0; i < 9; ++i) inputs.play("a kind that takes many words " + std::to_string(i), {1}, {});
  EXPECT_EQ(inputs.kinds_that_pass(), "wrong on nothing but: one key; two keys; no keys");
  for (int i = 0; i < 9; ++i) inputs.play("another kind of many words " + std::to_string(i), {1}, {1});
  const std::string right = inputs.kinds_that_pass();
  EXPECT_TRUE(right.starts_with("right on: a kind that takes many words 0; a kind that takes many words 1;"))
      << right;
  EXPECT_EQ(std::ranges::count(right, '\n'), 2) << right;
  EXPECT_TRUE(right.ends_with(" and 4 more")) << right;
}

TEST(KindsThatPass, AreAllOthersWhereOneFails) {
  Inputs inputs;
  inputs.play("one key", {1}, {1});
  inputs.play("no keys", {1}, {});
  inputs.play("no queries", {1}, {});
  EXPECT_EQ(inputs.kinds_that_pass(), "right on all other 2 kinds of input");
}

}  // namespace

}  // namespace course
