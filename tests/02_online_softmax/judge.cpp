#include <cmath>

#include "judge/task.hpp"
#include "mistakes.hpp"
#include "reference/softmax.hpp"

using namespace course;
using namespace course::lesson02_mistakes;

namespace {

// Task 1: the merge of two states, played for whole rows of states. Only m + log l is compared.

template <class T>
Answer merge_answer(const Example& example) {
  const auto m = example.inputs.at("m").matrix();
  const auto l = example.inputs.at("l").matrix();
  TensorOf<T> lse({m.rows(), m.cols()});
  for (Index i = 0; i < lse.size(); ++i) {
    lse[i] = static_cast<T>(m.data()[i] + std::log(static_cast<double>(l.data()[i])));
  }
  return {{"lse", cast<double>(reference::softmax(lse).lse)}};
}

/// States [rows, parts] with m near `level`. m need not be the largest score seen, so l is any positive
/// number.
Example states(InputGenerator& generator, std::string what, Index rows, Index parts, float level = 0) {
  Example example{std::move(what), {{"m", Tensor({rows, parts})}, {"l", Tensor({rows, parts})}}};
  for (float& m : example.inputs["m"].values()) m = level + static_cast<float>(generator.uniform(-4, 4));
  for (float& l : example.inputs["l"].values()) l = static_cast<float>(std::exp(generator.uniform(-2, 4)));
  return example;
}

void forget(Example& example, Index row, Index part) {
  example.inputs["m"].matrix()(row, part) = minus_infinity;
  example.inputs["l"].matrix()(row, part) = 0.0f;
}

/// Two states a row; the later one's m is larger by about `step`.
Example apart(InputGenerator& generator, std::string what, float step) {
  Example example = states(generator, std::move(what), 6, 2);
  for (Index row = 0; row < 6; ++row) example.inputs["m"].matrix()(row, 1) += step;
  return example;
}

Example one_is_empty(InputGenerator& generator) {
  Example example = states(generator, "two states, one of which has seen nothing", 6, 2, -150);
  for (Index row = 0; row < 6; ++row) forget(example, row, row % 2);
  return example;
}

Example both_are_empty(InputGenerator& generator) {
  Example example = states(generator, "two states that have both seen nothing", 2, 2);
  for (Index i = 0; i < 4; ++i) forget(example, i / 2, i % 2);
  return example;
}

Example some_are_empty(InputGenerator& generator) {
  Example example =
      states(generator, "five states merged one after another, the first two of which have seen nothing", 5,
             5, -150);
  for (Index row = 0; row < 5; ++row) {
    forget(example, row, 0);
    forget(example, row, 1);
  }
  return example;
}

std::vector<Example> merge_examples(InputGenerator& generator, int) {
  return {states(generator, "two ordinary states", 8, 2),
          apart(generator, "two states, the later one's m larger by 20", 20),
          apart(generator, "two states, the later one's m smaller by 20", -20),
          apart(generator, "two states, the later one's m larger by 120", 120),
          apart(generator, "two states, the later one's m smaller by 120", -120),
          states(generator, "five states merged one after another", 6, 5),
          states(generator, "two states near -2e4", 6, 2, -2e4),
          one_is_empty(generator),
          both_are_empty(generator),
          some_are_empty(generator)};
}

// Task 2: one pass over a row, played for every row of a score matrix with the same values.

template <class T>
Answer attention_answer(const Example& example) {
  const reference::Softmax<T> softmax = reference::softmax(cast<T>(example.inputs.at("scores")));
  const TensorOf<T> values = cast<T>(example.inputs.at("values"));
  TensorOf<T> o({softmax.p.extent(0), values.extent(1)});
  for (Index row = 0; row < o.extent(0); ++row) {
    for (Index j = 0; j < values.extent(0); ++j) {
      for (Index c = 0; c < o.extent(1); ++c) {
        o.matrix()(row, c) += softmax.p.matrix()(row, j) * values.matrix()(j, c);
      }
    }
  }
  return {{"o", cast<double>(o)}, {"lse", cast<double>(softmax.lse)}};
}

Example rows_of(std::string what, Tensor scores, Tensor values, int block) {
  return {std::move(what) + ", in blocks of " + std::to_string(block),
          {{"scores", std::move(scores)}, {"values", std::move(values)}},
          {{"block", {static_cast<double>(block)}}}};
}

/// Values whose mean is not 0, so that a wrong sum of weights shows.
Tensor values_for(InputGenerator& generator, const Tensor& scores, Index d) {
  Tensor values = generator.normal({scores.extent(1), d});
  for (float& value : values.values()) value += 1.0f;
  return values;
}

Example rows_of(InputGenerator& generator, std::string what, Tensor scores, int block) {
  Tensor values = values_for(generator, scores, generator.integer(4, 9));
  return rows_of(std::move(what), std::move(scores), std::move(values), block);
}

Tensor near(InputGenerator& generator, float level, float step) {
  Tensor scores({4, 17});
  for (float& score : scores.values()) score = level + step * static_cast<float>(generator.integer(0, 9));
  return scores;
}

/// Eight rows of a sentence encoder's real scores, with q doubled.
Example real_rows(InputGenerator& generator) {
  const int first_token = generator.integer(0, 400);
  const QKV qkv = minilm_qkv(first_token, 61, {generator.integer(0, 11)}, 2);
  const auto q = qkv.q.heads().head(0);
  const auto k = qkv.k.heads().head(0);
  Tensor scores({8, k.rows()});
  for (Index i = 0; i < scores.extent(0); ++i) {
    for (Index j = 0; j < k.rows(); ++j) {
      for (Index c = 0; c < k.cols(); ++c) scores.matrix()(i, j) += q(7 * i, c) * k(j, c);
      scores.matrix()(i, j) /= std::sqrt(static_cast<float>(k.cols()));
    }
  }
  return rows_of("real scores, q doubled", std::move(scores), {{k.rows(), k.cols()}, qkv.v.values()}, 16);
}

std::vector<Example> attention_examples(InputGenerator& generator, int) {
  const auto ordinary = [&](Index rows, Index n) { return score_rows(generator, rows, n); };
  const int block = generator.integer(3, 7);
  return {rows_of(generator, "ordinary scores", ordinary(5, generator.integer(12, 30)), block),
          rows_of(generator, "a maximum that comes last",
                  late_maximum_rows(generator, 5, generator.integer(16, 40)), 4),
          rows_of(generator, "scores near -150", near(generator, -150, 0.5), 5),
          rows_of(generator, "scores near -2e4", near(generator, -2e4, 0.5), 5),
          rows_of(generator, "scores near -1e10", near(generator, -1e10, 1024), 5),
          rows_of(generator, "rows that are masked, wholly or in part",
                  masked_rows(generator, 8, generator.integer(9, 25)), 4),
          rows_of(generator, "rows near -2e4, -150, +2e4, and scores more than 110 apart",
                  wide_rows(generator, 8, generator.integer(9, 25)), 4),
          real_rows(generator),
          rows_of(generator, "one score a block", ordinary(3, 11), 1),
          rows_of(generator, "a block longer than the row", ordinary(3, 11), 64),
          rows_of(generator, "one score", ordinary(3, 1), 4),
          rows_of(generator, "no scores", ordinary(3, 0), 4)};
}

// Task 3: the merge of two normalised parts, played for every row of two outputs.

template <class T>
Answer normalised_answer(const Example& example) {
  const TensorOf<T> o_a = cast<T>(example.inputs.at("o"));
  const TensorOf<T> o_b = cast<T>(example.inputs.at("o_b"));
  TensorOf<T> lse({o_a.extent(0), 2});
  for (Index row = 0; row < o_a.extent(0); ++row) {
    lse.matrix()(row, 0) = example.inputs.at("lse")[row];
    lse.matrix()(row, 1) = example.inputs.at("lse_b")[row];
  }
  const reference::Softmax<T> weights = reference::softmax(lse);
  TensorOf<T> o(o_a.shape());
  for (Index row = 0; row < o.extent(0); ++row) {
    for (Index c = 0; c < o.extent(1); ++c) {
      o.matrix()(row, c) = weights.p.matrix()(row, 0) * o_a.matrix()(row, c) +  //
                           weights.p.matrix()(row, 1) * o_b.matrix()(row, c);
    }
  }
  return {{"o", cast<double>(o)}, {"lse", cast<double>(weights.lse)}};
}

Tensor lse_near(InputGenerator& generator, Index rows, float level) {
  Tensor lse({rows});
  for (float& value : lse.values()) value = level + static_cast<float>(generator.uniform(-2, 2));
  return lse;
}

/// Two parts of `rows` rows, with lse near `level_a` and `level_b`. At -inf a part has seen nothing and its o
/// is 0.
Example parts(InputGenerator& generator, std::string what, float level_a, float level_b) {
  const Shape shape{6, generator.integer(4, 9)};
  const auto o_at = [&](float level) {
    return level == minus_infinity ? Tensor(shape) : generator.normal(shape);
  };
  return {std::move(what),
          {{"o", o_at(level_a)},
           {"lse", lse_near(generator, 6, level_a)},
           {"o_b", o_at(level_b)},
           {"lse_b", lse_near(generator, 6, level_b)}}};
}

Example equal_parts(InputGenerator& generator) {
  Example example = parts(generator, "two parts of equal lse", 1, 1);
  example.inputs["lse_b"] = example.inputs["lse"];
  return example;
}

std::vector<Example> normalised_examples(InputGenerator& generator, int) {
  return {parts(generator, "two ordinary parts", 1, 2),
          equal_parts(generator),
          parts(generator, "two parts, the later one's lse larger by 20", 3, 23),
          parts(generator, "two parts, the later one's lse larger by 120", 3, 123),
          parts(generator, "two parts, the later one's lse smaller by 120", 3, -117),
          parts(generator, "two parts, lse near -150", -150, -150),
          parts(generator, "two parts, lse near +2e4", 2e4, 2e4),
          parts(generator, "two parts, lse near -2e4", -2e4, -2e4),
          parts(generator, "an accumulator that has seen nothing", minus_infinity, 1),
          parts(generator, "a later part that has seen nothing", 1, minus_infinity),
          parts(generator, "two parts that have both seen nothing", minus_infinity, minus_infinity)};
}

}  // namespace

LessonJudge course::lesson_judge() {
  const Output o{"o", {"row", "col"}};
  const Output lse{"lse", {"row"}};
  const Task merge{.id = "1",
                   .function = "merge",
                   .outputs = {{"lse", {"merged state"}}},
                   .examples = merge_examples,
                   .expected = merge_answer<double>,
                   .baseline = merge_answer<float>,
                   .mistakes = merge_mistakes()};
  const Task attention{.id = "2",
                       .function = "online_attention",
                       .outputs = {o, lse},
                       .examples = attention_examples,
                       .expected = attention_answer<double>,
                       .baseline = attention_answer<float>,
                       .mistakes = attention_mistakes()};
  const Task normalised{.id = "3",
                        .function = "merge_normalised",
                        .outputs = {o, lse},
                        .examples = normalised_examples,
                        .expected = normalised_answer<double>,
                        .baseline = normalised_answer<float>,
                        .mistakes = normalised_mistakes()};
  return {"02", {merge, attention, normalised}};
}
