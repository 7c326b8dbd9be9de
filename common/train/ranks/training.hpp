#pragma once

#include <mpi.h>

#include <filesystem>

#include "player/own_process.hpp"
#include "train/channel.hpp"

namespace course::train {

/// Does what the order in the folder says, as one of the ranks of comm, whose ranks all call it. The page
/// shows those who watch that something happens. Throws what the lessons throw, and std::runtime_error.
void train_as_ordered(const std::filesystem::path& folder, MPI_Comm comm, RankStatus& page);

}  // namespace course::train
