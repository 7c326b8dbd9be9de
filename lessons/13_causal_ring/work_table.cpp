// Who computes how much at which step of a causal ring, and who waits? It asks your work() of task 2.
//   cmake --build build --target work_table && build/bin/work_table 4 1024
// The arguments are the number of ranks and of tokens a rank; work_table_solution asks the reference answer.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "causal_ring.hpp"

namespace {

using Row = std::vector<double>;

/// Of each rank and step the work, in blocks of tokens x tokens scores.
std::vector<Row> work_table(const std::vector<int>& shard_tokens) {
  const int ranks = static_cast<int>(shard_tokens.size());
  std::vector<Row> table;
  for (int rank = 0; rank < ranks; ++rank) {
    Row& row = table.emplace_back();
    for (int step = 0; step < ranks; ++step) {
      const double block = static_cast<double>(shard_tokens[0]) * shard_tokens[0];
      row.push_back(static_cast<double>(lesson13::work(rank, step, shard_tokens, 0)) / block);
    }
  }
  return table;
}

/// A step ends for all when its slowest rank has done: in each the work of that one.
Row slowest(const std::vector<Row>& table) {
  Row most(table.size());
  for (const Row& row : table) {
    for (std::size_t step = 0; step < row.size(); ++step) most[step] = std::max(most[step], row[step]);
  }
  return most;
}

double sum(const Row& row) {
  double all = 0;
  for (const double entry : row) all += entry;
  return all;
}

void print_row(const char* name, const Row& row) {
  std::printf("%-8s", name);
  for (const double entry : row) std::printf(" %6.3f", entry);
  std::printf(" %8.3f\n", sum(row));
}

/// A rank's steps, eight characters a block: # where it computes, . where it waits for the slowest.
void print_timeline(std::size_t rank, const Row& row, const Row& most) {
  std::printf("rank %zu   ", rank);
  for (std::size_t step = 0; step < row.size(); ++step) {
    const int width = static_cast<int>(8 * most[step] + 0.5), busy = static_cast<int>(8 * row[step] + 0.5);
    for (int i = 0; i < width; ++i) std::putchar(i < busy ? '#' : '.');
    std::putchar('|');
  }
  std::putchar('\n');
}

void print(int ranks, int tokens) {
  const std::vector<Row> table = work_table(std::vector<int>(ranks, tokens));
  const Row most = slowest(table);
  std::printf("work in blocks of %d x %d scores, by step, and of all steps\n", tokens, tokens);
  double all = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    char name[32];
    std::snprintf(name, sizeof name, "rank %d", rank);
    print_row(name, table[rank]);
    all += sum(table[rank]);
  }
  print_row("slowest", most);
  const double mean = all / ranks;
  std::printf("\nmean of the ranks %.3f; the slowest of each step, together, %.3f: %.3f times as long\n",
              mean, sum(most), sum(most) / mean);
  std::printf("for long shards: 2 - 1/P = %.3f, %.1f %% of the speed of a ring in balance\n\n",
              2 - 1.0 / ranks, 100 / (2 - 1.0 / ranks));
  for (int rank = 0; rank < ranks; ++rank) print_timeline(rank, table[rank], most);
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 4, tokens = argc > 2 ? std::atoi(argv[2]) : 1024;
  if (ranks < 1 || ranks > 64 || tokens < 1) {
    std::fprintf(stderr, "work_table RANKS TOKENS: expected 1 to 64 ranks and at least one token a rank\n");
    return 2;
  }
  try {
    print(ranks, tokens);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "work_table: %s\n", error.what());
    return 1;
  }
}
