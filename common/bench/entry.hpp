#pragma once

#include <span>

#include "tensor/view.hpp"

/// What the bench finds by name in the shared object of lesson 04: lesson04::blockwise_attention.
extern "C" void course_bench_forward(course::HeadsView<const float> q, course::HeadsView<const float> k,
                                     course::HeadsView<const float> v, course::Index block,
                                     course::HeadsView<float> o, course::MatrixView<float> lse);

/// The same in that of lesson 06: lesson06::attention_backward.
extern "C" void course_bench_backward(course::HeadsView<const float> q, course::HeadsView<const float> k,
                                      course::HeadsView<const float> v, course::HeadsView<const float> o,
                                      course::MatrixView<const float> lse, course::HeadsView<const float> d_o,
                                      course::MatrixView<const float> d_lse,
                                      std::span<const course::Index> visible, course::Index block,
                                      course::HeadsView<float> dq, course::HeadsView<float> dk,
                                      course::HeadsView<float> dv);
