#include "bench/entry.hpp"
#include "blockwise_attention.hpp"

void course_bench_forward(course::HeadsView<const float> q, course::HeadsView<const float> k,
                          course::HeadsView<const float> v, course::Index block, course::HeadsView<float> o,
                          course::MatrixView<float> lse) {
  lesson04::blockwise_attention(q, k, v, block, o, lse);
}
