// What the lse form costs in float32: the same rows of attention, once in one pass over (m, l, O), once as
// finished blocks merged by their lse. With your own functions, in the course's folder:
//   cmake --build build --target lse_form && build/bin/lse_form

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "online_softmax.hpp"

namespace {

using course::Index;
using Row = std::vector<float>;
using Values = course::MatrixView<const float>;

constexpr Index tokens = 1024;
constexpr Index block = 32;
constexpr Index head_dim = 16;

std::vector<double> truth(const Row& scores, Values values) {
  const double m = *std::max_element(scores.begin(), scores.end());
  double l = 0;
  std::vector<double> o(head_dim);
  for (Index j = 0; j < tokens; ++j) {
    const double weight = std::exp(scores[j] - m);
    l += weight;
    for (Index c = 0; c < head_dim; ++c) o[c] += weight * values(j, c);
  }
  for (double& component : o) component /= l;
  return o;
}

Row in_one_pass(const Row& scores, Values values) {
  Row o(head_dim);
  lesson02::online_attention_row(scores, values, block, o);
  return o;
}

Row by_lse(const Row& scores, Values values) {
  Row o(head_dim, 0.0f);
  float lse = -std::numeric_limits<float>::infinity();
  for (Index first = 0; first < tokens; first += block) {
    Row o_b(head_dim);
    const std::span<const float> part = std::span(scores).subspan(first, block);
    const float lse_b = lesson02::online_attention_row(part, values.rows(first, block), block, o_b);
    lesson02::merge_normalised(o, lse, o_b, lse_b);
  }
  return o;
}

double relative_error(const Row& o, const std::vector<double>& expected) {
  double difference = 0;
  double norm = 0;
  for (Index c = 0; c < head_dim; ++c) {
    difference += (o[c] - expected[c]) * (o[c] - expected[c]);
    norm += expected[c] * expected[c];
  }
  return std::sqrt(difference / norm);
}

/// The mean relative error of both forms over 200 rows whose scores are normal, around `level`.
void measure(float level) {
  std::mt19937_64 generator(1);
  std::normal_distribution<float> normal;
  constexpr int rows = 200;
  double one_pass = 0;
  double lse_form = 0;
  for (int row = 0; row < rows; ++row) {
    Row scores(tokens);
    Row numbers(tokens * head_dim);
    for (float& score : scores) score = level + 2 * normal(generator);
    for (float& number : numbers) number = normal(generator);
    const Values values{numbers.data(), tokens, head_dim};
    const std::vector<double> expected = truth(scores, values);
    one_pass += relative_error(in_one_pass(scores, values), expected) / rows;
    lse_form += relative_error(by_lse(scores, values), expected) / rows;
  }
  std::printf("scores near %8g: one pass %.0e, merged by lse %.0e\n", level, one_pass, lse_form);
}

}  // namespace

int main() {
  for (const float level : {0.0f, -200.0f, -2e4f, 2e4f}) measure(level);
}
