#include "player/position_lists.hpp"
#include "player/refusal.hpp"
#include "player/shard_attention.hpp"
#include "player/training_run.hpp"
#include "train_long_context.hpp"
#include "training/lesson_code.hpp"
#include "training/plain_layer.hpp"

namespace {

using course::Call;
using course::Index;
using course::Shape;
using course::Tensor;
using course::training::TrainState;

std::vector<Index> whole_numbers(const Tensor& x) {
  return {x.values().begin(), x.values().end()};
}

std::vector<std::uint8_t> bytes_of(const Tensor& x) {
  return {x.values().begin(), x.values().end()};
}

/// The plain layer, on the case's positions.
course::training::LayerFunctions layer_of(const Call& call) {
  const std::vector<course::Positions> lists = course::positions_by_rank(call);
  const course::GridParts parts =
      course::grid::parts(call.blocks().block_forward_of_mask(), call.blocks().block_backward_of_mask());
  return course::training::plain_layer(
      [lists](Index context, int ranks) { return course::checked_positions(lists, context, ranks); },
      [parts](std::span<const course::Positions> positions, MPI_Comm comm) {
        return course::shard_attention(parts, {positions.begin(), positions.end()}, comm);
      });
}

void window(Call& call) {
  const std::vector<std::uint8_t> text = bytes_of(call.input("text"));
  const std::vector<int> steps = call.integers("steps"), list = call.integers("positions");
  const std::vector<Index> positions(list.begin(), list.end());
  Tensor& begin = call.output("begin", {std::ssize(steps)});
  const Shape rows{std::ssize(steps), std::ssize(positions)};
  Tensor &tokens = call.output("tokens", rows), &labels = call.output("labels", rows);
  course::call_or_refuse(call, [&] {
    for (Index i = 0; i < std::ssize(steps); ++i) {
      const Index first =
          lesson26::window_begin(std::ssize(text), call.integer("context"),
                                 static_cast<std::uint64_t>(call.number("seed")), steps.at(i));
      begin[i] = static_cast<float>(first);
      const lesson26::Batch batch = lesson26::batch_at(text, first, positions);
      course::write_list("tokens", batch.tokens, tokens.matrix().row(i));
      course::write_list("labels", batch.labels, labels.matrix().row(i));
    }
  });
}

void adamw(Call& call) {
  TrainState state = course::state_of(call);
  const std::vector<std::uint8_t> decays = bytes_of(call.input("decays"));
  call.output("norm", {1})[0] =
      lesson26::adamw_step(state, call.input("gradients").flat(), course::adam_options_of(call),
                           static_cast<float>(call.number("rate")), decays);
  course::write_state(call, state);
}

void loss_and_gradients(Call& call) {
  const course::training::ModelShape shape = course::model_shape_of(call);
  const course::training::LayerFunctions functions = layer_of(call);
  const lesson26::Batch batch{whole_numbers(call.input("tokens")), whole_numbers(call.input("labels"))};
  const std::vector<course::Positions> positions = course::positions_by_rank(call);
  const auto& weights = call.input("weights");
  Tensor& gradients = call.output("gradients", {1, weights.size()});
  std::ranges::fill(gradients.values(), static_cast<float>(call.number("filled")));
  call.output("loss", {1})[0] =
      lesson26::loss_and_gradients({shape, weights.flat()}, batch, positions, functions, gradients.values(),
                                   call.communicator<MPI_Comm>());
}

void train(Call& call) {
  const course::training::TrainOptions options = course::train_options_of(call);
  const std::vector<std::uint8_t> text = bytes_of(call.input("text"));
  TrainState state = course::state_of(call);
  const Index last = call.integer("last");
  course::StepLog log(call, state.step, last);
  course::write_state(call, state);
  course::call_or_refuse_run(call, [&] {
    lesson26::train(options, text, state, last, layer_of(call), log.report(), call.communicator<MPI_Comm>());
    course::write_state(call, state);
  });
}

void checkpoints(Call& call) {
  const MPI_Comm comm = call.communicator<MPI_Comm>();
  const auto broadcast = [comm](int number) {
    MPI_Bcast(&number, 1, MPI_INT, 0, comm);
    return number;
  };
  course::CheckpointPlay<MPI_Comm, decltype(&lesson26::save_checkpoint),
                         decltype(&lesson26::load_checkpoint)>(
      call, course::grid::rank_in(comm), lesson26::save_checkpoint, lesson26::load_checkpoint, broadcast)
      .play();
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"window", window},
                                       {"adamw", adamw},
                                       {"loss_and_gradients", loss_and_gradients},
                                       {"train", train},
                                       {"checkpoints", checkpoints}};
  return adapter;
}

const course::training::Trainer& course_trainer() {
  static constexpr course::training::Trainer trainer{lesson26::train, lesson26::save_checkpoint,
                                                     lesson26::load_checkpoint};
  return trainer;
}
