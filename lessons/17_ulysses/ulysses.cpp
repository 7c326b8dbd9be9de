#include "ulysses.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "lesson/not_implemented.hpp"

namespace lesson17 {

HeadShare head_share(Index heads, Index kv_heads, int world_size, int rank) {
  // Where does this rank's share begin? Which key head has its first query head, and which its last?
  throw course::NotImplemented("task 1, head_share");
}

std::vector<std::int64_t> ulysses_traffic(std::span<const int> shard_tokens, Index heads, Index kv_heads,
                                          Index head_dim, int rank) {
  // Whose tokens, and whose heads, are in a part that goes there? And in one that goes back?
  throw course::NotImplemented("task 1, ulysses_traffic");
}

void tokens_to_heads(HeadsView<const float> x, std::span<const HeadRange> heads_of,
                     std::span<const Positions> positions, HeadsView<float> y, MPI_Comm comm) {
  // Of x, what goes to rank p, and does it lie in one piece? In which order does what comes lie, and where
  // is each row's place?
  throw course::NotImplemented("task 2, tokens_to_heads");
}

void heads_to_tokens(HeadsView<const float> y, std::span<const HeadRange> heads_of,
                     std::span<const Positions> positions, HeadsView<float> x, MPI_Comm comm) {
  // Task 2, reversed. Which rows of y go to rank r? What if a head comes from two ranks?
  throw course::NotImplemented("task 3, heads_to_tokens");
}

HeadShard ulysses_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                            HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                            bool causal, const course::BlockForward& block, MPI_Comm comm) {
  // There, attention on whole heads, and back. Which query heads of this share look at one key head?
  throw course::NotImplemented("task 4, ulysses_attention");
}

void ulysses_backward(const HeadShard& kept, HeadsView<const float> d_o, HeadsView<float> dq,
                      HeadsView<float> dk, HeadsView<float> dv, std::span<const Positions> positions,
                      bool causal, const course::BlockBackward& block, MPI_Comm comm) {
  // What is the transpose of an exchange? And of a copy? Which of the gradients have copies?
  throw course::NotImplemented("task 5, ulysses_backward");
}

}  // namespace lesson17
