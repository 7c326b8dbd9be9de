// Twelve programs train the same model on four ranks; one of them is right. Each is your tasks 1 to 3 with
// one edit of what they are given or return. Once these tasks pass:
//   cmake --build build --target loss_test
//   mpirun -n 4 --oversubscribe build/bin/loss_test         held-out losses, by letters
//   mpirun -n 4 --oversubscribe build/bin/loss_test steps   beside them what one rank has, step by step
//   mpirun -n 4 --oversubscribe build/bin/loss_test names   and which program is which
// loss_test_solution is made of the reference answer.

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string_view>

#include "player/plain_attention.hpp"
#include "player/shard_attention.hpp"
#include "ring/layout.hpp"
#include "train_long_context.hpp"
#include "training/plain_layer.hpp"

namespace {

using namespace course;

constexpr Index steps = 60;
constexpr const char* right_name = "right";
constexpr const char* names[] = {right_name,
                                 "labels shifted inside shards",
                                 "positions counted from 0 on each rank",
                                 "gradients averaged over ranks",
                                 "each rank's own mean, summed",
                                 "gradients left on their ranks",
                                 "norm summed over ranks once more",
                                 "another window on each rank",
                                 "gradients not zeroed",
                                 "no bias correction",
                                 "gains and embeddings decay, too",
                                 "decay added to the gradient"};

/// What one of the programs has made, and its loss on the window behind the bytes that it was trained on.
struct Run {
  const char* name;
  std::vector<float> losses, norms;
  float held_out;
};

std::vector<std::uint8_t> read_text() {
  std::ifstream file("common/data/minilm/text.txt", std::ios::binary);
  if (!file) throw std::runtime_error("common/data/minilm/text.txt: start this in the course's folder");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The ranks of a communicator that train, all with the same mistake.
class Program {
 public:
  Program(const char* name, std::span<const std::uint8_t> text, MPI_Comm comm)
      : name_(name), text_(text), comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
    options_.shape = {.vocabulary = 256, .hidden = 32, .heads = 4, .layers = 2, .ffn = 128};
    options_.context = 202;
    options_.steps = steps;
    const Layout layout = Layout::named("zigzag", static_cast<int>(options_.context), ranks_);
    for (int rank = 0; rank < ranks_; ++rank) positions_.push_back(layout.positions(rank));
    functions_ = edited_functions();
    decays_ = training::decaying_weights(options_.shape);
    if (is("gains and embeddings decay, too")) std::ranges::fill(decays_, std::uint8_t{1});
    state_ = training::initial_state(options_);
    gradients_.resize(state_.weights.size());
    before_.resize(state_.weights.size());
  }
  Program(const Program&) = delete;  // functions_ refer to it
  Program& operator=(const Program&) = delete;

  Run run(Index count) {
    Run run{name_, {}, {}, 0.0f};
    while (state_.step < count) step(run);
    run.held_out = loss_at(training::training_bytes(std::ssize(text_)));
    return run;
  }

 private:
  bool is(std::string_view name) const { return name == name_; }
  const Positions& own() const { return positions_[static_cast<std::size_t>(rank_)]; }

  training::LayerFunctions edited_functions() const {
    // Bound to all ranks, also where task 3 is given this one alone.
    const auto attention = [all = positions_, comm = comm_](std::span<const Positions>, MPI_Comm) {
      return shard_attention(grid::parts(plain::blocks.forward, plain::blocks.backward), all, comm);
    };
    training::LayerFunctions functions = training::plain_layer({}, attention);
    functions.loss = [this, loss = functions.loss](const auto& z, const auto& labels, const auto& head,
                                                   const auto& dz, const auto& d_head, MPI_Comm) {
      const float mean = loss(z, labels, head, dz, d_head, comm_);
      if (is("each rank's own mean, summed")) {
        const float own_mean = static_cast<float>(options_.context) / static_cast<float>(labels.size());
        scal(own_mean, std::span<float>(dz.data(), static_cast<std::size_t>(dz.size())));
        scal(own_mean, std::span<float>(d_head.data(), static_cast<std::size_t>(d_head.size())));
      }
      return mean;
    };
    if (is("positions counted from 0 on each rank")) {
      const auto edit = [tokens = own().size()](auto& pass) {
        std::vector<Index> from_0(tokens);
        std::iota(from_0.begin(), from_0.end(), Index{0});
        pass = [from_0, pass](const auto& x, const auto&, const auto&... rest) { pass(x, from_0, rest...); };
      };
      edit(functions.forward);
      edit(functions.backward);
    }
    return functions;
  }

  /// The loss of the window that begins there; gradients_ are its own.
  float loss_at(Index begin) {
    lesson26::Batch batch = lesson26::batch_at(text_, begin, own());
    if (is("labels shifted inside shards")) {
      std::rotate_copy(batch.tokens.begin(), batch.tokens.begin() + 1, batch.tokens.end(),
                       batch.labels.begin());
      batch.labels.back() = -100;
    }
    const training::ModelView<const float> model(options_.shape, state_.weights);
    const bool alone = is("gradients left on their ranks");
    const std::vector<Positions> positions = alone ? std::vector<Positions>{own()} : positions_;
    return lesson26::loss_and_gradients(model, batch, positions, functions_, gradients_,
                                        alone ? MPI_COMM_SELF : comm_);
  }

  void step(Run& run) {
    const Index bytes = training::training_bytes(std::ssize(text_)), step = state_.step;
    const std::uint64_t seed = options_.seed + (is("another window on each rank") ? rank_ : 0);
    const float loss = loss_at(lesson26::window_begin(bytes, options_.context, seed, step));
    training::AdamOptions adam = options_.adam;
    const float too_large =
        is("norm summed over ranks once more") ? std::sqrt(static_cast<float>(ranks_)) : 1.0f;
    adam.clip /= too_large;
    if (is("gradients averaged over ranks")) scal(1.0f / static_cast<float>(ranks_), gradients_);
    if (is("gradients not zeroed")) {
      axpy(1.0f, before_, gradients_);
      before_ = gradients_;
    }
    if (is("decay added to the gradient")) {
      for (std::size_t i = 0; i < decays_.size(); ++i)
        if (decays_[i] != 0) gradients_[i] += adam.decay * state_.weights[i];
      adam.decay = 0.0f;
    }
    if (is("no bias correction")) state_.step = 1'000'000;  // where 1 - beta^t is 1
    const float norm =
        lesson26::adamw_step(state_, gradients_, adam, training::schedule(options_, step), decays_);
    state_.step = step + 1;
    run.losses.push_back(loss);
    run.norms.push_back(norm * too_large);
  }

  const char* name_;
  std::span<const std::uint8_t> text_;
  MPI_Comm comm_;
  int rank_ = 0, ranks_ = 1;
  training::TrainOptions options_;
  std::vector<Positions> positions_;
  training::LayerFunctions functions_;
  std::vector<std::uint8_t> decays_;
  training::TrainState state_;
  std::vector<float> gradients_, before_;
};

void print(const std::vector<Run>& runs, const Run& one_rank, std::string_view what) {
  std::printf("   held out%s%s\n", what == "losses" ? "" : "    off at 1     at 5    at 20   norm at 0",
              what == "names" ? "   program" : "");
  char letter = 'A';
  for (const Run& run : runs) {
    std::printf("%c  %8.4f", letter++, static_cast<double>(run.held_out));
    if (what != "losses") {
      std::printf("   ");
      for (const std::size_t step : {1u, 5u, 20u})
        std::printf(" %8.0e", static_cast<double>(std::abs(run.losses[step] - one_rank.losses[step])));
      std::printf(" %11.4f", static_cast<double>(run.norms[0] / one_rank.norms[0]));
    }
    std::printf("%s%s\n", what == "names" ? "   " : "", what == "names" ? run.name : "");
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const std::vector<std::uint8_t> text = read_text();
    std::vector<Run> runs;
    for (const char* name : names) runs.push_back(Program(name, text, MPI_COMM_WORLD).run(steps));
    const Run one_rank = Program(right_name, text, MPI_COMM_SELF).run(21);
    std::ranges::sort(runs, {}, &Run::held_out);
    if (rank == 0) print(runs, one_rank, argc > 1 ? argv[1] : "losses");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "loss_test: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
