#include "playing.hpp"

#include <chrono>
#include <cstdio>
#include <new>
#include <thread>
#include <vector>

namespace mpi_layer_tests {

Shared* shared = nullptr;
MPI_Comm comm = MPI_COMM_NULL;
int rank = -1;
int next = -1;
int previous = -1;

namespace {

int passed = 0;
int failed = 0;

}  // namespace

void check(bool holds, const char* text, const char* file, int line) {
  ++(holds ? passed : failed);
  if (!holds) std::fprintf(stderr, "rank %d, %s, line %d: not so: %s\n", rank, file, line, text);
}

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

bool Played::has(const char* kind, const std::string& part) const {
  return std::ranges::any_of(report.facts, [&](const Fact& fact) {
    return fact.kind == kind && fact.text.find(part) != std::string::npos;
  });
}

Fact Played::fact(const char* kind) const {
  const auto found = std::ranges::find(report.facts, kind, &Fact::kind);
  return found == report.facts.end() ? Fact{} : *found;
}

Played play(const std::function<void()>& function, Options options) {
  PMPI_Barrier(comm);
  RankStatus& page = shared->pages[rank];
  ++page.case_index;
  page.phase = static_cast<std::uint32_t>(Phase::Computing);
  Played played;
  begin(comm, options, &page);
  try {
    function();
  } catch (const std::exception& error) {
    played.what = error.what();
    played.was_invalid = dynamic_cast<const std::invalid_argument*>(&error) != nullptr;
    if (const auto* telling = dynamic_cast<const TellsFact*>(&error)) played.told = telling->fact();
  }
  page.phase = static_cast<std::uint32_t>(Phase::Finished);
  played.report = end();
  PMPI_Barrier(comm);
  return played;
}

namespace {

std::vector<RankSnapshot> look() {
  std::vector<RankSnapshot> all;
  for (const RankStatus& page : shared->pages) all.push_back(snapshot(page));
  return all;
}

bool unchanged(const std::vector<RankSnapshot>& before, const std::vector<RankSnapshot>& after) {
  for (int i = 0; i < ranks; ++i) {
    if (before[i].completed != after[i].completed || before[i].phase != after[i].phase) return false;
  }
  return true;
}

}  // namespace

bool find_proven(Deadlock& found) {
  const std::vector<RankSnapshot> before = look();
  const std::vector<RankSnapshot> after = look();
  const std::optional<Deadlock> still = find_deadlock(after);
  if (!unchanged(before, after) || !still || !still->proven) return false;
  found = *still;
  return true;
}

Deadlock provoke(const std::function<void()>& function, const std::function<void()>& rescue) {
  Deadlock found{.kind = Deadlock::Kind::NoMatch, .ranks = {}, .receives = {}, .text = "none was proven"};
  const int round = shared->rescues + 1;
  PMPI_Barrier(comm);
  std::thread rescuer([&] {
    if (rank == 0) {
      eventually([&] { return find_proven(found); });
      ++shared->rescues;
    }
    eventually([&] { return shared->rescues >= round; });
    rescue();
  });
  const Played played = play(function);
  rescuer.join();
  CHECK(played.what.empty());
  return found;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void send_byte(int to, int tag) {
  const char byte = 1;
  PMPI_Send(&byte, 1, MPI_CHAR, to, tag, comm);
}
void receive_byte(int from, int tag) {
  char byte = 0;
  PMPI_Recv(&byte, 1, MPI_CHAR, from, tag, comm, MPI_STATUS_IGNORE);
}

namespace {

/// Memory that all ranks of this machine see, made on rank 0 of the case's communicator.
MPI_Win share() {
  MPI_Win window;
  void* own = nullptr;
  PMPI_Win_allocate_shared(rank == 0 ? sizeof(Shared) : 0, 1, MPI_INFO_NULL, comm, &own, &window);
  MPI_Aint size = 0;
  int unit = 0;
  PMPI_Win_shared_query(window, 0, &size, &unit, &own);
  shared = rank == 0 ? new (own) Shared{} : static_cast<Shared*>(own);
  PMPI_Barrier(comm);
  return window;
}

}  // namespace

}  // namespace mpi_layer_tests

int main(int argc, char** argv) {
  using namespace mpi_layer_tests;
  int provided = 0;
  PMPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int world_rank = 0;
  int world_size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
  if (world_size != ranks || provided != MPI_THREAD_MULTIPLE) {
    std::fprintf(stderr, "this test needs mpirun -n %d and MPI_THREAD_MULTIPLE\n", ranks);
    PMPI_Abort(MPI_COMM_WORLD, 2);
  }
  PMPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comm);
  PMPI_Comm_rank(comm, &rank);
  next = (rank + 1) % ranks;
  previous = (rank + ranks - 1) % ranks;
  MPI_Win window = share();
  test_deadlocks();
  test_facts();
  test_traffic();
  test_right_programs();
  test_guarded_buffers();
  test_overlap();
  test_many_messages();
  test_many_messages_leave_nothing_on_the_heap();
  std::array<int, 2> totals{passed, failed};
  PMPI_Allreduce(MPI_IN_PLACE, totals.data(), 2, MPI_INT, MPI_SUM, comm);
  if (rank == 0) std::printf("%d passed, %d failed\n", totals[0], totals[1]);
  PMPI_Win_free(&window);
  PMPI_Comm_free(&comm);
  PMPI_Finalize();
  return totals[1] == 0 ? 0 : 1;
}
