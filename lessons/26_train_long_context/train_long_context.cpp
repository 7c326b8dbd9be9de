#include "train_long_context.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "lesson/not_implemented.hpp"

namespace lesson26 {

Index window_begin(Index bytes, Index context, std::uint64_t seed, Index step) {
  // In how many places can context + 1 bytes begin?
  throw course::NotImplemented("task 1, window_begin");
}

Batch batch_at(std::span<const std::uint8_t> text, Index begin, std::span<const Index> positions) {
  // The byte after this rank's last one may be another rank's. Who has the text?
  throw course::NotImplemented("task 1, batch_at");
}

float adamw_step(TrainState& state, std::span<const float> gradients,
                 const course::training::AdamOptions& options, float rate,
                 std::span<const std::uint8_t> decays) {
  // The norm of what, and before which change? Which t has the first step?
  throw course::NotImplemented("task 2, adamw_step");
}

float loss_and_gradients(const ModelView<const float>& model, const Batch& batch,
                         std::span<const Positions> positions, const LayerFunctions& functions,
                         std::span<float> gradients, MPI_Comm comm) {
  // Up, layer by layer, and down again. What has each layer on its way down to find where it left it?
  throw course::NotImplemented("task 3, loss_and_gradients");
}

std::optional<float> held_out_loss(const ModelView<const float>& model, std::span<const std::uint8_t> text,
                                   std::span<const Positions> positions, const LayerFunctions& functions,
                                   MPI_Comm comm) {
  // Which byte is the last window's last label?
  throw course::NotImplemented("task 4, held_out_loss");
}

void train(const TrainOptions& options, std::span<const std::uint8_t> text, TrainState& state, Index last,
           const LayerFunctions& functions, const Report& report, MPI_Comm comm) {
  // What of a step is the same on all ranks, and what is this rank's own?
  throw course::NotImplemented("task 4, train");
}

void save_checkpoint(const std::string& folder, const TrainState& state, const Facts& facts,
                     const Files& files, MPI_Comm comm) {
  // After which of these calls is the new checkpoint there, and until when is the old one needed?
  throw course::NotImplemented("task 5, save_checkpoint");
}

TrainState load_checkpoint(const std::string& folder, const Facts& facts, const Files& files, MPI_Comm comm) {
  // How does a rank that reads nothing learn how many weights there are?
  throw course::NotImplemented("task 5, load_checkpoint");
}

}  // namespace lesson26
