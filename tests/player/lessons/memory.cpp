#include <mpi.h>

#include <cstdlib>

#include "player/adapter.hpp"

/// Answers that touch memory that is not theirs, each in its own way. The folder is called as lessons' own
/// is, by which a sanitizer's report is read.
namespace {

std::vector<float> hop(course::Call& call, int sent, int received) {
  const MPI_Comm comm = call.communicator<MPI_Comm>();
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::vector<float> out(4);
  std::vector<float> in(4);
  MPI_Sendrecv(out.data(), sent, MPI_FLOAT, (rank + 1) % size, 0, in.data(), received, MPI_FLOAT,
               (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
  return in;
}

void stays(course::Call& call) {
  hop(call, 4, 4);
}

void sends_beyond(course::Call& call) {
  hop(call, 6, 6);
}

void receives_beyond(course::Call& call) {
  hop(call, 4, 16);
}

void broadcasts_beyond(course::Call& call) {
  std::vector<float> state(2);
  MPI_Bcast(state.data(), 4, MPI_FLOAT, 0, call.communicator<MPI_Comm>());
}

void writes_beyond(course::Call& call) {
  std::vector<float> row = hop(call, 4, 4);
  volatile float* const numbers = row.data();
  numbers[4] = 1;
}

/// Which neither finds in itself: the C library, and AddressSanitizer, when it is freed.
void frees_what_is_none(course::Call&) {
  volatile std::size_t inside = 16;
  auto* const block = static_cast<char*>(std::malloc(64));
  std::free(block + inside);
}

void divides_by_zero(course::Call& call) {
  volatile int zero = static_cast<int>(hop(call, 4, 4)[0]);
  volatile int quotient = 1 / zero;
  static_cast<void>(quotient);
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"stays", stays},
                                       {"sends_beyond", sends_beyond},
                                       {"receives_beyond", receives_beyond},
                                       {"broadcasts_beyond", broadcasts_beyond},
                                       {"writes_beyond", writes_beyond},
                                       {"frees_what_is_none", frees_what_is_none},
                                       {"divides_by_zero", divides_by_zero}};
  return adapter;
}
