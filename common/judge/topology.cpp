#include "judge/topology.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace course {

namespace {

int modulo(int number, int count) {
  return (number % count + count) % count;
}

void require_whole_rows(int ranks, int columns) {
  if (ranks % columns != 0)
    throw std::invalid_argument(
        fmt::format("{} ranks do not fill rows of {}; expected a multiple of {}", ranks, columns, columns));
}

}  // namespace

int Topology::ahead(int rank, int hops, int ranks) const {
  if (kind_ == Kind::Ring) return modulo(rank + direction_ * hops, ranks);
  if (kind_ == Kind::Grid) {
    require_whole_rows(ranks, width_);
    return modulo(rank / width_ + hops, ranks / width_) * width_ + rank % width_;
  }
  if (kind_ == Kind::DoubleRing) {
    require_whole_rows(ranks, width_);
    const int between = hops / width_, inside = hops % width_;
    return modulo(rank / width_ + between, ranks / width_) * width_ + modulo(rank % width_ + inside, width_);
  }
  for (; hops > 0 && rank > 0; --hops) rank = (rank - 1) / width_;
  return rank;
}

int Topology::hops_between(int from, int to, int ranks) const {
  for (int hops = 0; hops < ranks; ++hops) {
    if (ahead(from, hops, ranks) == to) return hops;
  }
  return -1;
}

std::vector<int> Topology::row_of(int rank, int ranks) const {
  const bool grid = kind_ == Kind::Grid || kind_ == Kind::DoubleRing;
  if (grid) require_whole_rows(ranks, width_);
  const int first = grid ? rank / width_ * width_ : 0, count = grid ? width_ : ranks;
  std::vector<int> row;
  for (int other = first; other < first + count; ++other) row.push_back(other);
  return row;
}

}  // namespace course
