// Which calls of MPI's move a large message while its rank is busy otherwise.
//   cmake --build build --target what_makes_progress
//   mpirun -n 2 --mca pml ob1 --mca btl self,tcp build/bin/what_makes_progress

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int bytes = 64 << 20;
constexpr int calls = 500;

/// A message each way, under way.
struct Exchange {
  std::vector<char> out = std::vector<char>(bytes, 1);
  std::vector<char> in = std::vector<char>(bytes);
  std::array<MPI_Request, 2> requests{};
};

/// What MPI_Waitall still takes when `call`, given its number, was made once a millisecond meanwhile: the
/// longer of both ranks' waits.
double seconds_left(Exchange& exchange, int other, const std::function<void(int)>& call) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Irecv(exchange.in.data(), bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, &exchange.requests[0]);
  MPI_Isend(exchange.out.data(), bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, &exchange.requests[1]);
  for (int i = 0; i < calls; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    call(i);
  }
  const double begin_s = MPI_Wtime();
  MPI_Waitall(2, exchange.requests.data(), MPI_STATUSES_IGNORE);
  const double own = MPI_Wtime() - begin_s;
  double longest = 0;
  MPI_Allreduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return longest;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int world_size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  if (world_size != 2) {
    std::fprintf(stderr, "what_makes_progress needs two ranks: mpirun -n 2 build/bin/what_makes_progress\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int other = 1 - rank;
  Exchange exchange;
  std::array<MPI_Request, 2>& open = exchange.requests;
  std::array<MPI_Request, 2> null{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int done = 0;
  int number = 0;
  const auto test_all = [&](int) { MPI_Testall(2, open.data(), &done, MPI_STATUSES_IGNORE); };
  const std::vector<std::pair<std::string, std::function<void(int)>>> all{
      {"no call", [](int) {}},
      {"MPI_Comm_rank", [&](int) { MPI_Comm_rank(MPI_COMM_WORLD, &number); }},
      {"MPI_Testall of no requests", [&](int) { MPI_Testall(0, nullptr, &done, MPI_STATUSES_IGNORE); }},
      {"MPI_Testall of two null requests",
       [&](int) { MPI_Testall(2, null.data(), &done, MPI_STATUSES_IGNORE); }},
      {"MPI_Iprobe from MPI_PROC_NULL",
       [&](int) { MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE); }},
      {"MPI_Sendrecv with itself",
       [&](int) {
         MPI_Sendrecv(&rank, 1, MPI_INT, rank, 1, &number, 1, MPI_INT, rank, 1, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE);
       }},
      {"MPI_Testall of both requests, once",
       [&](int i) {
         if (i == 0) test_all(i);
       }},
      {"MPI_Testall of both requests", test_all},
      {"MPI_Iprobe from the other rank",
       [&](int) { MPI_Iprobe(other, 1, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE); }},
      {"MPI_Barrier", [](int) { MPI_Barrier(MPI_COMM_WORLD); }}};
  for (const auto& [name, call] : all) {
    const double left_s = seconds_left(exchange, other, call);
    if (rank == 0) std::printf("%-38s %5.0f ms left\n", name.c_str(), left_s * 1e3);
  }
  MPI_Finalize();
}
