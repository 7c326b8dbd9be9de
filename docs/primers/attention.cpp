// The worked example of attention.md: two queries, and four keys with their values, of two numbers each.
//   g++ -std=c++20 -O2 attention.cpp -o attention && ./attention
#include <cmath>
#include <cstdio>

constexpr int queries = 2;
constexpr int keys = 4;
constexpr int head_dim = 2;

int main() {
  const double a = std::sqrt(2.0) * std::log(2.0);
  const double q[queries][head_dim] = {{a, 0}, {0, a}};
  const double k[keys][head_dim] = {{0, 1}, {1, 1}, {2, 2}, {0, 3}};
  const double v[keys][head_dim] = {{8, 0}, {0, 8}, {4, 4}, {0, 16}};

  for (int i = 0; i < queries; ++i) {
    double score[keys] = {};
    double sum = 0;
    for (int j = 0; j < keys; ++j) {
      for (int c = 0; c < head_dim; ++c) score[j] += q[i][c] * k[j][c];
      score[j] /= std::sqrt(head_dim);
      sum += std::exp(score[j]);
    }

    double weight[keys] = {};
    double o[head_dim] = {};
    for (int j = 0; j < keys; ++j) {
      weight[j] = std::exp(score[j]) / sum;
      for (int c = 0; c < head_dim; ++c) o[c] += weight[j] * v[j][c];
    }

    std::printf("query %d\n  scores in log 2:", i + 1);
    for (const double s : score) std::printf(" %.4g", s / std::log(2.0));
    std::printf("\n  exp(score):     ");
    for (const double s : score) std::printf(" %.4g", std::exp(s));
    std::printf(", sum %.4g, its logarithm %.4g\n  weights:        ", sum, std::log(sum));
    for (const double p : weight) std::printf(" %.4g", p);
    std::printf("\n  output:          %.4g %.4g\n", o[0], o[1]);
  }
}
