#include "train_long_context.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "lesson/not_implemented.hpp"

namespace lesson26 {

Index window_begin(Index bytes, Index context, std::uint64_t seed, Index step) {
  if (bytes <= context)
    throw std::invalid_argument("a text of " + std::to_string(bytes) +
                                " bytes has no window for a context of " + std::to_string(context));
  const std::uint64_t places = static_cast<std::uint64_t>(bytes - context);
  return static_cast<Index>(course::training::draw(seed, step) % places);
}

Batch batch_at(std::span<const std::uint8_t> text, Index begin, std::span<const Index> positions) {
  Batch batch;
  for (const Index position : positions) {
    batch.tokens.push_back(text[begin + position]);
    batch.labels.push_back(text[begin + position + 1]);
  }
  return batch;
}

float adamw_step(TrainState& state, std::span<const float> gradients,
                 const course::training::AdamOptions& options, float rate,
                 std::span<const std::uint8_t> decays) {
  double squares = 0.0;
  for (const float value : gradients) squares += static_cast<double>(value) * value;
  const double norm = std::sqrt(squares);
  const float shorter = static_cast<float>(std::min(1.0, options.clip / norm));
  const double t = static_cast<double>(++state.step);
  const float correction_m = static_cast<float>(1.0 - std::pow(options.beta1, t));
  const float correction_v = static_cast<float>(1.0 - std::pow(options.beta2, t));
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const float g = gradients[i] * shorter;
    float &m = state.m[i], &v = state.v[i], &weight = state.weights[i];
    m = options.beta1 * m + (1.0f - options.beta1) * g;
    v = options.beta2 * v + (1.0f - options.beta2) * g * g;
    float change = m / correction_m / (std::sqrt(v / correction_v) + options.epsilon);
    if (decays[i] != 0) change += options.decay * weight;
    weight -= rate * change;
  }
  return static_cast<float>(norm);
}

namespace {

using course::training::Kept;
using course::training::LayerWeights;

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

/// A matrix without gaps that owns its numbers, zeros at first.
class Room {
 public:
  Room(Index rows, Index cols) : numbers_(rows * cols, 0.0f), rows_(rows), cols_(cols) {}
  MatrixView<float> view() { return {numbers_.data(), rows_, cols_}; }

 private:
  std::vector<float> numbers_;
  Index rows_, cols_;
};

/// What a layer's backward pass is given: what went into it, o and lse.
class LayerRoom {
 public:
  LayerRoom(const course::training::ModelShape& shape, Index n)
      : shape_(shape),
        n_(n),
        x_(n, shape.hidden),
        o_(shape.heads * n, shape.head_dim()),
        lse_(shape.heads, n) {}
  MatrixView<float> x() { return x_.view(); }
  Kept<float> kept() { return {{o_.view().data(), shape_.heads, n_, shape_.head_dim()}, lse_.view()}; }

 private:
  course::training::ModelShape shape_;
  Index n_;
  Room x_, o_, lse_;
};

/// A model on one window, as this rank sees it.
class Pass {
 public:
  Pass(const ModelView<const float>& model, std::span<const Positions> positions,
       const LayerFunctions& functions, MPI_Comm comm)
      : model_(model),
        functions_(functions),
        comm_(comm),
        own_(positions[rank_in(comm)]),
        attention_(functions.attention(positions, comm)),
        hidden_(model.shape().hidden),
        n_(std::ssize(own_)) {}

  Index tokens() const { return n_; }

  /// x of the first layer.
  void embed(const Batch& batch, MatrixView<float> x) const {
    for (Index row = 0; row < n_; ++row)
      std::ranges::copy(model_.embedding().row(batch.tokens[row]), x.row(row).begin());
  }

  void forward(Index number, LayerRoom& room, MatrixView<float> z) const {
    functions_.forward(room.x(), own_, model_.layer(number), attention_, z, room.kept());
  }

  void backward(Index number, LayerRoom& room, MatrixView<const float> dz, MatrixView<float> dx,
                const ModelView<float>& gradients) const {
    const Kept<float> kept = room.kept();
    functions_.backward(room.x(), own_, model_.layer(number), attention_, {kept.o, kept.lse}, dz, dx,
                        gradients.layer(number));
  }

