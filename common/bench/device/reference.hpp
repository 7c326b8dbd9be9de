#pragma once

#include <functional>
#include <span>
#include <vector>

namespace course::bench::device {

/// One head's attention in float64, a row at a time: enough to look at some rows of an answer that is too
/// large to be computed here. Rows are those of the whole sequence.
class Reference {
 public:
  /// Column c of row i.
  using Entry = std::function<double(int i, int c)>;
  Reference(int tokens, int head_dim, Entry q, Entry k, Entry v, Entry d_o)
      : tokens_(tokens),
        head_dim_(head_dim),
        q_(std::move(q)),
        k_(std::move(k)),
        v_(std::move(v)),
        d_o_(std::move(d_o)) {}

  std::vector<double> o(int query) const;
  std::vector<double> dq(int query) const;
  struct KeyGradients {
    std::vector<double> dk, dv;
  };
  /// @param lse, delta of all queries, as they were computed
  KeyGradients of_key(int key, std::span<const float> lse, std::span<const float> delta) const;

 private:
  std::vector<double> weights(int query) const;
  double score(int query, int key) const;
  double d_weight(int query, int key) const;  ///< the gradient that arrives at the weight

  int tokens_, head_dim_;
  Entry q_, k_, v_, d_o_;
};

}  // namespace course::bench::device
