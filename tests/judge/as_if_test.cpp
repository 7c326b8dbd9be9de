#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "../common/sitting.hpp"
#include "judge/attention/forward.hpp"
#include "judge/numbers/precision.hpp"
#include "ring/shards.hpp"

namespace course {

namespace {

Task attention_task() {
  return {.id = "2",
          .function = "f",
          .outputs = {{"o", {"head", "row", "col"}, 1}, {"lse", {"head", "row"}, 1}},
          .examples = {},
          .expected = attention_answer<double>,
          .baseline = attention_answer<float>};
}

Example random_example(InputGenerator& generator, Layout layout) {
  const int keys = layout.ranks() == 0 ? generator.integer(3, 20) : layout.tokens();
  QKV qkv = random_qkv(generator, 2, keys, keys, generator.integer(3, 8));
  return {"some input", {{"q", qkv.q}, {"k", qkv.k}, {"v", qkv.v}}, {}, std::move(layout)};
}

/// What is said of somebody who computes `answer` on a few examples, of one rank and of three.
std::string said_of(const AnswerOf& answer, int seed) {
  InputGenerator generator(static_cast<std::uint64_t>(seed));
  Sitting sitting(attention_task());
  for (const int ranks : {0, 3, 0, 3}) {
    sitting.play(random_example(generator, ranks > 0 ? unequal_shards(generator, ranks) : std::vector<int>{}),
                 answer);
  }
  return sitting.as_if();
}

/// Attention without the key of every index that `left_out` holds.
Answer without_keys(const Example& example, const std::vector<Index>& left_out) {
  Example changed = example;
  for (const char* name : {"k", "v"}) {
    std::vector<Tensor> kept;
    for (Index key = 0; key < example.inputs.at(name).extent(1); ++key) {
      if (std::ranges::find(left_out, key) == left_out.end())
        kept.push_back(slice(example.inputs.at(name), 1, key, 1));
    }
    changed.inputs[name] = concatenate(kept, 1);
  }
  return attention_answer<float>(changed);
}

Index keys_of(const Example& example) {
  return example.inputs.at("k").extent(1);
}

TEST(AsIf, NamesTheKeyThatIsMissing) {
  for (int seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(said_of([](const Example& x) { return without_keys(x, {keys_of(x) - 1}); }, seed),
              "every answer is as if the last key were missing");
    EXPECT_EQ(said_of([](const Example& x) { return without_keys(x, {0}); }, seed),
              "every answer is as if the first key were missing");
    EXPECT_EQ(said_of([](const Example& x) { return without_keys(x, {1}); }, seed), "");
  }
}

TEST(AsIf, TakesNothingForWorkedOutOfInputsThatItChanges) {
  InputGenerator generator(1);
  Example example = random_example(generator, {});
  example.worked = std::make_shared<WorkedOut>();
  const Sitting sitting(remembering(attention_task()), {example},
                        [](const Example& x) { return without_keys(x, {0}); });
  EXPECT_EQ(sitting.as_if(), "every answer is as if the first key were missing");
}

TEST(AsIf, NamesWhatEveryShardLacks) {
  InputGenerator generator(1);
  const std::pair<Layout, std::vector<Index>> cases[] = {{{{3, 1, 0, 4}}, {2, 3, 7}},
                                                         {Layout::striped(8, 3), {5, 6, 7}},
                                                         {Layout::zigzag({2, 2, 3, 1}), {6, 7}}};
  for (const auto& [layout, last_keys] : cases) {
    const Sitting sitting(attention_task(), {random_example(generator, layout)},
                          [&, left_out = last_keys](const Example& x) { return without_keys(x, left_out); });
    EXPECT_EQ(sitting.as_if(), "every answer is as if the last key of every shard were missing");
  }
}

TEST(AsIf, NamesInputsThatWereRounded) {
  for (const Precision& precision : {bfloat16, float16}) {
    const auto rounds = [&](Example example) {
      for (auto& [name, tensor] : example.inputs) {
        for (float& x : tensor.values()) x = static_cast<float>(rounded_to(precision, x));
      }
      return attention_answer<float>(example);
    };
    for (int seed = 1; seed <= 20; ++seed) {
      EXPECT_EQ(said_of(rounds, seed),
                std::string("every answer is as if all inputs were rounded to ") + precision.name +
                    (precision.bits == 8 ? " (8 significant bits)" : " (11 significant bits)"));
    }
  }
}

TEST(AsIf, SaysNothingOfOtherAnswers) {
  for (int seed = 1; seed <= 20; ++seed) {
    InputGenerator noise(static_cast<std::uint64_t>(seed));
    const auto noisy = [&](const Example& example) {
      Answer answer = attention_answer<float>(example);
      for (double& x : answer["o"].values()) x += 0.003 * noise.normal();
      return answer;
    };
    EXPECT_EQ(said_of(noisy, seed), "");
    EXPECT_EQ(said_of(attention_answer<float>, seed), "");
  }
}

TEST(AsIf, MustHoldOnEveryInput) {
  int calls = 0;
  const auto once = [&](const Example& x) {
    return calls++ == 0 ? without_keys(x, {keys_of(x) - 1}) : without_keys(x, {1});
  };
  EXPECT_EQ(said_of(once, 1), "");
}

TEST(AsIf, LeavesAloneWhatItCannotChange) {
  const auto reads_pairs = [](const Example& example) -> Answer {
    const Tensor& k = example.inputs.at("k");
    if (k.shape() != example.inputs.at("pair").shape()) throw std::invalid_argument("k and its pair differ");
    return {{"o", cast<double>(k)}};
  };
  const Task task{.id = "1",
                  .function = "f",
                  .outputs = {{"o", {"head", "row", "col"}, 1}},
                  .examples = {},
                  .expected = reads_pairs,
                  .baseline = reads_pairs};
  InputGenerator generator(1);
  const Tensor k = generator.normal({2, 5, 3});
  Sitting sitting(task);
  sitting.play({"some input", {{"k", k}, {"v", k}, {"pair", k}}},
               returned({{"o", cast<double>(generator.normal({2, 5, 3}))}}));
  EXPECT_EQ(sitting.as_if(), "");
}

TEST(Precision, RoundsToTheNearestEven) {
  EXPECT_EQ(rounded_to(bfloat16, 1 + 1.0 / 256), 1);
  EXPECT_EQ(rounded_to(bfloat16, 1 + 3.0 / 256), 1 + 4.0 / 256);
  EXPECT_EQ(rounded_to(float16, -1.0 / 3), -0.333251953125);
  EXPECT_EQ(rounded_to(float16, 65519), 65504);
  EXPECT_TRUE(std::isinf(rounded_to(float16, 65520)));
  EXPECT_EQ(rounded_to(float16, std::ldexp(3, -25)), std::ldexp(2, -24));
  EXPECT_EQ(rounded_to(float16, 0), 0);
}

}  // namespace

}  // namespace course
