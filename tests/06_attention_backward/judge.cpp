#include "examples.hpp"
#include "judge/attention/gradient_checks.hpp"
#include "judge/communication_checks.hpp"
#include "judge/task.hpp"
#include "mistakes.hpp"
#include "reference/reference.hpp"

using namespace course;
using namespace examples;
using mistakes::input;
using mistakes::mask_of;

namespace {

// The softmax by itself

/// ds by the Jacobian itself, written down row by row: J_jk = p_j (delta_jk - p_k).
template <class T>
Answer softmax_answer(const Example& example) {
  const TensorOf<T> p = cast<T>(example.inputs.at("p"));
  const TensorOf<T> dp = cast<T>(example.inputs.at("dp"));
  const TensorOf<T> d_lse = cast<T>(example.inputs.at("d_lse"));
  TensorOf<T> ds(p.shape());
  for (Index i = 0; i < p.extent(0); ++i) {
    for (Index j = 0; j < p.extent(1); ++j) {
      T sum = p.matrix()(i, j) * d_lse[i];
      for (Index k = 0; k < p.extent(1); ++k) {
        sum += p.matrix()(i, j) * (T(j == k) - p.matrix()(i, k)) * dp.matrix()(i, k);
      }
      ds.matrix()(i, j) = sum;
    }
  }
  return {{"ds", cast<double>(ds)}};
}

std::vector<Example> rows_examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](const char* what, const Tensor& scores, LseGradient lse_gradient) {
    all.push_back(rows_example(what, generator, scores, lse_gradient));
  };
  const Index cols = generator.integer(7, 20);
  add("ordinary rows", score_rows(generator, 9, cols), LseGradient::Zero);
  add("rows whose lse has a gradient of its own", score_rows(generator, 9, cols), LseGradient::Drawn);
  add("rows that are masked, wholly or in part", masked_rows(generator, 8, cols), LseGradient::Drawn);
  // Next to all the weight is on one entry: without d_lse, float32 would keep no digit of ds.
  add("scores more than 110 apart", wide_rows(generator, 8, cols), LseGradient::Drawn);
  add("one column", score_rows(generator, 5, 1), LseGradient::Drawn);
  add("one row", score_rows(generator, 1, 300), LseGradient::Zero);
  add("no columns", score_rows(generator, 3, 0), LseGradient::Drawn);
  add("no rows", score_rows(generator, 0, 5), LseGradient::Drawn);
  return all;
}

// Attention

AttentionProblem problem_of(const Example& example) {
  return {input(example, "q"),   input(example, "k"),     input(example, "v"),
          input(example, "d_o"), input(example, "d_lse"), mask_of(example)};
}

Answer attention_expected(const Example& example) {
  return right_gradients(problem_of(example));
}

Answer attention_cancellation_free(const Example& example) {
  return cancellation_free_gradients(problem_of(example));
}

/// From the lse and o that the student is given: float32 rounds an lse of 100 by 4e-6, and all weights of
/// that row with it. The reference, which makes its own softmax, would not have that error.
Answer attention_baseline(const Example& example) {
  return mistakes::run<float>({}, example);
}

