#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"

/// The folders that a run leaves: step-000400 is the state before step 400, and step-000400.part one that is
/// being written. What is in one is the lesson's business, but for the names of its files.
namespace course::train {

struct Checkpoint {
  Index step = 0;
  std::filesystem::path path = {};
};

/// "step-000400"
std::string checkpoint_name(Index step);

/// Those in this folder that were renamed, the newest first; none where there is no folder.
std::vector<Checkpoint> checkpoints_in(const std::filesystem::path& folder);

/// Why this one cannot be gone on from, "weights.npy: is truncated"; empty where it is whole.
std::string damage_of(const Checkpoint& checkpoint);

/// The newest whole one. Throws UsageError where the folder has none, with what is wrong with the newest.
Checkpoint newest_whole(const std::filesystem::path& folder);

/// Removes those in its folder that are newer, which a run that goes on from this one would take for saved.
void remove_newer_than(const Checkpoint& one);

}  // namespace course::train
