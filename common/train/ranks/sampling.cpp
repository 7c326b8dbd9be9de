#include "train/ranks/sampling.hpp"

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace course::train {

namespace {

using training::ModelView;

/// So many zeros.
std::vector<float> room(Index size) {
  return std::vector<float>(static_cast<std::size_t>(size), 0.0f);
}

/// Of the last byte: a number for each that may follow.
std::vector<double> logits_after(const ModelView<const float>& model,
                                 const training::LayerFunctions& functions, const std::string& bytes) {
  const training::ModelShape& shape = model.shape();
  const Index n = std::ssize(bytes), hidden = shape.hidden;
  std::vector<Positions> positions(1, Positions(bytes.size()));
  std::iota(positions[0].begin(), positions[0].end(), Index{0});
  const ShardAttention attention = functions.attention(positions, MPI_COMM_SELF);
  std::vector<float> x = room(n * hidden), z = x, o = x, lse = room(shape.heads * n);
  const auto rows = [&](std::vector<float>& of) { return MatrixView<float>(of.data(), n, hidden); };
  for (Index row = 0; row < n; ++row)
    std::ranges::copy(model.embedding().row(static_cast<unsigned char>(bytes[static_cast<std::size_t>(row)])),
                      x.begin() + row * hidden);
  for (Index layer = 0; layer < shape.layers; ++layer) {
    functions.forward(rows(x), positions[0], model.layer(layer), attention, rows(z),
                      {{o.data(), shape.heads, n, shape.head_dim()}, {lse.data(), shape.heads, n}});
    std::swap(x, z);
  }
  functions.norm(rows(x), model.final_norm(), rows(z));
  const std::span<const float> last = rows(z).row(n - 1);
  std::vector<double> logits;
  for (Index byte = 0; byte < shape.vocabulary; ++byte)
    logits.push_back(std::inner_product(last.begin(), last.end(), model.head().row(byte).begin(), 0.0));
  return logits;
}

/// The byte that a number from 0 to 1 falls on.
char chosen(std::vector<double> logits, double temperature, double where) {
  const double largest = std::ranges::max(logits);
  for (double& value : logits) value = std::exp((value - largest) / temperature);
  double left = where * std::accumulate(logits.begin(), logits.end(), 0.0);
  std::size_t byte = 0;
  while (byte + 1 < logits.size() && (left -= logits[byte]) > 0) ++byte;
  return static_cast<char>(static_cast<unsigned char>(byte));
}

}  // namespace

std::string sample(const ModelView<const float>& model, const training::LayerFunctions& functions,
                   const std::string& start, const Sampling& how, const std::function<bool()>& go_on) {
  std::string text = start;
  const auto memory = static_cast<std::size_t>(how.memory);
  for (Index i = 0; i < how.bytes && go_on(); ++i) {
    const std::string seen = text.substr(text.size() - std::min(text.size(), memory));
    const double where = static_cast<double>(training::draw(how.seed, i) >> 11) / 9007199254740992.0;
    text += chosen(logits_after(model, functions, seen), how.temperature, where);
  }
  return text.substr(start.size());
}

}  // namespace course::train