  /// The loss over the last layer's x; its gradient dx is written.
  float loss(const Batch& batch, MatrixView<const float> x, MatrixView<float> dx,
             const ModelView<float>& gradients) const {
    Room z(n_, hidden_), dz(n_, hidden_);
    functions_.norm(x, model_.final_norm(), z.view());
    const float loss =
        functions_.loss(z.view(), batch.labels, model_.head(), dz.view(), gradients.head(), comm_);
    functions_.norm_backward(x, model_.final_norm(), dz.view(), dx, gradients.final_norm());
    return loss;
  }

 private:
  const ModelView<const float>& model_;
  const LayerFunctions& functions_;
  MPI_Comm comm_;
  const Positions& own_;
  course::ShardAttention attention_;
  Index hidden_, n_;
};

}  // namespace

float loss_and_gradients(const ModelView<const float>& model, const Batch& batch,
                         std::span<const Positions> positions, const LayerFunctions& functions,
                         std::span<float> gradients, MPI_Comm comm) {
  const Pass pass(model, positions, functions, comm);
  const Index layers = model.shape().layers, hidden = model.shape().hidden;
  std::ranges::fill(gradients, 0.0f);
  const ModelView<float> d(model.shape(), gradients);
  std::vector<LayerRoom> rooms(layers, LayerRoom(model.shape(), pass.tokens()));
  Room last(pass.tokens(), hidden), d_above(pass.tokens(), hidden), d_below(pass.tokens(), hidden);
  const auto into = [&](Index number) { return number < layers ? rooms[number].x() : last.view(); };
  pass.embed(batch, into(0));
  for (Index number = 0; number < layers; ++number) pass.forward(number, rooms[number], into(number + 1));
  const float loss = pass.loss(batch, last.view(), d_above.view(), d);
  for (Index number = layers - 1; number >= 0; --number) {
    pass.backward(number, rooms[number], d_above.view(), d_below.view(), d);
    std::swap(d_above, d_below);
  }
  for (Index row = 0; row < pass.tokens(); ++row)
    course::axpy(1.0f, d_above.view().row(row), d.embedding().row(batch.tokens[row]));
  MPI_Allreduce(MPI_IN_PLACE, gradients.data(), static_cast<int>(gradients.size()), MPI_FLOAT, MPI_SUM, comm);
  return loss;
}

namespace {

/// The loss of one window, of which nothing is kept.
float window_loss(const ModelView<const float>& model, const Batch& batch,
                  std::span<const Positions> positions, const LayerFunctions& functions, MPI_Comm comm) {
  const Pass pass(model, positions, functions, comm);
  LayerRoom room(model.shape(), pass.tokens());
  Room above(pass.tokens(), model.shape().hidden), unused(pass.tokens(), model.shape().hidden);
  pass.embed(batch, above.view());
  for (Index number = 0; number < model.shape().layers; ++number) {
    std::copy_n(above.view().data(), above.view().size(), room.x().data());
    pass.forward(number, room, above.view());
  }
  std::vector<float> gradients(model.all().size());
  return pass.loss(batch, above.view(), unused.view(), {model.shape(), gradients});
}

}  // namespace

std::optional<float> held_out_loss(const ModelView<const float>& model, std::span<const std::uint8_t> text,
                                   std::span<const Positions> positions, const LayerFunctions& functions,
                                   MPI_Comm comm) {
  Index context = 0, windows = 0;
  for (const Positions& of_rank : positions) context += std::ssize(of_rank);
  double sum = 0.0;
  for (Index begin = course::training::training_bytes(std::ssize(text)); begin + context < std::ssize(text);
       begin += context, ++windows) {
    const Batch batch = batch_at(text, begin, positions[rank_in(comm)]);
    sum += window_loss(model, batch, positions, functions, comm);
  }
  if (windows == 0) return std::nullopt;
  return static_cast<float>(sum / static_cast<double>(windows));
}

