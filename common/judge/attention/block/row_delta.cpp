#include "judge/attention/block/row_delta.hpp"

#include <cmath>
#include <functional>
#include <span>

#include "judge/attention/forward.hpp"
#include "judge/numbers/dot.hpp"
#include "judge/numbers/rounding.hpp"

namespace course::row_delta {

namespace {

constexpr int warp_lanes = 32;

/// Rows of o and d_o.
std::vector<Example> row_examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](std::string what, Shape shape) {
    Tensor o = generator.normal(shape);
    all.push_back({std::move(what), {{"o", std::move(o)}, {"d_o", generator.normal(std::move(shape))}}});
  };
  add("rows of 32 numbers", {3, 37, 32});
  add("rows of 64 numbers", {2, 41, 64});
  add("rows of 128 numbers", {1, 35, 128});
  add("one row", {1, 1, 64});
  add("no rows", {2, 0, 32});
  add("more rows than a block may have threads", {1, 1100, 32});
  return all;
}

using Row = std::span<const double>;

/// What `of_row` makes of every row of o and d_o.
Answer each_row(const Example& example, double (*of_row)(Row o, Row d_o)) {
  const Tensor64 o = input(example, "o"), d_o = input(example, "d_o");
  Tensor64 delta({o.extent(0), o.extent(1)});
  for (Index head = 0; head < o.extent(0); ++head) {
    for (Index i = 0; i < o.extent(1); ++i)
      delta.matrix()(head, i) = of_row(o.heads().head(head).row(i), d_o.heads().head(head).row(i));
  }
  return {{"delta", std::move(delta)}};
}

/// A task's function that does so.
std::function<Answer(const Example&)> rows(double (*of_row)(Row o, Row d_o)) {
  return [of_row](const Example& example) { return each_row(example, of_row); };
}

double whole_sum(Row o, Row d_o) {
  return dot(o, d_o);
}

double in_float(Row o, Row d_o) {
  float sum = 0;
  for (std::size_t c = 0; c < o.size(); ++c) sum += static_cast<float>(o[c]) * static_cast<float>(d_o[c]);
  return sum;
}

double rounded_off(Row o, Row d_o) {
  double squares = 0;
  for (std::size_t c = 0; c < o.size(); ++c) squares += o[c] * o[c] * d_o[c] * d_o[c];
  return std::sqrt(rounding::of_sum(std::ssize(o), squares, dot(o, d_o)));
}

double mean(Row o, Row d_o) {
  return dot(o, d_o) / static_cast<double>(o.size());
}

double first_column(Row o, Row d_o) {
  return o[0] * d_o[0];
}

double of_lane_0(Row o, Row d_o) {
  double sum = 0;
  for (std::size_t c = 0; c < o.size(); c += warp_lanes) sum += o[c] * d_o[c];
  return sum;
}

}  // namespace

Task task(std::string id, std::string function) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"delta", {"head", "row"}}},
          .examples = row_examples,
          .expected = rows(whole_sum),
          .baseline = rows(in_float),
          .rounding = rows(rounded_off),
          .mistakes = {{"d_is_a_mean", rows(mean)},
                       {"d_of_one_column", rows(first_column)},
                       {"lanes_not_added", rows(of_lane_0)}}};
}

}  // namespace course::row_delta
