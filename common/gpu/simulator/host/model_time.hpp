#pragma once

#include <cstdint>
#include <vector>

#include "gpu/simulator/host/operations.hpp"
#include "trace/trace.hpp"

/// A model's time, for pictures: it shows the order that streams and events give, and no device's speed. A
/// kernel takes access_s for each of its accesses to memory, what NCCL moves takes byte_s a byte, in both
/// directions at once, and everything else takes none.
namespace course::gpu {

inline constexpr double access_s = 1e-9;
/// About as long as the work on a block of the judges' inputs takes, a number moved.
inline constexpr double byte_s = 8e-9;

/// The operation goes on: as soon as all that it is ordered behind is over.
void begin_in_model(OperationNumber number);
/// It does not begin before another rank is ready.
void wait_in_model(OperationNumber number, double ready_s);
void set_length_in_model(OperationNumber number, double length_s);

/// What the streams did that is named by a range of the host's code (begin_range()): each kernel, and each
/// message or group with what it waited for. Streams are numbered from 1, among those that did anything.
std::vector<Span> spans_in_model();

}  // namespace course::gpu
