#pragma once

#include <cstddef>
#include <span>

/// What is allocated with new while a case is watched, as std::vector does it: a buffer within it has an end
/// that is known. Linking this replaces the executable's operators new and delete, and those of the shared
/// objects that it loads.
namespace course::mpi_layer {

/// Forgets what is remembered, and from now on remembers what is allocated (up to some thousand blocks at a
/// time), or does not.
void remember_allocations(bool remember);

/// The allocation that has this address; empty where none is remembered.
std::span<const std::byte> allocation_at(const void* address);

}  // namespace course::mpi_layer
