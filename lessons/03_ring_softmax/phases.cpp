// How long does a hop of the odd/even order take, counted in message times?
//   cmake --build build --target phases && mpirun -n 5 --oversubscribe build/bin/phases
// Messages here are slow on purpose: once both sides are there, each lasts 50 ms, in which neither side can
// do anything else. No rank computes, so that many ranks can share few cores.

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

constexpr std::chrono::milliseconds message_time{50};

void send(int to) {
  MPI_Ssend(nullptr, 0, MPI_BYTE, to, 0, MPI_COMM_WORLD);
  std::this_thread::sleep_for(message_time);
}

/// Waits with little work: a rank that spins would slow down those that share its core.
void receive(int from) {
  for (int arrived = 0; arrived == 0;) {
    MPI_Iprobe(from, 0, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
    if (arrived == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  MPI_Recv(nullptr, 0, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  std::this_thread::sleep_for(message_time);
}

struct Message {
  int from;
  int to;
};

/// The messages of a hop: those of the even ranks, then those of the odd ones. A rank takes its part in them
/// in this order.
std::vector<Message> messages_of_a_hop(int world_size) {
  std::vector<Message> messages;
  for (const int first : {0, 1}) {
    for (int from = first; from < world_size; from += 2) messages.push_back({from, (from + 1) % world_size});
  }
  return messages;
}

/// What every rank does after each hop. Work lasts as long as a message, and is not counted.
enum class After { Nothing, Work, Barrier };

/// Message times until every rank has made `hops` hops, for each of them.
double message_times(int hops, After after, int rank, int world_size) {
  const std::vector<Message> messages = messages_of_a_hop(world_size);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start_s = MPI_Wtime();
  for (int hop = 0; hop < hops; ++hop) {
    for (const Message& message : messages) {
      if (message.from == rank) send(message.to);
      if (message.to == rank) receive(message.from);
    }
    if (after == After::Work) std::this_thread::sleep_for(message_time);
    if (after == After::Barrier) MPI_Barrier(MPI_COMM_WORLD);
  }
  const double own_s = MPI_Wtime() - start_s;
  double slowest_s = 0;
  MPI_Allreduce(&own_s, &slowest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const double each = slowest_s / std::chrono::duration<double>(message_time).count() / hops;
  return after == After::Work ? each - 1 : each;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int world_size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  const int hops = 20;
  const double one = message_times(1, After::Nothing, rank, world_size);
  const double in_a_row = message_times(hops, After::Nothing, rank, world_size);
  const double with_work = message_times(hops, After::Work, rank, world_size);
  const double with_barrier = message_times(hops, After::Barrier, rank, world_size);
  if (rank == 0) {
    std::printf(
        "P = %d, message times a hop: one hop %.1f; %d in a row %.2f, with work after each %.2f, with a "
        "barrier after each %.2f\n",
        world_size, one, hops, in_a_row, with_work, with_barrier);
  }
  MPI_Finalize();
}
