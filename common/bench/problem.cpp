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
  QKV drawn = random_qkv(generator, size.heads, size.tokens, size.tokens, size.head_dim);
  q = std::move(drawn.q);
  k = std::move(drawn.k);
  v = std::move(drawn.v);
  d_o = generator.normal(q.shape());
  reference::Attention<float> forward = reference::attention(q, k, v);
  o = std::move(forward.o);
  lse = std::move(forward.lse);
  reference::AttentionGradients<float> gradients = reference::attention_gradients(q, k, v, d_o);
  dq = std::move(gradients.dq);
  dk = std::move(gradients.dk);
  dv = std::move(gradients.dv);
}

void Problem::write(const std::filesystem::path& folder) const {
  std::filesystem::create_directories(folder);
  for (const auto& [name, tensor] : {std::pair{"q", &q},
                                     {"k", &k},
                                     {"v", &v},
                                     {"d_o", &d_o},
                                     {"o", &o},
                                     {"dq", &dq},
                                     {"dk", &dk},
                                     {"dv", &dv}})
    write_npy(folder / (std::string(name) + ".npy"), *tensor);
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
