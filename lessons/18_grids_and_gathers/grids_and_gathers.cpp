#include "grids_and_gathers.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson18 {

Place grid_place(int rank, int ulysses) {
  // Which of the two numbers changes from one rank to the next?
  throw course::NotImplemented("task 1, grid_place");
}

int world_rank(int t, int u, int r, int replica, int T, int U, int R) {
  // What is innermost has stride 1.
  throw course::NotImplemented("task 1, world_rank");
}

Positions grid_positions(Index tokens, int ulysses, int rings, bool zigzag, int rank) {
  // First the block of the whole group, then this rank's slice of it.
  throw course::NotImplemented("task 1, grid_positions");
}

void usp_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                   HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                   int ulysses, bool causal, const course::GridParts& parts, MPI_Comm comm) {
  // Who is in this rank's group, and who in its ring? Which tokens has a group, in which order?
  throw course::NotImplemented("task 2, usp_attention");
}

void usp_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                  HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                  HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                  std::span<const Positions> positions, int ulysses, bool causal,
                  const course::GridParts& parts, MPI_Comm comm) {
  // An exercise beside the tasks: task 2, with six tensors on the way there and three on the way back.
  throw course::NotImplemented("exercise, usp_backward");
}

void gather_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                      HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                      bool causal, Index kv_heads_at_once, const course::BlockForward& block, MPI_Comm comm) {
  // Some heads of each rank's k lie in one piece. How do those of all ranks lie when they have come?
  throw course::NotImplemented("task 3, gather_attention");
}

void gather_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                     HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                     HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                     std::span<const Positions> positions, bool causal, Index kv_heads_at_once,
                     const course::BlockBackward& block, MPI_Comm comm) {
  // Whose queries have looked at a key of this rank? Do one rank's rows of dk lie in one piece?
  throw course::NotImplemented("task 4, gather_backward");
}

int double_ring_owner(int rank, int outer, int inner, int node, int world_size) {
  // Where has a block come from that made so many hops in each direction?
  throw course::NotImplemented("task 5, double_ring_owner");
}

void double_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                           bool causal, int node, const course::BlockForward& block, MPI_Comm comm) {
  // When can the block that entered the node leave it? What must not land on what is still going out?
  throw course::NotImplemented("task 6, double_ring_attention");
}

}  // namespace lesson18
