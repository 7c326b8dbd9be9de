#include "attention_backward.hpp"
#include "bench/entry.hpp"

void course_bench_backward(course::HeadsView<const float> q, course::HeadsView<const float> k,
                           course::HeadsView<const float> v, course::HeadsView<const float> o,
                           course::MatrixView<const float> lse, course::HeadsView<const float> d_o,
                           course::MatrixView<const float> d_lse, std::span<const course::Index> visible,
                           course::Index block, course::HeadsView<float> dq, course::HeadsView<float> dk,
                           course::HeadsView<float> dv) {
  lesson06::attention_backward(q, k, v, o, lse, d_o, d_lse, visible, block, dq, dk, dv);
}
