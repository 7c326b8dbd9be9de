#include "player/adapter.hpp"

#include <cmath>

#include "online_softmax.hpp"

namespace {

/// m and l [rows, parts]: the states of every row, merged from left to right. Returns lse [rows], since the
/// pair (m, l) is not unique.
void merge(course::Call& call) {
  const auto m = call.input("m").matrix();
  const auto l = call.input("l").matrix();
  const std::span<float> lse = call.output("lse", {m.rows()}).flat();
  for (course::Index row = 0; row < m.rows(); ++row) {
    lesson02::SoftmaxState state{m(row, 0), l(row, 0)};
    for (course::Index part = 1; part < m.cols(); ++part) {
      state = lesson02::merge(state, {m(row, part), l(row, part)});
    }
    lse[row] = state.m + std::log(state.l);
  }
}

/// scores [rows, n] and values [n, d], row by row.
void online_attention(course::Call& call) {
  const auto scores = call.input("scores").matrix();
  const auto values = call.input("values").matrix();
  const auto o = call.output("o", {scores.rows(), values.cols()}).matrix();
  const std::span<float> lse = call.output("lse", {scores.rows()}).flat();
  for (course::Index row = 0; row < scores.rows(); ++row) {
    lse[row] = lesson02::online_attention_row(scores.row(row), values, call.integer("block"), o.row(row));
  }
}

/// Two parts of every row: o, o_b [rows, d] and lse, lse_b [rows].
void merge_normalised(course::Call& call) {
  const auto o_b = call.input("o_b").matrix();
  const auto lse_b = call.input("lse_b").flat();
  course::Tensor& o = call.output("o", call.input("o").shape());
  course::Tensor& lse = call.output("lse", call.input("lse").shape());
  o = call.input("o");
  lse = call.input("lse");
  for (course::Index row = 0; row < o_b.rows(); ++row) {
    lesson02::merge_normalised(o.matrix().row(row), lse[row], o_b.row(row), lse_b[row]);
  }
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{
      {"merge", merge}, {"online_attention", online_attention}, {"merge_normalised", merge_normalised}};
  return adapter;
}
