#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "registry/registry.hpp"

namespace course::program {

/// Whether nvcc is here, in the path or in its usual place.
bool has_nvcc();

/// Why nothing can be played on a CUDA device here, or an empty string: there is no nvcc, no driver or no
/// device.
std::string cuda_obstacle();

/// What carries messages between CUDA devices: NCCL, or the host's memory and MPI under NCCL's names.
enum class Transport { Nccl, Host };

/// The target that stands in for NCCL's library, and the folder in a build tree where it lies.
inline constexpr const char* staged_nccl_target = "staged_nccl";
inline constexpr const char* staged_nccl_folder = "lib/staged";

/// How a lesson's player in a build tree is started with so many ranks on the CUDA devices of this machine.
/// Where several ranks have to share a device, each passes for a host of its own, since NCCL refuses two
/// ranks of one host on one device: it then sends between them as over a network. Source: NCCL User Guide,
/// environment variables (NCCL_HOSTID).
std::vector<std::string> player_on_devices(const std::filesystem::path& tree, const LessonInfo& lesson,
                                           int ranks, Transport transport);

}  // namespace course::program
