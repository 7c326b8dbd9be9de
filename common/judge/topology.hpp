#pragma once

#include <vector>

namespace course {

/// Who passes blocks on to whom among an example's ranks.
class Topology {
 public:
  /// One ring of all ranks, in which blocks go to rank + direction, 1 or -1.
  static Topology ring(int direction = 1) { return {Kind::Ring, direction, 1}; }
  /// Rows of `columns` ranks one after another, rank = row * columns + column; each column is a ring, in
  /// which blocks go to the next row. Its functions throw std::invalid_argument where the columns do not
  /// divide the ranks.
  static Topology grid(int columns) { return {Kind::Grid, 1, columns}; }
  /// Nodes of `node` consecutive ranks, each a ring in which blocks make node - 1 hops to the next rank; then
  /// all go back to where they entered the node, and on to the same place of the next node: that is one hop,
  /// too. Its functions throw std::invalid_argument where the nodes do not divide the ranks.
  static Topology double_ring(int node) { return {Kind::DoubleRing, 1, node}; }
  /// What ranks have goes to the rank above them, and so to rank 0: rank r is below (r - 1) / arity.
  static Topology tree(int arity = 2) { return {Kind::Tree, 1, arity}; }

  /// Of a ring, 1 or -1.
  int direction() const { return direction_; }
  /// Where so many hops, of `ranks` ranks, bring what `rank` holds; for fewer than 0, where it has come from.
  /// In a tree rank 0 keeps what it has, and fewer than 0 hops have no meaning.
  int ahead(int rank, int hops, int ranks) const;
  /// How many hops bring what `from` holds to `to`; -1 where none do.
  int hops_between(int from, int to, int ranks) const;
  /// The ranks with which `rank` shares a row of a grid or a node, itself among them, ascending; of a ring
  /// or a tree all.
  std::vector<int> row_of(int rank, int ranks) const;

 private:
  enum class Kind { Ring, Grid, DoubleRing, Tree };
  Topology(Kind kind, int direction, int width) : kind_(kind), direction_(direction), width_(width) {}

  Kind kind_;
  int direction_;
  int width_;  ///< a grid's columns, a node's ranks, or a tree's arity
};

}  // namespace course
