#include "bench/device/reference.hpp"

#include <algorithm>
#include <cmath>

namespace course::bench::device {

std::vector<double> Reference::o(int query) const {
  const std::vector<double> p = weights(query);
  std::vector<double> row(head_dim_);
  for (int j = 0; j < tokens_; ++j) {
    for (int c = 0; c < head_dim_; ++c) row[c] += p[j] * v_(j, c);
  }
  return row;
}

std::vector<double> Reference::dq(int query) const {
  const std::vector<double> p = weights(query);
  std::vector<double> dp(tokens_), row(head_dim_);
  double delta = 0;
  for (int j = 0; j < tokens_; ++j) delta += p[j] * (dp[j] = d_weight(query, j));
  for (int j = 0; j < tokens_; ++j) {
    const double ds = p[j] * (dp[j] - delta) / std::sqrt(head_dim_);
    for (int c = 0; c < head_dim_; ++c) row[c] += ds * k_(j, c);
  }
  return row;
}

Reference::KeyGradients Reference::of_key(int key, std::span<const float> lse,
                                          std::span<const float> delta) const {
  KeyGradients rows{std::vector<double>(head_dim_), std::vector<double>(head_dim_)};
  for (int i = 0; i < tokens_; ++i) {
    const double p = std::exp(score(i, key) - lse[i]);
    const double ds = p * (d_weight(i, key) - delta[i]) / std::sqrt(head_dim_);
    for (int c = 0; c < head_dim_; ++c) {
      rows.dv[c] += p * d_o_(i, c);
      rows.dk[c] += ds * q_(i, c);
    }
  }
  return rows;
}

std::vector<double> Reference::weights(int query) const {
  std::vector<double> p(tokens_);
  double m = -INFINITY, l = 0;
  for (int j = 0; j < tokens_; ++j) m = std::max(m, p[j] = score(query, j));
  for (double& weight : p) l += weight = std::exp(weight - m);
  for (double& weight : p) weight /= l;
  return p;
}

double Reference::score(int query, int key) const {
  double sum = 0;
  for (int c = 0; c < head_dim_; ++c) sum += q_(query, c) * k_(key, c);
  return sum / std::sqrt(head_dim_);
}

double Reference::d_weight(int query, int key) const {
  double sum = 0;
  for (int c = 0; c < head_dim_; ++c) sum += d_o_(query, c) * v_(key, c);
  return sum;
}

}  // namespace course::bench::device
