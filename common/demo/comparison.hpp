#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "demo/input.hpp"
#include "reference/mask.hpp"
#include "reference/score_bias.hpp"
#include "ring/layout.hpp"

namespace course::demo {

/// How far an output is from the expected answer.
struct Deviation {
  double largest = 0;  ///< of the absolute differences
  /// Of the worst head, the norm of the difference over that of the expected answer, or, where this cancels
  /// to less, over a thousand times what right answers may be off by.
  double relative = 0;
};

/// One of a ring's outputs (o, lse, dq, dk, dv) beside float64 attention.
struct OutputComparison {
  std::string name;
  Deviation overall = {};
  std::vector<Deviation> by_rank = {};
  double baseline = 0;  ///< the relative error of plain float32 attention
  /// Of overall.relative: made from the baseline and from what rounding may cost a ring (rounding.hpp).
  double tolerance = 0;

  bool right() const { return overall.relative <= tolerance; }
};

struct Comparison {
  std::vector<OutputComparison> outputs;
  Index rows = 0, seq = 0;              ///< query rows that were compared of each head, and that there are
  Index gradient_heads = 0, heads = 0;  ///< heads whose gradients were compared, and that there are
  bool beyond_float32 = false;          ///< plain float32 attention keeps not three digits of o either

  bool passed() const;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor64>>;

/// Is told now and then how far the work is.
using Progress = std::function<void(const std::string&)>;

/// What queries see, by positions, and what is added to their scores.
struct Seeing {
  reference::Mask mask = {};
  reference::HeadBias bias = {};
};

/// What the outputs of an input should be, computed once for any number of rings:
/// reference::attention in float64 and, where the input has a gradient, reference::attention_gradients with a
/// lse of its own.
///
/// Where all of it would take more than a few seconds, a part stands for the rest: rows evenly spread over
/// every shard, each of which is compared with the expected answer over all its keys; of gradients, which are
/// sums over all queries, heads evenly spread, one at least, with all heads that share keys with them.
class Reference {
 public:
  Reference(const Input& input, const Layout& layout, const Seeing& seeing, const Progress& progress);

  /// Of o [heads, seq, head_dim], lse [heads, seq] and dq, dk, dv, by name.
  Comparison compare(const std::map<std::string, Tensor>& outputs) const;

 private:
  /// The part of every output that is compared.
  struct Part {
    Index axis;
    std::vector<Index> picked;                ///< along the axis
    std::vector<std::vector<Index>> by_rank;  ///< rows of axis 1 that each rank has of it
  };
  /// What is expected, the same in plain float32, and what may be rounded off it.
  struct Computed {
    NamedTensors exact, baseline, rounding;
  };
  struct Expected {
    Part part;
    Tensor64 value, scale;
    OutputComparison blank;  ///< with all that does not depend on an answer
  };
  void expect(const std::vector<Part>& parts, const Computed& computed);

  std::vector<Expected> expected_;
  Comparison blank_;
};

/// The positions of the query rows to compare, which ascend: all of them if `most` allows, else about `most`,
/// at least one of each shard that has any, the first and the last of a shard before those between them.
std::vector<Index> rows_to_compare(const Layout& layout, Index most);

}  // namespace course::demo