std::vector<Example> attention_examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](std::string what, QKV qkv, LseGradient lse_gradient, Blocks blocks) {
    Tensor d_o = generator.normal(qkv.q.shape());
    const Shape lse_shape{qkv.q.extent(0), qkv.q.extent(1)};
    Tensor d_lse =
        lse_gradient == LseGradient::Drawn ? lse_gradients(generator, lse_shape) : Tensor(lse_shape);
    all.push_back(
        attention_example(std::move(what), std::move(qkv), std::move(d_o), std::move(d_lse), blocks));
  };
  const auto add_real = [&](std::string what, float q_factor, Tensor d_lse, Blocks blocks) {
    const Index first = generator.integer(0, 460);
    const std::vector<Index> heads = two_real_heads(generator);
    for (float& value : d_lse.values()) value *= 1e-3f;  // about as large as D is here
    all.push_back(attention_example(std::move(what), minilm_qkv(first, 50, heads, q_factor),
                                    minilm_d_o(first, 50, heads), std::move(d_lse), blocks));
  };
  const Index keys = generator.integer(16, 40);
  const Index queries = keys + 3;
  const Blocks ragged{ragged_block(generator, keys), ragged_block(generator, queries)};
  // First, since a transpose that is left out ends the player wherever shapes forbid it.
  add("as many queries as keys, in one block", random_qkv(generator, 2, 12, 12, 5), LseGradient::Zero,
      {16, 16});
  add("ordinary scores, shorter last blocks", random_qkv(generator, 3, queries, keys, 8), LseGradient::Zero,
      ragged);
  add("an lse that has a gradient of its own", random_qkv(generator, 3, queries, keys, 8), LseGradient::Drawn,
      ragged);
  add("each query sees one key more than the one before", random_qkv(generator, 2, keys, keys, 8),
      LseGradient::Zero, ragged.with_offset(0));
  add("queries that see no key", random_qkv(generator, 2, queries, keys, 6), LseGradient::Drawn,
      ragged.with_offset(-generator.integer(2, 6)));
  add_real("real q, k, v and d_o", 1, Tensor({2, 50}), {generator.integer(8, 16), 17});
  // Where next to all the weight of a row is on one key, dp - D cancels; d_lse gives float32 something to
  // keep.
  add_real("real q, k, v and d_o with q doubled", 2, lse_gradients(generator, {2, 50}), {17, 50});
  add("a maximum that comes last", late_maximum_qkv(generator, 2, queries, keys, 5), LseGradient::Drawn,
      ragged);
  add("scores more than 110 apart", wide_scores_qkv(generator, 2, queries, keys, 6), LseGradient::Drawn,
      ragged);
  add("all scores near -150", very_negative_qkv(generator, 2, 9, keys, 7, -150), LseGradient::Zero, ragged);
  add("all scores near -500", very_negative_qkv(generator, 2, 9, keys, 7, -500), LseGradient::Zero, ragged);
  add("blocks of one key", random_qkv(generator, 2, 6, 11, 3), LseGradient::Zero, {1, 1});
  add("blocks that divide the keys", random_qkv(generator, 2, 14, 24, 9), LseGradient::Zero, {8, 7});
  add("a block larger than all keys", random_qkv(generator, 2, 8, 13, 5), LseGradient::Zero, {64, 64});
  add("more queries than a tile is likely to hold", random_qkv(generator, 1, 300, 20, 4), LseGradient::Zero,
      {7, 290});
  add("head_dim 1", random_qkv(generator, 2, 6, 15, 1), LseGradient::Zero, {4, 4});
  add("one query", random_qkv(generator, 2, 1, 19, 4), LseGradient::Zero, {5, 5});
  add("one key", random_qkv(generator, 2, 5, 1, 4), LseGradient::Drawn, {3, 3});
  add("no query sees a key", random_qkv(generator, 2, 5, 7, 4), LseGradient::Drawn,
      Blocks{3, 3}.with_offset(-9));
  add("no queries", random_qkv(generator, 2, 0, 6, 4), LseGradient::Zero, {4, 4});
  add("no keys", random_qkv(generator, 2, 4, 0, 4), LseGradient::Zero, {4, 4});
  return all;
}

std::vector<Example> attention_examples_and_a_long_one(InputGenerator& generator, int ranks) {
  std::vector<Example> all = attention_examples(generator, ranks);
  all.push_back(attention_example("512 queries and 2048 keys", random_qkv(generator, 1, 512, 2048, 4),
                                  generator.normal({1, 512, 4}), Tensor({1, 512}),
                                  {generator.integer(64, 100), 1}));
  all.back().large = true;
  return all;
}

// Judging

/// Four float32 copies of what the contract allows, a block's weights for every query and the gradients, and
/// 2 MB for code and packing. In the long example that is at most 3.3 MB; all of its weights are 4.2 MB, and
/// their gradients as much again.
std::int64_t memory_limit(const Example& example) {
  const Index rows = example.inputs.at("q").extent(1) + mistakes::integer(example, "block");
  return (2 << 20) + 4 * 4 * rows * (example.inputs.at("q").extent(2) + mistakes::integer(example, "block"));
}

/// A tolerance must be far below the gradient's own norm, or zeros would pass.
constexpr double largest_tolerance = 3e-2;

Task attention_task(std::string id, std::string function) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"dq", {"head", "row", "col"}, 1},
                      {"dk", {"head", "row", "col"}, 1},
                      {"dv", {"head", "row", "col"}, 1}},
          .examples = attention_examples,
          .expected = attention_expected,
          .baseline = attention_baseline,
          .cancellation_free = attention_cancellation_free,
          .mistakes = mistakes::of_blocks(),
          .answer_checks = {passes_gradient_checks(problem_of)},
          .largest_tolerance = largest_tolerance,
          .mistakes_cancel = true};
}

}  // namespace

LessonJudge course::lesson_judge() {
  Task softmax{.id = "1",
               .function = "softmax_backward",
               .outputs = {{"ds", {"row", "col"}}},
               .examples = rows_examples,
               .expected = softmax_answer<double>,
               .baseline = softmax_answer<float>,
               .mistakes = mistakes::of_rows(),
               .largest_tolerance = largest_tolerance};

  Task one_block = attention_task("2", "block_backward");
  one_block.mistakes.push_back(
      mistakes::wrong("dk_dv_overwritten", {.dk_dv_from = mistakes::Kept::LastBlock}));

  Task all_blocks = attention_task("3", "attention_backward");
  all_blocks.examples = attention_examples_and_a_long_one;
  all_blocks.communication_checks.push_back(
      checks::uses_memory_at_most(memory_limit, "weights_materialised"));
  for (Mistake& mistake : mistakes::of_the_whole()) all_blocks.mistakes.push_back(std::move(mistake));
  return {"06", {softmax, one_block, all_blocks}};
}
