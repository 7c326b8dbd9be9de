#include "striped_and_zigzag.hpp"

#include <algorithm>

#include "lesson/not_implemented.hpp"

namespace lesson14 {

using course::HeadsView;
using course::Index;
using course::KeyRange;

Positions striped_positions(Index tokens, int world_size, int rank) {
  //> task 1
  //| // Which position does the rank own first, and how far is it to the next?
  //| throw course::NotImplemented("task 1, striped_positions");
  Positions positions;
  for (Index position = rank; position < tokens; position += world_size) positions.push_back(position);
  return positions;
  //< task 1
}

Positions zigzag_positions(Index tokens, int world_size, int rank) {
  //> task 1
  //| // Where does chunk c begin, when the first few chunks hold one token more? Which two are the rank's?
  //| throw course::NotImplemented("task 1, zigzag_positions");
  const int chunks = 2 * world_size;
  const auto start = [&](int chunk) {
    return chunk * (tokens / chunks) + std::min<Index>(chunk, tokens % chunks);
  };
  Positions positions;
  for (const int chunk : {rank, chunks - 1 - rank}) {
    for (Index position = start(chunk); position < start(chunk + 1); ++position)
      positions.push_back(position);
  }
  return positions;
  //< task 1
}

void shard_rows(HeadsView<const float> whole, std::span<const Index> positions, HeadsView<float> shard) {
  //> task 2
  //| // Row i of the shard is which row of the whole?
  //| throw course::NotImplemented("task 2, shard_rows");
  for (Index head = 0; head < whole.heads(); ++head) {
    for (Index row = 0; row < shard.seq(); ++row)
      std::ranges::copy(whole.head(head).row(positions[row]), shard.head(head).row(row).begin());
  }
  //< task 2
}

void unshard_rows(HeadsView<const float> gathered, std::span<const Positions> positions,
                  HeadsView<float> whole) {
  //> task 2
  //| // Go through what was gathered, row by row. Where does each row belong?
  //| throw course::NotImplemented("task 2, unshard_rows");
  Positions order;
  for (const Positions& of_rank : positions) order.insert(order.end(), of_rank.begin(), of_rank.end());
  for (Index head = 0; head < whole.heads(); ++head) {
    for (Index row = 0; row < whole.seq(); ++row)
      std::ranges::copy(gathered.head(head).row(row), whole.head(head).row(order[row]).begin());
  }
  //< task 2
}

Batch shard_batch(std::span<const int> sequence, std::span<const Index> positions) {
  //> task 3
  //| // Which token follows the one at a position, and is it in this shard?
  //| throw course::NotImplemented("task 3, shard_batch");
  const Index last = std::ssize(sequence) - 1;
  Batch batch;
  for (const Index position : positions) {
    batch.tokens.push_back(sequence[position]);
    batch.labels.push_back(position < last ? sequence[position + 1] : ignored_label);
    batch.position_ids.push_back(position);
  }
  return batch;
  //< task 3
}

std::vector<KeyRange> key_ranges(std::span<const Index> query_positions,
                                 std::span<const Index> key_positions) {
  //> task 4
  //| // Both lists ascend. How many of the keys stand at the query's position or before it?
  //| throw course::NotImplemented("task 4, key_ranges");
  std::vector<KeyRange> ranges;
  for (const Index position : query_positions)
    ranges.push_back({0, std::ranges::upper_bound(key_positions, position) - key_positions.begin()});
  return ranges;
  //< task 4
}

Index causal_work(std::span<const Positions> positions, int rank, int step) {
  //> task 4
  //| // Whose block is with the rank at this step? How many of its keys does each query see?
  //| throw course::NotImplemented("task 4, causal_work");
  const int world_size = static_cast<int>(positions.size());
  const int owner = (rank - step + world_size) % world_size;
  Index scores = 0;
  for (const auto [first, last] : key_ranges(positions[rank], positions[owner])) scores += last - first;
  return scores;
  //< task 4
}

}  // namespace lesson14
