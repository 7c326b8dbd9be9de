#pragma once

#include <memory_resource>

namespace course::mpi_layer {

/// Memory for what the layer keeps of every open message. Its first 8 MiB are touched at the start of the
/// process, before a case is measured: however many messages a function has open, its peak memory is its own
/// and the library's.
std::pmr::memory_resource& own_memory();

}  // namespace course::mpi_layer
