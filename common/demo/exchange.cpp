#include "demo/exchange.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <thread>

#include "mpi_layer/operation.hpp"

namespace course::demo {

namespace {

using mpi_layer::check;

constexpr int tag = 1;
constexpr std::size_t most_values = std::size_t{1} << 28;
constexpr int clock_questions = 16;

void sleep_until_complete(MPI_Request& request) {
  for (int done = 0; done == 0;) {
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), [] { return "MPI_Test"; });
    if (done == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

std::vector<double> reduced(std::vector<double> numbers, MPI_Op op, MPI_Comm comm) {
  check(MPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_DOUBLE, op, comm),
        [] { return "MPI_Allreduce"; });
  return numbers;
}

/// Rank 0's answers to one rank's questions.
void tell_time(int asker, MPI_Comm comm) {
  for (int i = 0; i < clock_questions; ++i) {
    check(MPI_Recv(nullptr, 0, MPI_BYTE, asker, tag, comm, MPI_STATUS_IGNORE), [] { return "MPI_Recv"; });
    const double now = now_s();
    check(MPI_Send(&now, 1, MPI_DOUBLE, asker, tag, comm), [] { return "MPI_Send"; });
  }
}

double ask_time(MPI_Comm comm) {
  double fastest = std::numeric_limits<double>::infinity();
  double offset = 0;
  for (int i = 0; i < clock_questions; ++i) {
    double theirs = 0;
    const double asked = now_s();
    check(MPI_Send(nullptr, 0, MPI_BYTE, 0, tag, comm), [] { return "MPI_Send"; });
    check(MPI_Recv(&theirs, 1, MPI_DOUBLE, 0, tag, comm, MPI_STATUS_IGNORE), [] { return "MPI_Recv"; });
    const double answered = now_s();
    if (answered - asked < fastest) {
      fastest = answered - asked;
      offset = theirs - (asked + answered) / 2;
    }
  }
  return offset;
}

}  // namespace

int rank_of(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank), [] { return "MPI_Comm_rank"; });
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  check(MPI_Comm_size(comm, &size), [] { return "MPI_Comm_size"; });
  return size;
}

void send_values(std::span<const float> values, int to, MPI_Comm comm) {
  for (; !values.empty(); values = values.subspan(std::min(values.size(), most_values))) {
    const int count = static_cast<int>(std::min(values.size(), most_values));
    check(MPI_Send(values.data(), count, MPI_FLOAT, to, tag, comm), [] { return "MPI_Send"; });
  }
}

void receive_values(std::span<float> values, int from, MPI_Comm comm) {
  for (; !values.empty(); values = values.subspan(std::min(values.size(), most_values))) {
    const int count = static_cast<int>(std::min(values.size(), most_values));
    check(MPI_Recv(values.data(), count, MPI_FLOAT, from, tag, comm, MPI_STATUS_IGNORE),
          [] { return "MPI_Recv"; });
  }
}

std::vector<std::string> gather_texts(const std::string& own, MPI_Comm comm) {
  if (rank_of(comm) != 0) {
    check(MPI_Send(own.data(), static_cast<int>(own.size()), MPI_CHAR, 0, tag, comm),
          [] { return "MPI_Send"; });
    return {};
  }
  std::vector<std::string> texts{own};
  for (int rank = 1; rank < size_of(comm); ++rank) {
    MPI_Status status;
    int length = 0;
    check(MPI_Probe(rank, tag, comm, &status), [] { return "MPI_Probe"; });
    check(MPI_Get_count(&status, MPI_CHAR, &length), [] { return "MPI_Get_count"; });
    std::string& text = texts.emplace_back(length, '\0');
    check(MPI_Recv(text.data(), length, MPI_CHAR, rank, tag, comm, MPI_STATUS_IGNORE),
          [] { return "MPI_Recv"; });
  }
  return texts;
}

void broadcast(std::span<std::int64_t> numbers, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibcast(numbers.data(), static_cast<int>(numbers.size()), MPI_INT64_T, 0, comm, &request),
        [] { return "MPI_Ibcast"; });
  sleep_until_complete(request);
}

std::vector<double> smallest(std::vector<double> numbers, MPI_Comm comm) {
  return reduced(std::move(numbers), MPI_MIN, comm);
}

std::vector<double> largest(std::vector<double> numbers, MPI_Comm comm) {
  return reduced(std::move(numbers), MPI_MAX, comm);
}

void barrier(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(comm, &request), [] { return "MPI_Ibarrier"; });
  sleep_until_complete(request);
}

void connect_neighbours(MPI_Comm comm) {
  const int size = size_of(comm);
  const int rank = rank_of(comm);
  check(MPI_Sendrecv(nullptr, 0, MPI_BYTE, (rank + 1) % size, tag, nullptr, 0, MPI_BYTE,
                     (rank + size - 1) % size, tag, comm, MPI_STATUS_IGNORE),
        [] { return "MPI_Sendrecv"; });
  check(MPI_Barrier(comm), [] { return "MPI_Barrier"; });
}

double clock_offset_s(MPI_Comm comm) {
  const std::vector<std::string> hosts = gather_texts(host_id(), comm);
  std::vector<std::int64_t> differs(size_of(comm));
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) differs[rank] = hosts[rank] != hosts[0] ? 1 : 0;
  broadcast(differs, comm);
  const int own = rank_of(comm);
  if (own != 0) return differs[own] != 0 ? ask_time(comm) : 0;
  for (int rank = 1; rank < static_cast<int>(differs.size()); ++rank) {
    if (differs[rank] != 0) tell_time(rank, comm);
  }
  return 0;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string host_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  return std::getline(file, id) ? id : host_name();
}

std::string host_name() {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  check(MPI_Get_processor_name(name, &length), [] { return "MPI_Get_processor_name"; });
  return {name, static_cast<std::size_t>(length)};
}

}  // namespace course::demo
