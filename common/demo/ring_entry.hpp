#pragma once

#include <mpi.h>

#include <span>

#include "ring/block_attention.hpp"

/// What the demo finds by name in the shared object of lesson 05: lesson05::ring_attention.
extern "C" void course_demo_ring(course::HeadsView<const float> q, course::HeadsView<const float> k,
                                 course::HeadsView<const float> v, course::HeadsView<float> o,
                                 course::MatrixView<float> lse, std::span<const int> shard_tokens,
                                 const course::BlockAttention& block, MPI_Comm comm);

/// The same in that of lesson 07: lesson07::ring_attention_backward.
extern "C" void course_demo_ring_backward(course::HeadsView<const float> q, course::HeadsView<const float> k,
                                          course::HeadsView<const float> v, course::HeadsView<const float> o,
                                          course::MatrixView<const float> lse,
                                          course::HeadsView<const float> d_o, course::HeadsView<float> dq,
                                          course::HeadsView<float> dk, course::HeadsView<float> dv,
                                          std::span<const int> shard_tokens,
                                          const course::BlockAttentionBackward& block, MPI_Comm comm);

/// What a program finds by name in the shared object of lesson 08: lesson08::overlapped_ring_attention.
extern "C" void course_demo_overlapped_ring(course::HeadsView<const float> q,
                                            course::HeadsView<const float> k,
                                            course::HeadsView<const float> v, course::HeadsView<float> o,
                                            course::MatrixView<float> lse, std::span<const int> shard_tokens,
                                            const course::TiledBlockAttention& block, MPI_Comm comm);

/// The same for lesson08::overlapped_ring_backward.
extern "C" void course_demo_overlapped_ring_backward(
    course::HeadsView<const float> q, course::HeadsView<const float> k, course::HeadsView<const float> v,
    course::HeadsView<const float> o, course::MatrixView<const float> lse, course::HeadsView<const float> d_o,
    course::HeadsView<float> dq, course::HeadsView<float> dk, course::HeadsView<float> dv,
    std::span<const int> shard_tokens, const course::TiledBlockAttentionBackward& block, MPI_Comm comm);
