#include "bench/problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/numbers/input_generator.hpp"
#include "reference/reference.hpp"
#include "tensor/npy.hpp"

namespace course::bench {

namespace {

double operations_of_a_product(const Extents& extents) {
  const double tokens = static_cast<double>(extents.tokens);
  return 2 * static_cast<double>(extents.heads * extents.head_dim) * tokens * tokens;
}

}  // namespace

double forward_operations(const Extents& extents) {
  return 2 * operations_of_a_product(extents);
}

double backward_operations(const Extents& extents) {
  return 5 * operations_of_a_product(extents);
}

Problem::Problem(const Extents& size) : extents(size) {
  InputGenerator generator(1);
  auto [q, k, v] = random_qkv(generator, size.heads, size.tokens, size.tokens, size.head_dim);
  Tensor d_o = generator.normal(q.shape());
  auto [o, lse] = reference::attention(q, k, v);
  reference::AttentionGradients<float> gradients = reference::attention_gradients(q, k, v, d_o);
  tensors = {{"q", q},
             {"k", k},
             {"v", v},
             {"d_o", d_o},
             {"o", o},
             {"lse", lse},
             {"d_lse", Tensor(lse.shape())},
             {"dq", gradients.dq},
             {"dk", gradients.dk},
             {"dv", gradients.dv}};
}

void Problem::write(const std::filesystem::path& folder) const {
  std::filesystem::create_directories(folder);
  for (const auto& [name, tensor] : tensors) write_npy(folder / (name + ".npy"), tensor);
}

double relative_error(HeadsView<const float> answer, HeadsView<const float> expected) {
  double worst = 0;
  for (Index head = 0; head < expected.heads(); ++head) {
    const MatrixView<const float> given = answer.head(head);
    const MatrixView<const float> right = expected.head(head);
    double difference = 0;
    double norm = 0;
    for (Index i = 0; i < right.size(); ++i) {
      difference += std::pow(double{given.data()[i]} - right.data()[i], 2);
      norm += std::pow(double{right.data()[i]}, 2);
    }
    const double error = std::sqrt(difference / norm);
    worst = std::max(worst, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
  }
  return worst;
}

}  // namespace course::bench
