#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// The little MPI that the demo needs around the ring. Every function throws std::runtime_error with the
/// call's name when MPI reports an error, for which the communicator must return errors.
namespace course::demo {

int rank_of(MPI_Comm comm);
int size_of(MPI_Comm comm);

/// Any number of values, in messages that an int can count.
void send_values(std::span<const float> values, int to, MPI_Comm comm);
void receive_values(std::span<float> values, int from, MPI_Comm comm);

/// Every rank's text, by rank, on rank 0; nothing elsewhere.
std::vector<std::string> gather_texts(const std::string& own, MPI_Comm comm);

/// Rank 0's numbers to all. The others sleep until they come, since rank 0 may take long and share their
/// core.
void broadcast(std::span<std::int64_t> numbers, MPI_Comm comm);

/// The smallest, or largest, of all ranks' numbers, place by place.
std::vector<double> smallest(std::vector<double> numbers, MPI_Comm comm);
std::vector<double> largest(std::vector<double> numbers, MPI_Comm comm);

/// Returns when all ranks have called it. They sleep meanwhile, so that those which still work have the
/// cores.
void barrier(MPI_Comm comm);

/// The first messages between neighbours set connections up: better now than while a clock runs.
void connect_neighbours(MPI_Comm comm);

/// What to add to this rank's monotonic clock to have rank 0's. 0 where both run under the same kernel; else
/// found by asking rank 0 for the time and taking the fastest of some answers, to half its travel time.
/// Collective. Source: Cristian 1989.
double clock_offset_s(MPI_Comm comm);

/// Seconds on this host's monotonic clock.
double now_s();

/// Tells the machines of a job apart: the running kernel's own id, or the host's name.
std::string host_id();
std::string host_name();

}  // namespace course::demo