void train(const TrainOptions& options, std::span<const std::uint8_t> text, TrainState& state, Index last,
           const LayerFunctions& functions, const Report& report, MPI_Comm comm) {
  const auto training =
      text.first(static_cast<std::size_t>(course::training::training_bytes(std::ssize(text))));
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  const std::vector<Positions> positions = functions.positions(options.context, ranks);
  const std::vector<std::uint8_t> decays = course::training::decaying_weights(options.shape);
  const ModelView<const float> model(options.shape, state.weights);
  std::vector<float> gradients(state.weights.size());
  while (state.step < last) {
    const Index step = state.step;
    const Index begin = window_begin(std::ssize(training), options.context, options.seed, step);
    const Batch batch = batch_at(training, begin, positions[rank_in(comm)]);
    const float loss = loss_and_gradients(model, batch, positions, functions, gradients, comm);
    if (!std::isfinite(loss))
      throw std::runtime_error("the loss of step " + std::to_string(step) + " is " + std::to_string(loss));
    const float rate = course::training::schedule(options, step);
    const float norm = adamw_step(state, gradients, options.adam, rate, decays);
    std::optional<float> held_out;
    if (options.evaluate > 0 && state.step % options.evaluate == 0)
      held_out = held_out_loss(model, text, positions, functions, comm);
    report({step, loss, norm, rate, held_out});
  }
}

namespace {

const std::string prefix = "step-";

/// Rank 0 does the work, and all wait for it. Where that throws, all throw std::runtime_error with its words.
template <class Work>
void on_rank_0(MPI_Comm comm, Work work) {
  std::string wrong;
  if (rank_in(comm) == 0) {
    try {
      work();
    } catch (const std::exception& error) {
      wrong = error.what();
    }
  }
  int length = static_cast<int>(wrong.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, comm);
  if (length == 0) return;
  wrong.resize(length);
  MPI_Bcast(wrong.data(), length, MPI_CHAR, 0, comm);
  throw std::runtime_error(wrong);
}

std::string name_of(Index step) {
  const std::string digits = std::to_string(step);
  return prefix + std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits;
}

/// The step of a whole checkpoint's name; -1 of any other name.
Index step_of(const std::string& name) {
  const std::string digits = name.starts_with(prefix) ? name.substr(prefix.size()) : "";
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) return -1;
  return std::stoll(digits);
}

void write(const std::string& folder, const TrainState& state, Facts facts, const Files& files) {
  const std::string name = name_of(state.step), part = folder + "/" + name + ".part";
  const auto names = files.names_in(folder);
  if (std::ranges::find(names, name) != names.end()) return;
  facts["step"] = static_cast<std::uint64_t>(state.step);
  files.make_folder(part);
  files.write_numbers(part + "/weights.npy", state.weights);
  files.write_numbers(part + "/m.npy", state.m);
  files.write_numbers(part + "/v.npy", state.v);
  files.write_facts(part + "/state.json", facts);
  files.rename(part, folder + "/" + name);
  for (const std::string& other : files.names_in(folder))
    if (other.starts_with(prefix) && other != name) files.remove(folder + "/" + other);
}

TrainState read(const std::string& folder, const Facts& facts, const Files& files) {
  Index newest = -1;
  for (const std::string& name : files.names_in(folder)) newest = std::max(newest, step_of(name));
  if (newest < 0) throw std::runtime_error(folder + " has no checkpoint");
  const std::string path = folder + "/" + name_of(newest);
  Facts saved = files.read_facts(path + "/state.json");
  for (const auto& [name, value] : facts) {
    if (saved[name] != value)
      throw std::runtime_error(name + " is " + std::to_string(saved[name]) + " in " + path + ", " +
                               std::to_string(value) + " asked");
  }
  return {static_cast<Index>(saved["step"]), files.read_numbers(path + "/weights.npy"),
          files.read_numbers(path + "/m.npy"), files.read_numbers(path + "/v.npy")};
}

}  // namespace

void save_checkpoint(const std::string& folder, const TrainState& state, const Facts& facts,
                     const Files& files, MPI_Comm comm) {
  on_rank_0(comm, [&] { write(folder, state, facts, files); });
}

TrainState load_checkpoint(const std::string& folder, const Facts& facts, const Files& files, MPI_Comm comm) {
  TrainState state;
  on_rank_0(comm, [&] { state = read(folder, facts, files); });
  long long sizes[] = {state.step, std::ssize(state.weights)};
  MPI_Bcast(sizes, 2, MPI_LONG_LONG, 0, comm);
  state.step = sizes[0];
  for (std::vector<float>* numbers : {&state.weights, &state.m, &state.v}) {
    numbers->resize(sizes[1]);
    MPI_Bcast(numbers->data(), static_cast<int>(sizes[1]), MPI_FLOAT, 0, comm);
  }
  return state;
}

}  // namespace lesson26
