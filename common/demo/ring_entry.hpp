#pragma once

#include <mpi.h>

#include <span>

#include "ring/block_attention.hpp"

/// What the demo finds by name in the shared object of lesson 05: lesson05::ring_attention.
extern "C" void course_demo_ring(course::HeadsView<const float> q, course::HeadsView<const float> k,
                                 course::HeadsView<const float> v, course::HeadsView<float> o,
                                 course::MatrixView<float> lse, std::span<const int> shard_tokens,
                                 const course::BlockAttention& block, MPI_Comm comm);
