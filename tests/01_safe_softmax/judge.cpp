#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/task.hpp"
#include "reference/softmax.hpp"

using namespace course;

namespace {

template <class T>
Answer answer(const Example& example) {
  const reference::Softmax<T> softmax = reference::softmax(cast<T>(example.inputs.at("x")));
  return {{"p", cast<double>(softmax.p)}, {"lse", cast<double>(softmax.lse)}};
}

using Exponential = float (*)(float);

float standard_exp(float x) {
  return std::exp(x);
}

/// Eigen's vectorised exp with SSE or AVX2 stops at 2.9e-39: there exp(-inf) is not 0.
float eigen_exp(float x) {
  return std::exp(std::max(x, -88.723f));
}

/// Softmax and lse in float32 with another maximum than the row's own, and a constant added to the sum.
Answer float_softmax(const Tensor& x, const std::vector<float>& row_maximum,
                     Exponential exponential = standard_exp, float epsilon = 0.0f) {
  Tensor p(x.shape());
  Tensor lse({x.extent(0)});
  for (Index row = 0; row < x.extent(0); ++row) {
    const float m = row_maximum[row];
    float l = epsilon;
    for (const float score : x.matrix().row(row)) l += exponential(score - m);
    for (Index col = 0; col < x.extent(1); ++col)
      p.matrix()(row, col) = exponential(x.matrix()(row, col) - m) / l;
    lse[row] = m + std::log(l);
  }
  return {{"p", cast<double>(p)}, {"lse", cast<double>(lse)}};
}

float maximum(std::span<const float> row) {
  return row.empty() ? -std::numeric_limits<float>::infinity() : *std::max_element(row.begin(), row.end());
}

std::vector<float> row_maxima(const Tensor& x) {
  std::vector<float> maxima;
  for (Index row = 0; row < x.extent(0); ++row) maxima.push_back(maximum(x.matrix().row(row)));
  return maxima;
}

/// Where the row's maximum is -inf the right answer stands; elsewhere `wrong`'s.
Answer except_masked_rows(const Example& example, Answer wrong) {
  const Answer right = answer<double>(example);
  const std::vector<float> maxima = row_maxima(example.inputs.at("x"));
  for (Index row = 0; row < static_cast<Index>(maxima.size()); ++row) {
    if (std::isfinite(maxima[row])) continue;
    wrong["lse"][row] = right.at("lse")[row];
    std::ranges::copy(right.at("p").matrix().row(row), wrong["p"].matrix().row(row).begin());
  }
  return wrong;
}

Answer no_maximum(const Example& example, Exponential exponential) {
  const Tensor& x = example.inputs.at("x");
  return float_softmax(x, std::vector<float>(x.extent(0), 0.0f), exponential);
}

Answer global_maximum(const Example& example, Exponential exponential) {
  const Tensor& x = example.inputs.at("x");
  return float_softmax(x, std::vector<float>(x.extent(0), maximum(x.values())), exponential);
}

Answer along_columns(const Example& example) {
  const Tensor& x = example.inputs.at("x");
  const auto transposed = [](const auto& from) {
    auto to = from;
    to = {{from.extent(1), from.extent(0)}, from.values()};
    for (Index i = 0; i < from.extent(0); ++i) {
      for (Index j = 0; j < from.extent(1); ++j) to.matrix()(j, i) = from.matrix()(i, j);
    }
    return to;
  };
  Answer wrong = answer<double>(example);
  wrong["p"] = transposed(reference::softmax(cast<double>(transposed(x))).p);
  return wrong;
}

Answer masked_row_nan(const Example& example) {
  const Tensor& x = example.inputs.at("x");
  return float_softmax(x, row_maxima(x));
}

Answer epsilon_in_denominator(const Example& example, float epsilon) {
  const Tensor& x = example.inputs.at("x");
  std::vector<float> maxima = row_maxima(x);
  for (float& m : maxima) m = std::isfinite(m) ? m : 0.0f;
  return float_softmax(x, maxima, standard_exp, epsilon);
}

std::vector<Example> examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](std::string what, Tensor x) {
    all.push_back({std::move(what), {{"x", std::move(x)}}});
  };
  const int rows = generator.integer(2, 9);
  // Rows that fill whole vector registers: what is left over, Eigen hands to std::exp, where exp(-inf) is 0.
  const int whole = 16 * generator.integer(1, 2);
  add("ordinary scores", score_rows(generator, rows, generator.integer(2, 40)));
  add("rows that are masked, wholly or in part", masked_rows(generator, 8, whole));
  add("rows near -2e4, -150, +2e4, and scores more than 110 apart", wide_rows(generator, 8, whole));
  add("a maximum that comes last", late_maximum_rows(generator, 5, generator.integer(5, 60)));
  add("few columns, masked wholly or in part", masked_rows(generator, 8, generator.integer(2, 7)));
  add("one column", score_rows(generator, 4, 1));
  add("no columns", Tensor({3, 0}));
  add("no rows", Tensor({0, 5}));
  return all;
}

Task task(std::string id, std::string function, Output output) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {std::move(output)},
          .examples = examples,
          .expected = answer<double>,
          .baseline = answer<float>};
}

/// A wrong maximum's faces: with masked rows guarded or not, with either exponential.
void add_wrong_maximum(std::vector<Mistake>& all, const std::string& id,
                       Answer (*wrong)(const Example&, Exponential)) {
  for (const Exponential exponential : {standard_exp, eigen_exp}) {
    const auto face = [=](const Example& example) { return wrong(example, exponential); };
    all.push_back({id, face});
    all.push_back({id, [=](const Example& example) { return except_masked_rows(example, face(example)); }});
  }
}

/// What both tasks can get wrong.
std::vector<Mistake> shared_mistakes() {
  std::vector<Mistake> all = {{"masked_row_nan", masked_row_nan}};
  add_wrong_maximum(all, "no_maximum", no_maximum);
  add_wrong_maximum(all, "global_maximum", global_maximum);
  for (const float epsilon : {1e-12f, 1e-10f, 1e-9f, 1e-8f, 1e-7f, 1e-6f, 1e-5f, 1e-4f, 1e-3f}) {
    const auto face = [=](const Example& example) { return epsilon_in_denominator(example, epsilon); };
    all.push_back({"epsilon_in_denominator", face});
  }
  return all;
}

}  // namespace

LessonJudge course::lesson_judge() {
  Task softmax = task("1", "softmax", {"p", {"row", "col"}});
  softmax.mistakes = shared_mistakes();
  softmax.mistakes.push_back({"along_columns", along_columns});
  Task logsumexp = task("2", "logsumexp", {"lse", {"row"}});
  logsumexp.mistakes = shared_mistakes();
  return {"01", {softmax, logsumexp}};
}
