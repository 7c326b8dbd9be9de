#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>

#include "training/files.hpp"
#include "training/layer_functions.hpp"
#include "training/run.hpp"

/// What the shared objects of lessons have for a program that trains with them.
namespace course::training {

/// The functions of the lesson that trains, whose header says what each does.
struct Trainer {
  void (*train)(const TrainOptions& options, std::span<const std::uint8_t> text, TrainState& state,
                Index last, const LayerFunctions& functions, const Report& report, MPI_Comm comm);
  void (*save_checkpoint)(const std::string& folder, const TrainState& state, const Facts& facts,
                          const Files& files, MPI_Comm comm);
  TrainState (*load_checkpoint)(const std::string& folder, const Facts& facts, const Files& files,
                                MPI_Comm comm);
};

}  // namespace course::training

/// The adapter of the lesson that trains defines this; a program that is given the lesson's shared object
/// finds it by name.
extern "C" const course::training::Trainer& course_trainer();

/// The same of the lesson that has the layer and the loss: all but positions and attention, which are empty.
extern "C" const course::training::LayerFunctions& course_layer();
