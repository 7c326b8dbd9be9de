#pragma once

/// The kinds of Fact that the MPI layer tells; the judge, which knows no MPI, reads them too.
namespace course::mpi_layer {

inline constexpr const char* fact_any_source = "any_source";
inline constexpr const char* fact_world = "world_communicator";
inline constexpr const char* fact_self_message = "self_message";
inline constexpr const char* fact_invalid_peer = "invalid_peer";
inline constexpr const char* fact_overlapping_buffers = "overlapping_buffers";
inline constexpr const char* fact_collective = "collective";
inline constexpr const char* fact_unfinished_request = "unfinished_request";
/// MPI_Init or MPI_Finalize (both ignored) or MPI_Abort (thrown) inside the case.
inline constexpr const char* fact_lifecycle = "lifecycle";
/// A call that the course does not use and the layer does not follow, such as MPI_Bsend or MPI_Win_create.
inline constexpr const char* fact_uncommon_call = "uncommon_call";

}  // namespace course::mpi_layer
