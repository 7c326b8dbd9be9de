#pragma once

#include <string>
#include <vector>

#include "judge/diagnosis/diagnose.hpp"
#include "judge/task.hpp"

/// What a task's kernels ask of memory, as a simulated GPU counts it on one example, beside what the
/// solution's ask for, and limits to it.
namespace course {

/// The task, one of whose examples is counted. Throws std::logic_error, when examples are drawn, where none
/// is called so.
/// @param example what the example is called; it has the same shape with every seed
/// @param solution what the solution's kernels ask for on it, together. A test plays the solution and
/// compares
Task counted(Task task, std::string example, KernelCounts solution);

/// All kernels' together; its name and its launches count for nothing.
KernelCounts together(const CountsByKernel& kernels);

/// Lines for whoever has passed: each kernel's counts, and the solution's. Empty where nothing was counted,
/// as on a CUDA device.
std::string costs_text(const Task& task, const std::vector<Played>& played);

/// Says how what was counted differs from the task's solution_counts, which are g++'s. A tenth more or less
/// is no difference: versions of it keep different values in registers. Empty where there is none, no example
/// is counted, or clang is the compiler, which loads some small vectors number by number.
std::string drift_from_solution(const Task& task, const std::vector<Played>& played);

namespace checks {

/// Bytes that an example's kernels may read and write, and how the contract says it.
struct ByteLimit {
  std::int64_t bytes;
  std::string words;  ///< "eight times as many as x and the result have"
};

using LimitOf = std::function<ByteLimit(const Example&)>;

ByteLimit four_times(const KernelCounts& solution);

/// All kernels together read and write no more bytes of device memory, on the example that is counted.
CommunicationCheck moves_at_most(LimitOf limit, std::string mistake);

/// On it, their warps make no more requests than full warps that move a float a lane need for so many bytes.
/// Told only where the bytes are within the limit.
CommunicationCheck asks_in_full_warps(LimitOf limit, std::string mistake);

}  // namespace checks

}  // namespace course
