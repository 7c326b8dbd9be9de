#include "reference/training.hpp"

#include <cmath>
#include <numeric>

namespace course::reference {

namespace {

using training::ModelShape;
using training::ModelView;

template <class T>
TensorOf<T> copied(std::span<const T> x) {
  return {{std::ssize(x)}, {x.begin(), x.end()}};
}

template <class T>
TensorOf<T> copied(MatrixView<const T> x) {
  return {{x.rows(), x.cols()}, {x.data(), x.data() + x.size()}};
}

template <class T>
TensorOf<T> copied(HeadsView<const T> x) {
  return {{x.heads(), x.seq(), x.head_dim()}, {x.data(), x.data() + x.size()}};
}

template <class T>
LayerWeights<T> layer_of(const ModelView<const T>& model, Index number) {
  const training::LayerWeights<const T> layer = model.layer(number);
  return {copied(layer.norm1), copied(layer.norm2), copied(layer.wq),   copied(layer.wk),
          copied(layer.wv),    copied(layer.wo),    copied(layer.w_up), copied(layer.w_down)};
}

std::vector<Index> from_0(std::size_t count) {
  std::vector<Index> all(count);
  std::iota(all.begin(), all.end(), Index{0});
  return all;
}

/// What goes into each layer, and what comes out of the last.
template <class T>
std::vector<TensorOf<T>> inputs_of_layers(const ModelView<const T>& model, std::span<const Index> tokens) {
  std::vector<TensorOf<T>> x{take(copied(model.embedding()), 0, tokens)};
  for (Index number = 0; number < model.shape().layers; ++number)
    x.push_back(layer(layer_of(model, number), x.back(), from_0(tokens.size())).z);
  return x;
}

/// [columns], the sum over rows.
template <class T>
TensorOf<T> sum_of_rows(const TensorOf<T>& x) {
  TensorOf<T> sum({x.extent(1)});
  for (Index i = 0; i < x.size(); ++i) sum[i % x.extent(1)] += x[i];
  return sum;
}

struct Window {
  std::vector<Index> tokens, labels;
};

Window window_at(std::span<const std::uint8_t> text, Index begin, Index context) {
  const auto first = text.begin() + begin;
  return {{first, first + context}, {first + 1, first + context + 1}};
}

template <class T>
std::optional<T> held_out(const training::TrainOptions& options, std::span<const std::uint8_t> text,
                          const TensorOf<T>& weights) {
  std::vector<T> losses;
  for (Index begin = training::training_bytes(std::ssize(text)); begin + options.context < std::ssize(text);
       begin += options.context) {
    const Window window = window_at(text, begin, options.context);
    losses.push_back(loss_of_model(options.shape, weights, window.tokens, window.labels));
  }
  if (losses.empty()) return std::nullopt;
  return std::accumulate(losses.begin(), losses.end(), T{0}) / static_cast<T>(losses.size());
}

}  // namespace

template <class T>
T loss_of_model(const ModelShape& shape, const TensorOf<T>& weights, std::span<const Index> tokens,
                std::span<const Index> labels) {
  const ModelView<const T> model(shape, weights.values());
  const TensorOf<T> z = rms_norm(inputs_of_layers(model, tokens).back(), copied(model.final_norm()));
  return next_token_loss(z, labels, copied(model.head())).loss;
}

template <class T>
ModelLoss<T> model_loss(const ModelShape& shape, const TensorOf<T>& weights, std::span<const Index> tokens,
                        std::span<const Index> labels) {
  const ModelView<const T> model(shape, weights.values());
  const std::vector<TensorOf<T>> x = inputs_of_layers(model, tokens);
  const TensorOf<T> gain = copied(model.final_norm()), z = rms_norm(x.back(), gain);
  const Loss<T> loss = next_token_loss(z, labels, copied(model.head()));
  NormGradients<T> below = rms_norm_gradients(x.back(), gain, loss.dz);
  const std::vector<Index> rows = from_0(tokens.size());

  ModelLoss<T> result{loss.loss, TensorOf<T>(weights.shape())};
  const ModelView<T> d(shape, result.gradients.values());
  const auto write = [](const TensorOf<T>& from, T* to) {
    std::copy(from.values().begin(), from.values().end(), to);
  };
  write(outer_sum(loss.d_logits, z, rows), d.head().data());
  write(sum_of_rows(below.d_gain), d.final_norm().data());
  TensorOf<T> dx = std::move(below.dx);
  for (Index number = shape.layers - 1; number >= 0; --number) {
    const LayerGradients<T> gradients(layer_of(model, number), x[static_cast<std::size_t>(number)], rows, dx);
    const LayerWeights<T> all = gradients.all();
    const training::LayerWeights<T> to = d.layer(number);
    write(all.norm1, to.norm1.data());
    write(all.norm2, to.norm2.data());
    write(all.wq, to.wq.data());
    write(all.wk, to.wk.data());
    write(all.wv, to.wv.data());
    write(all.wo, to.wo.data());
    write(all.w_up, to.w_up.data());
    write(all.w_down, to.w_down.data());
    dx = gradients.dx();
  }
  for (std::size_t row = 0; row < tokens.size(); ++row)
    for (Index c = 0; c < shape.hidden; ++c)
      d.embedding()(tokens[row], c) += dx.matrix()(static_cast<Index>(row), c);
  return result;
}

template <class T>
T adamw(RunState<T>& state, const TensorOf<T>& gradients, const training::AdamOptions& options, double rate,
        std::span<const std::uint8_t> decays) {
  double squares = 0;
  for (const T value : gradients.values()) squares += static_cast<double>(value) * static_cast<double>(value);
  const double norm = std::sqrt(squares), clipped = norm > options.clip ? options.clip / norm : 1.0;
  state.step += 1;
  const double unbiased_m = 1 / (1 - std::pow(options.beta1, static_cast<double>(state.step))),
               unbiased_v = 1 / (1 - std::pow(options.beta2, static_cast<double>(state.step)));
  for (Index i = 0; i < gradients.size(); ++i) {
    const T g = gradients[i] * static_cast<T>(clipped), beta1 = options.beta1, beta2 = options.beta2;
    state.m[i] += (T{1} - beta1) * (g - state.m[i]);
    state.v[i] += (T{1} - beta2) * (g * g - state.v[i]);
    const T m = state.m[i] * static_cast<T>(unbiased_m), v = state.v[i] * static_cast<T>(unbiased_v);
    const T decay = decays[static_cast<std::size_t>(i)] != 0 ? options.decay * state.weights[i] : T{0};
    state.weights[i] -= static_cast<T>(rate) * (m / (std::sqrt(v) + static_cast<T>(options.epsilon)) + decay);
  }
  return static_cast<T>(norm);
}

template <class T>
std::vector<RunStep<T>> run(const training::TrainOptions& options, std::span<const std::uint8_t> text,
                            RunState<T>& state, Index last) {
  const std::vector<std::uint8_t> decays = training::decaying_weights(options.shape);
  const Index places = training::training_bytes(std::ssize(text)) - options.context;
  std::vector<RunStep<T>> steps;
  while (state.step < last) {
    const Index step = state.step;
    const auto begin =
        static_cast<Index>(training::draw(options.seed, step) % static_cast<std::uint64_t>(places));
    const Window window = window_at(text, begin, options.context);
    const ModelLoss<T> loss = model_loss(options.shape, state.weights, window.tokens, window.labels);
    const double rate = training::schedule(options, step);
    const T norm = adamw(state, loss.gradients, options.adam, rate, decays);
    steps.push_back({loss.loss, norm, rate, {}});
    if (options.evaluate > 0 && state.step % options.evaluate == 0)
      steps.back().held_out = held_out(options, text, state.weights);
  }
  return steps;
}

#define COURSE_TRAINING(T)                                                                           \
  template T loss_of_model(const ModelShape&, const TensorOf<T>&, std::span<const Index>,            \
                           std::span<const Index>);                                                  \
  template ModelLoss<T> model_loss(const ModelShape&, const TensorOf<T>&, std::span<const Index>,    \
                                   std::span<const Index>);                                          \
  template T adamw(RunState<T>&, const TensorOf<T>&, const training::AdamOptions&, double,           \
                   std::span<const std::uint8_t>);                                                   \
  template std::vector<RunStep<T>> run(const training::TrainOptions&, std::span<const std::uint8_t>, \
                                       RunState<T>&, Index);
COURSE_TRAINING(float)
COURSE_TRAINING(double)
#undef COURSE_TRAINING

}  // namespace course::reference
