#include "judge/diagnosis/inputs_apart.hpp"

#include <gtest/gtest.h>

#include "../common/sitting.hpp"

namespace course {

namespace {

struct AttentionSizes {
  Index head_count, queries, keys, head_dim;
};

/// Inputs of attention, whose output o is [heads, queries, head_dim].
class AttentionInputs {
 public:
  void play(const AttentionSizes& sizes, bool right, double block = 4, Layout layout = {}) {
    const auto [head_count, queries, keys, head_dim] = sizes;
    Example example{"an input",
                    {{"q", Tensor({head_count, queries, head_dim})},
                     {"k", Tensor({head_count, keys, head_dim})},
                     {"v", Tensor({head_count, keys, head_dim})}},
                    {{"block", {block}}},
                    std::move(layout)};
    for (float& entry : example.inputs.at("q").values()) entry = 1;
    sitting_.play(std::move(example), q_times(right ? 1 : 2));
  }
  /// So many right ones like it.
  void play_right(const AttentionSizes& sizes, int count) {
    for (int i = 0; i < count; ++i) play(sizes, true);
  }
  void play_wrong(const AttentionSizes& sizes, int count) {
    for (int i = 0; i < count; ++i) play(sizes, false);
  }
  void crash() {
    Outcome outcome;
    outcome.ending = Outcome::Ending::Crashed;
    sitting_.play({"an input", sitting_.played.front().example->inputs}, outcome);
  }
  std::string told() const {
    return what_wrong_inputs_share({sitting_.played.begin(), sitting_.played.end()});
  }

 private:
  static AnswerOf q_times(double factor) {
    return [factor](const Example& example) {
      Tensor64 o = cast<double>(example.inputs.at("q"));
      for (double& entry : o.values()) entry *= factor;
      return Answer{{"o", o}};
    };
  }
  static Task task_of_q() {
    return {.id = "1",
            .function = "f",
            .outputs = {{"o", {"head", "row", "col"}, 1}},
            .examples = {},
            .expected = q_times(1),
            .baseline = q_times(1)};
  }

  Sitting sitting_{task_of_q()};
};

TEST(WrongInputs, ShareMoreKeysThanQueries) {
  AttentionInputs inputs;
  inputs.play_right({2, 9, 4, 8}, 3);
  inputs.play_right({2, 20, 20, 8}, 3);
  inputs.play_wrong({2, 4, 8, 8}, 3);
  inputs.play_wrong({3, 9, 20, 16}, 1);
  EXPECT_EQ(inputs.told(),
            "all 4 inputs with a wrong answer have more keys than queries; none of the 6 others has");
  inputs.play({2, 4, 5, 8}, true);
  EXPECT_EQ(inputs.told(), "");
}

TEST(WrongInputs, ShareASizeAboveOrBelowAllOthers) {
  AttentionInputs above, below, more;
  above.play_right({2, 4, 4, 64}, 3);
  above.play_right({2, 4, 4, 8}, 3);
  above.play_wrong({2, 4, 4, 65}, 1);
  above.play_wrong({2, 4, 4, 128}, 3);
  EXPECT_EQ(above.told(),
            "all 4 inputs with a wrong answer have head_dim above 64; none of the 6 others has");
  below.play_right({2, 4, 4, 64}, 6);
  below.play_wrong({2, 4, 4, 16}, 4);
  EXPECT_EQ(below.told(),
            "all 4 inputs with a wrong answer have head_dim below 64; none of the 6 others has");
  more.play_right({1, 4, 4, 8}, 6);
  more.play_wrong({2, 4, 4, 8}, 4);
  EXPECT_EQ(more.told(), "all 4 inputs with a wrong answer have more than 1 head; none of the 6 others has");
}

TEST(WrongInputs, ShareABlockThatDoesNotDivideTheKeys) {
  AttentionInputs inputs;
  inputs.play_right({2, 4, 8, 8}, 3);
  inputs.play_right({2, 4, 12, 8}, 3);
  inputs.play_wrong({2, 4, 9, 8}, 2);
  inputs.play_wrong({2, 4, 10, 8}, 2);
  EXPECT_EQ(
      inputs.told(),
      "all 4 inputs with a wrong answer have a number of keys that block does not divide; none of the 6 "
      "others has");
}

TEST(WrongInputs, ShareAnEmptyShard) {
  AttentionInputs inputs;
  for (int i = 0; i < 6; ++i) inputs.play({2, 4, 4, 8}, true, 4, std::vector<int>{1, 3});
  for (int i = 0; i < 4; ++i) inputs.play({2, 4, 4, 8}, false, 4, std::vector<int>{0, 4});
  EXPECT_EQ(inputs.told(),
            "all 4 inputs with a wrong answer have a rank without tokens; none of the 6 others has");
}

/// Of an input without a number to get wrong, a right answer refutes nothing.
TEST(WrongInputs, AreComparedWithThoseThatHaveAnAnswer) {
  AttentionInputs inputs;
  inputs.play_right({1, 4, 4, 8}, 6);
  inputs.play_wrong({2, 4, 4, 8}, 4);
  inputs.play_right({2, 0, 4, 8}, 1);
  EXPECT_EQ(inputs.told(),
            "all 4 inputs with a wrong answer have more than 1 head; none of the 6 others has (answers that "
            "are all 0 or "
            "-inf left out)");
}

TEST(WrongInputs, AreBothWhereThereAreTwo) {
  AttentionInputs inputs;
  inputs.play_right({2, 4, 4, 8}, 20);
  inputs.play_wrong({2, 4, 7, 8}, 2);
  EXPECT_TRUE(inputs.told().starts_with("both inputs with a wrong answer have more keys than queries and "))
      << inputs.told();
}

TEST(WrongInputs, ShareNothingThatFewProve) {
  AttentionInputs few, none_right;
  few.play_right({1, 4, 4, 8}, 6);
  few.play_wrong({2, 4, 4, 8}, 1);
  EXPECT_EQ(few.told(), "");
  none_right.play_wrong({2, 4, 4, 8}, 12);
  EXPECT_EQ(none_right.told(), "");
}

TEST(WrongInputs, ShareNothingWhereOneEndedTheProgram) {
  AttentionInputs inputs;
  inputs.play_right({1, 4, 4, 8}, 6);
  inputs.play_wrong({2, 4, 4, 8}, 4);
  inputs.crash();
  EXPECT_EQ(inputs.told(), "");
}

TEST(WrongInputs, AreToldTwoThingsAtMost) {
  AttentionInputs inputs;
  inputs.play_right({1, 9, 4, 8}, 6);
  inputs.play_wrong({2, 9, 12, 64}, 4);
  EXPECT_EQ(
      inputs.told(),
      "all 4 inputs with a wrong answer have more keys than queries and more than 1 head; none of the 6 "
      "others has either");
}

}  // namespace

}  // namespace course
