#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "demo/input.hpp"
#include "reference/reference.hpp"

namespace course::demo {

/// How far an output is from the expected answer.
struct Deviation {
  double largest = 0;  ///< of the absolute differences
  double relative =
      0;  ///< the norm of the difference over the norm of the expected answer, of the worst head
};

struct Deviations {
  Deviation o, lse;
};

struct GradientDeviations {
  Deviation dq, dk, dv;
};

/// The ring's gradients beside those of float64 attention.
struct GradientComparison {
  std::vector<GradientDeviations> by_rank;
  GradientDeviations overall;
  GradientDeviations baseline;  ///< of plain float32 gradients, which the tolerances are made from
  double tolerance_dq = 0, tolerance_dk = 0, tolerance_dv = 0;
  Index heads_compared = 0;
  Index heads = 0;

  bool passed() const {
    return overall.dq.relative <= tolerance_dq && overall.dk.relative <= tolerance_dk &&
           overall.dv.relative <= tolerance_dv;
  }
};

/// The ring's answer beside float64 attention.
struct Comparison {
  std::vector<Deviations> by_rank;
  Deviations overall;
  double tolerance_o = 0;    ///< of overall.o.relative
  double tolerance_lse = 0;  ///< of overall.lse.relative
  Deviations baseline;       ///< of plain float32 attention, which the tolerances are made from
  Index rows = 0;            ///< query rows that were compared, of each head
  Index seq = 0;             ///< query rows that there are
  std::optional<GradientComparison> gradients = {};

  bool passed() const {
    return overall.o.relative <= tolerance_o && overall.lse.relative <= tolerance_lse &&
           (!gradients || gradients->passed());
  }
};

/// Is told now and then how far the work is.
using Progress = std::function<void(const std::string&)>;

/// What o [heads, seq, head_dim] and lse [heads, seq] of an input should be, computed once for any number of
/// rings: reference::attention in float64. Where all of it would take more than a few seconds, rows evenly
/// spread over every shard stand for the rest; each is compared with the expected answer over all keys.
class ForwardReference {
 public:
  ForwardReference(const Input& input, const std::vector<int>& shard_tokens, const Progress& progress);

  Comparison compare(const Tensor& o, const Tensor& lse) const;

 private:
  std::vector<Index> rows_;
  std::vector<Index> rows_by_shard_;
  reference::Attention<double> expected_;  ///< of these rows
  Comparison blank_;                       ///< with all that does not depend on an answer
};

/// The same of dq, dk and dv [heads, seq, head_dim]: reference::attention_gradients in float64, for
/// input.d_o and a lse of its own. Every key's gradient is a sum over all queries, so where all of it would
/// take more than a few seconds, heads evenly spread stand for the rest, one at least.
class BackwardReference {
 public:
  BackwardReference(const Input& input, std::vector<int> shard_tokens, const Progress& progress);

  GradientComparison compare(const Tensor& dq, const Tensor& dk, const Tensor& dv) const;

 private:
  std::vector<int> shard_tokens_;
  std::vector<Index> heads_;
  reference::AttentionGradients<double> expected_;  ///< of these heads
  GradientComparison blank_;
};

/// The query rows to compare: all of them if `most` allows, else about `most`, at least one of each shard
/// that has any, the first and the last of a shard before those between them.
std::vector<Index> rows_to_compare(const std::vector<int>& shard_tokens, Index most);

}  // namespace course::demo
