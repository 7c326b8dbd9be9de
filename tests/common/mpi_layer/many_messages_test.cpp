#include <mpi.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "hop.hpp"
#include "protocol/timing.hpp"

namespace mpi_layer_tests {

namespace {

constexpr int open = 4000;
constexpr int repetitions = 3;

/// Seconds that a message to nobody takes, which the library has done at once, while a block is computed and
/// many others are open.
double seconds_a_message() {
  std::vector<float> out(open, 1);
  std::vector<float> in(open);
  std::vector<MPI_Request> receives(open);
  std::vector<MPI_Request> sends(open);
  for (int i = 0; i < open; ++i) MPI_Irecv(&in[i], 1, MPI_FLOAT, previous, 0, comm, &receives[i]);
  double seconds = 0;
  compute([&] {
    const double begin_s = now_s();
    for (float& number : out) {
      MPI_Isend(&number, 1, MPI_FLOAT, MPI_PROC_NULL, 0, comm, &sends[0]);
      MPI_Wait(&sends[0], MPI_STATUS_IGNORE);
    }
    seconds = (now_s() - begin_s) / open;
  });
  MPI_Barrier(comm);
  for (int i = 0; i < open; ++i) MPI_Isend(&out[i], 1, MPI_FLOAT, next, 0, comm, &sends[i]);
  MPI_Waitall(open, sends.data(), MPI_STATUSES_IGNORE);
  MPI_Waitall(open, receives.data(), MPI_STATUSES_IGNORE);
  CHECK(in == out);
  return seconds;
}

/// The shortest of some measurements.
double least(const std::function<double()>& seconds) {
  double all = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repetitions; ++i) all = std::min(all, seconds());
  return all;
}

}  // namespace

/// A search through all open messages at every call takes some thousand times as long as the library does.
void test_many_messages() {
  const double of_library = least(seconds_a_message);
  const double of_both = least([] {
    double seconds = 0;
    const Played played = play([&] { seconds = seconds_a_message(); }, guarded);
    CHECK(played.what.empty());
    return seconds;
  });
  CHECK(of_both < 1000 * of_library);
}

}  // namespace mpi_layer_tests
