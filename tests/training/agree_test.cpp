// The solution of lesson 26 on 1, 2 and 3 ranks against the reference on one: under mpirun -n 3.
#include <cmath>
#include <cstdio>
#include <map>

#include "player/plain_attention.hpp"
#include "player/shard_attention.hpp"
#include "reference/training.hpp"
#include "ring/layout.hpp"
#include "train_long_context.hpp"
#include "training/memory_disk.hpp"
#include "training/plain_layer.hpp"

namespace {

using namespace course;
using training::StepReport;
using training::TrainOptions;
using training::TrainState;

constexpr Index total_steps = 12;

int failures = 0;

void expect(bool holds, const char* what, int ranks, Index step) {
  if (holds) return;
  std::fprintf(stderr, "%d ranks, step %td: %s\n", ranks, step, what);
  ++failures;
}

std::vector<std::uint8_t> some_text() {
  std::vector<std::uint8_t> text(400);
  for (std::size_t i = 0; i < text.size(); ++i)
    text[i] = static_cast<std::uint8_t>((i * i / 7 + 5 * i) % 11 + i % 3);
  return text;
}

TrainOptions some_options() {
  TrainOptions options;
  options.shape = {.vocabulary = 16, .hidden = 8, .heads = 2, .layers = 2, .ffn = 12};
  options.context = 17;
  options.steps = total_steps;
  options.warm_up = 4;
  options.rate = 0.02f;
  options.evaluate = 5;
  return options;
}

training::LayerFunctions zigzag_layer() {
  return training::plain_layer(
      [](Index context, int ranks) {
        const Layout layout = Layout::named("zigzag", static_cast<int>(context), ranks);
        std::vector<Positions> positions;
        for (int rank = 0; rank < ranks; ++rank) positions.push_back(layout.positions(rank));
        return positions;
      },
      [](std::span<const Positions> positions, MPI_Comm comm) {
        return shard_attention(grid::parts(plain::blocks.forward, plain::blocks.backward),
                               {positions.begin(), positions.end()}, comm);
      });
}

struct RightRun {
  std::vector<reference::RunStep<double>> steps;
  reference::RunState<double> state;  ///< after the last
};

RightRun right_run(const TrainOptions& options, std::span<const std::uint8_t> text) {
  const TrainState begun = training::initial_state(options);
  const auto whole = [](const std::vector<float>& x) {
    return Tensor64({std::ssize(x)}, {x.begin(), x.end()});
  };
  reference::RunState<double> state{0, whole(begun.weights), whole(begun.m), whole(begun.v)};
  std::vector<reference::RunStep<double>> steps = reference::run(options, text, state, total_steps);
  return {std::move(steps), std::move(state)};
}

/// The norm of the difference, of the norm of what is right.
double off_by(const std::vector<float>& numbers, const Tensor64& right) {
  double difference = 0, whole = 0;
  for (Index i = 0; i < right.size(); ++i) {
    difference += std::pow(numbers[static_cast<std::size_t>(i)] - right[i], 2);
    whole += right[i] * right[i];
  }
  return std::sqrt(difference / whole);
}

void expect_right(const TrainState& state, const reference::RunState<double>& right, const char* run) {
  for (const auto& [numbers, expected] :
       {std::pair{&state.weights, &right.weights}, {&state.m, &right.m}, {&state.v, &right.v}})
    if (const double off = off_by(*numbers, *expected); !(off < 1e-4)) {
      std::fprintf(stderr, "the run %s ends with other numbers, %.1e off\n", run, off);
      ++failures;
    }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int world_rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  const std::vector<std::uint8_t> text = some_text();
  const TrainOptions options = some_options();
  const RightRun right = right_run(options, text);
  const training::LayerFunctions functions = zigzag_layer();
  training::MemoryDisk disk;
  const training::Facts facts = training::facts_of(options, text);
  for (int ranks = 1; ranks <= 3; ++ranks) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank < ranks ? 0 : MPI_UNDEFINED, world_rank, &comm);
    if (comm == MPI_COMM_NULL) continue;
    Index reported = 0;
    const auto report = [&](const StepReport& made) {
      ++reported;
      const auto& expected = right.steps.at(static_cast<std::size_t>(made.step));
      expect(std::abs(made.loss - expected.loss) < 2e-6, "another loss than one rank's", ranks, made.step);
      expect(std::abs(made.norm - expected.norm) < 1e-4 * expected.norm, "another norm", ranks, made.step);
      expect(made.held_out.has_value() == expected.held_out.has_value() &&
                 std::abs(made.held_out.value_or(0) - expected.held_out.value_or(0)) < 2e-6,
             "another held-out loss", ranks, made.step);
    };
    // Each world goes on from where the one before it has stopped.
    TrainState state = ranks == 1 ? training::initial_state(options)
                                  : lesson26::load_checkpoint("run", facts, disk.files(), comm);
    expect(state.step == total_steps / 3 * (ranks - 1), "goes on from another step", ranks, state.step);
    lesson26::train(options, text, state, total_steps / 3 * ranks, functions, report, comm);
    expect(reported == total_steps / 3, "another number of reports than of steps", ranks, state.step);
    if (ranks == 3) expect_right(state, right.state, "in pieces");
    lesson26::save_checkpoint("run", state, facts, disk.files(), comm);
    if (ranks == 1) {
      TrainState whole = training::initial_state(options);
      reported = 0;
      lesson26::train(options, text, whole, total_steps, functions, report, comm);
      expect(reported == total_steps, "another number of reports than of steps", ranks, whole.step);
      expect_right(whole, right.state, "whole");
    }
    MPI_Comm_free(&comm);
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
