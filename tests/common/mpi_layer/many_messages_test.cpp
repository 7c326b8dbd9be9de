#include <malloc.h>
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

/// Without synchronous sends: Open MPI 5.0.7 loses the acknowledgements of some where a rank has a thousand
/// of them open, so that they never complete.
const Options many{.guard_buffers = true};

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

/// Bytes of the heap by which waiting for many messages leaves more in use than there was before the wait.
std::ptrdiff_t kept_of_messages() {
  std::vector<float> out(open, 1);
  std::vector<float> in(open);
  std::vector<MPI_Request> requests(2 * open);
  for (int i = 0; i < open; ++i) {
    MPI_Irecv(&in[i], 1, MPI_FLOAT, previous, 0, comm, &requests[2 * i]);
    MPI_Isend(&out[i], 1, MPI_FLOAT, next, 0, comm, &requests[2 * i + 1]);
  }
  const std::size_t before = mallinfo2().uordblks;
  MPI_Waitall(2 * open, requests.data(), MPI_STATUSES_IGNORE);
  return static_cast<std::ptrdiff_t>(mallinfo2().uordblks - before);
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
    const Played played = play([&] { seconds = seconds_a_message(); }, many);
    CHECK(played.what.empty());
    return seconds;
  });
  CHECK(of_both < 1000 * of_library);
}

/// What the layer knows of requests that are over lies in its own memory: what a function holds at its peak
/// is the function's.
void test_many_messages_leave_nothing_on_the_heap() {
  std::ptrdiff_t kept = 0;
  const Played played = play([&] { kept = kept_of_messages(); }, many);
  CHECK(played.what.empty());
  CHECK(kept < 16 * open);
}

}  // namespace mpi_layer_tests
