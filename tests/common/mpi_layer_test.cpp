// Run under mpirun -n 3. Every check counts on every rank; the exit code is 0 when all of them passed on all
// ranks.
#include "mpi_layer/mpi_layer.hpp"

#include <mpi.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <new>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "judge/standstill.hpp"

namespace {

using course::Phase;
using course::RankSnapshot;
using course::RankStatus;
using course::Span;
using course::Standstill;
using namespace course::mpi_layer;

constexpr int ranks = 3;

/// What the ranks share: their pages, and the signals by which a test ends a standstill that it provoked.
struct Shared {
  std::array<RankStatus, ranks> pages;
  std::atomic<int> rescues;  ///< so many standstills are to be ended
};

Shared* shared = nullptr;
MPI_Comm comm = MPI_COMM_NULL;  ///< the cases' communicator; its ranks are in another order than the world's
int rank = -1;
int next = -1;
int previous = -1;

int passed = 0;
int failed = 0;

void check(bool holds, const char* text, int line) {
  ++(holds ? passed : failed);
  if (!holds) std::fprintf(stderr, "rank %d, line %d: not so: %s\n", rank, line, text);
}
#define CHECK(condition) check((condition), #condition, __LINE__)

/// Waits, at most a generous while, until `condition` holds; returns whether it does.
bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

struct Played {
  Report report;
  std::string what;          ///< of the exception that ended the function
  bool was_invalid = false;  ///< it was a std::invalid_argument
  bool has(const char* kind, const std::string& part = "") const {
    for (const Fact& fact : report.facts) {
      if (fact.kind == kind && fact.text.find(part) != std::string::npos) return true;
    }
    return false;
  }
};

/// Plays one case on all ranks, as a player does.
Played play(const std::function<void()>& function, Options options = {.synchronous_sends = true}) {
  PMPI_Barrier(comm);
  RankStatus& page = shared->pages[rank];
  ++page.case_index;
  page.phase = static_cast<std::uint32_t>(Phase::Computing);
  Played played;
  begin(comm, options, &page);
  try {
    function();
  } catch (const std::invalid_argument& error) {
    played.what = error.what();
    played.was_invalid = true;
  } catch (const std::exception& error) {
    played.what = error.what();
  }
  page.phase = static_cast<std::uint32_t>(Phase::Finished);
  played.report = end();
  PMPI_Barrier(comm);
  return played;
}

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

/// Two looks at the same state, the second of which finds a standstill that is proven.
bool find_proven(Standstill& found) {
  const std::vector<RankSnapshot> before = look();
  const std::vector<RankSnapshot> after = look();
  const std::optional<Standstill> still = find_standstill(after);
  if (!unchanged(before, after) || !still || !still->proven) return false;
  found = *still;
  return true;
}

/// Plays a function that stands still. Once rank 0 has found that proven, or given up, every rank's rescue
/// makes the missing calls, past the layer. What was found is told on rank 0 alone.
Standstill provoke(const std::function<void()>& function, const std::function<void()>& rescue) {
  Standstill found{Standstill::Kind::NoMatch, {}, false, false, "none was proven"};
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

void send_byte(int to, int tag = 0) {
  const char byte = 1;
  PMPI_Send(&byte, 1, MPI_CHAR, to, tag, comm);
}
void receive_byte(int from, int tag = 0) {
  char byte = 0;
  PMPI_Recv(&byte, 1, MPI_CHAR, from, tag, comm, MPI_STATUS_IGNORE);
}

// ---- standstills ----

void test_sends_are_synchronous() {
  const Played played = play([] {
    char byte = 1;
    if (rank == 0) MPI_Send(&byte, 1, MPI_CHAR, 1, 5, comm);
    if (rank != 1) return;
    const std::uint64_t before = shared->pages[0].completed;
    CHECK(eventually([] { return snapshot(shared->pages[0]).phase == Phase::Blocked; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const RankSnapshot sender = snapshot(shared->pages[0]);
    CHECK(sender.phase == Phase::Blocked && sender.completed == before && sender.pending.size() == 1);
    const course::PendingOperation& pending = sender.pending.at(0);
    CHECK(std::string(pending.call) == "MPI_Send" && pending.peer == 1 && pending.tag == 5 &&
          pending.bytes == 1);
    CHECK(pending.communicator == course::case_communicator);
    MPI_Recv(&byte, 1, MPI_CHAR, 0, 5, comm, MPI_STATUS_IGNORE);
    CHECK(shared->pages[1].hop == 1);
  });
  CHECK(played.what.empty() && played.report.facts.empty());
}

void test_send_first_cycle() {
  const Standstill found = provoke(
      [] {
        char byte = 1;
        MPI_Send(&byte, 1, MPI_CHAR, next, 0, comm);
      },
      [] { receive_byte(previous); });
  if (rank != 0) return;
  CHECK(found.kind == Standstill::Kind::Cycle && found.all_send);
  CHECK(found.ranks == (std::vector<int>{0, 1, 2}));
  CHECK(contains(found.text, "rank 2 waits in MPI_Send to rank 0 (tag 0, 1 byte, hop 0)"));
}

void test_requests_in_the_wrong_direction() {
  const Standstill found = provoke(
      [] {
        char out = 1;
        char in = 0;
        MPI_Request requests[2];
        MPI_Irecv(&in, 1, MPI_CHAR, next, 0, comm, &requests[0]);
        MPI_Isend(&out, 1, MPI_CHAR, next, 0, comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      },
      [] {
        receive_byte(previous);
        send_byte(previous);
      });
  if (rank != 0) return;
  CHECK(found.kind == Standstill::Kind::Cycle && !found.all_send);
  CHECK(contains(found.text, "MPI_Waitall(MPI_Irecv) from rank 1"));
  CHECK(contains(found.text, "MPI_Waitall(MPI_Isend) to rank 1"));
}

/// The first message of the two has arrived, and only the second is held up.
void test_standstill_after_a_hop() {
  const Standstill found = provoke(
      [] {
        char out = 1;
        char in = 0;
        MPI_Request sent;
        MPI_Isend(&out, 1, MPI_CHAR, next, 0, comm, &sent);
        MPI_Recv(&in, 1, MPI_CHAR, previous, 0, comm, MPI_STATUS_IGNORE);
        MPI_Recv(&in, 1, MPI_CHAR, previous, 1, comm, MPI_STATUS_IGNORE);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
      },
      [] { send_byte(next, 1); });
  if (rank != 0) return;
  CHECK(found.kind == Standstill::Kind::Cycle && !found.all_send);
  CHECK(contains(found.text, "rank 0 waits in MPI_Recv from rank 2 (tag 1, 1 byte, hop 1)"));
}

void test_tags_that_differ() {
  const Standstill found = provoke(
      [] {
        char byte = 1;
        if (rank == 0) MPI_Send(&byte, 1, MPI_CHAR, 1, 0, comm);
        if (rank == 1) MPI_Recv(&byte, 1, MPI_CHAR, 0, 1, comm, MPI_STATUS_IGNORE);
      },
      [] {
        if (rank == 0) send_byte(1, 1);
        if (rank == 1) receive_byte(0, 0);
      });
  if (rank != 0) return;
  CHECK(found.kind == Standstill::Kind::NoMatch);
  CHECK(contains(found.text, "rank 0 sends tag 0, rank 1 receives tag 1"));
}

void test_communicators_that_differ() {
  MPI_Comm other = MPI_COMM_NULL;
  const Standstill found = provoke(
      [&] {
        char byte = 1;
        MPI_Comm_dup(comm, &other);
        if (rank == 0) MPI_Send(&byte, 1, MPI_CHAR, 1, 0, other);
        if (rank == 1) MPI_Recv(&byte, 1, MPI_CHAR, 0, 0, comm, MPI_STATUS_IGNORE);
      },
      [&] {
        char byte = 1;
        if (rank == 0) send_byte(1);
        if (rank == 1) PMPI_Recv(&byte, 1, MPI_CHAR, 0, 0, other, MPI_STATUS_IGNORE);
      });
  PMPI_Comm_free(&other);
  if (rank != 0) return;
  CHECK(found.kind == Standstill::Kind::NoMatch);
  CHECK(contains(found.text, "rank 0 sends on another communicator than the one on which rank 1 receives"));
}

void test_waiting_for_a_finished_rank() {
  const Standstill found = provoke(
      [] {
        char byte = 1;
        if (rank == 1) MPI_Recv(&byte, 1, MPI_CHAR, 0, 0, comm, MPI_STATUS_IGNORE);
      },
      [] {
        if (rank == 0) send_byte(1);
      });
  if (rank != 0) return;
  CHECK(found.kind == Standstill::Kind::WaitsForFinished && found.ranks == std::vector<int>{1});
}

void test_barrier_without_everybody() {
  const Standstill found = provoke(
      [] {
        char byte = 1;
        if (rank != 2) MPI_Barrier(comm);
        if (rank == 2) MPI_Recv(&byte, 1, MPI_CHAR, 0, 0, comm, MPI_STATUS_IGNORE);
      },
      [] {
        if (rank == 2) PMPI_Barrier(comm);
        if (rank != 0) return;
        CHECK(eventually([] { return snapshot(shared->pages[0]).phase == Phase::Finished; }));
        send_byte(2);
      });
  if (rank != 0) return;
  CHECK(found.kind == Standstill::Kind::CollectiveMismatch);
  CHECK(contains(found.text, "ranks 0 and 1 are in MPI_Barrier, rank 2 is in no collective"));
}

/// Many right messages of every kind, and a judge that looks without pause: it must never prove a standstill.
void test_nothing_is_proven_of_a_program_that_runs() {
  std::atomic<bool> over{false};
  std::atomic<int> wrongly_proven{0};
  std::thread judge([&] {
    Standstill found{};
    while (rank == 0 && !over) wrongly_proven += find_proven(found) ? 1 : 0;
  });
  const Played played = play([] {
    std::vector<double> out(64), in(64);
    for (int hop = 0; hop < 400; ++hop) {
      MPI_Request requests[2];
      MPI_Irecv(in.data(), 64, MPI_DOUBLE, previous, hop % 3, comm, &requests[0]);
      MPI_Isend(out.data(), 64, MPI_DOUBLE, next, hop % 3, comm, &requests[1]);
      MPI_Wait(&requests[hop % 2], MPI_STATUS_IGNORE);
      MPI_Wait(&requests[1 - hop % 2], MPI_STATUS_IGNORE);
      if (rank == 0) MPI_Send(out.data(), 64, MPI_DOUBLE, next, 7, comm);
      MPI_Recv(in.data(), 64, MPI_DOUBLE, previous, 7, comm, MPI_STATUS_IGNORE);
      if (rank != 0) MPI_Send(out.data(), 64, MPI_DOUBLE, next, 7, comm);
      if (hop % 20 == 0) MPI_Barrier(comm);
      MPI_Bcast(out.data(), 64, MPI_DOUBLE, hop % ranks, comm);
    }
  });
  over = true;
  judge.join();
  CHECK(wrongly_proven == 0);
  CHECK(played.what.empty());
}

void test_tests_in_a_row_are_polling() {
  const Played played = play([] {
    char byte = 0;
    if (rank == 1) CHECK(eventually([] { return snapshot(shared->pages[0]).phase == Phase::Polling; }));
    if (rank == 1) MPI_Send(&byte, 1, MPI_CHAR, 0, 0, comm);
    if (rank != 0) return;
    MPI_Request request;
    MPI_Irecv(&byte, 1, MPI_CHAR, 1, 0, comm, &request);
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    CHECK(done == 0 && snapshot(shared->pages[0]).phase == Phase::Computing);
    CHECK(eventually([&] { return MPI_Test(&request, &done, MPI_STATUS_IGNORE), done != 0; }));
    CHECK(snapshot(shared->pages[0]).phase == Phase::Computing);
    CHECK(request == MPI_REQUEST_NULL);
  });
  CHECK(played.report.facts.empty());
}

// ---- facts ----

void test_bytes_by_neighbour() {
  const Played played = play([] {
    std::array<float, 8> out{}, in{};
    MPI_Sendrecv(out.data(), 8, MPI_FLOAT, next, 0, in.data(), 8, MPI_FLOAT, previous, 0, comm,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(out.data(), 2, MPI_FLOAT, MPI_PROC_NULL, 0, in.data(), 2, MPI_FLOAT, MPI_PROC_NULL, 0, comm,
                 MPI_STATUS_IGNORE);
  });
  CHECK(played.report.bytes_sent_to == (std::map<int, std::int64_t>{{next, 32}}));
  CHECK(played.report.facts.empty() && played.report.spans.empty());
}

void test_other_communicators_count_by_the_ranks_of_the_case() {
  const Played played = play([] {
    const char out = 1;
    char in = 0;
    MPI_Comm reversed;
    MPI_Comm_split(comm, 0, -rank, &reversed);
    const auto opposite = [](int peer) { return ranks - 1 - peer; };
    MPI_Sendrecv(&out, 1, MPI_CHAR, opposite(next), 0, &in, 1, MPI_CHAR, opposite(previous), 0, reversed,
                 MPI_STATUS_IGNORE);
    MPI_Comm_free(&reversed);
  });
  CHECK(played.report.bytes_sent_to == (std::map<int, std::int64_t>{{next, 1}}));
  CHECK(played.what.empty() && played.report.facts.empty());
}

void test_world_communicator() {
  CHECK(!play([] {
           int own = -1;
           MPI_Comm_rank(comm, &own);
           CHECK(own == rank);
         }).has(fact_world));
  const Played played = play([] {
    int own = -1;
    const char out = 1;
    char in = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Sendrecv(&out, 1, MPI_CHAR, (own + 1) % ranks, 0, &in, 1, MPI_CHAR, (own + ranks - 1) % ranks, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
  CHECK(played.has(fact_world, "MPI_Comm_rank was called with MPI_COMM_WORLD"));
  CHECK(played.has(fact_world, "MPI_Sendrecv was called with MPI_COMM_WORLD"));
  // The world's order is the case's reversed, so the next in the world is the previous here.
  CHECK(played.report.bytes_sent_to == (std::map<int, std::int64_t>{{previous, 1}}));
}

void test_any_source() {
  const Played played = play([] {
    char byte = 1;
    if (rank == 2) MPI_Send(&byte, 1, MPI_CHAR, 0, 0, comm);
    if (rank == 0) MPI_Recv(&byte, 1, MPI_CHAR, (rank - 1) % ranks, 0, comm, MPI_STATUS_IGNORE);
  });
  CHECK(played.has(fact_any_source, "MPI_Recv from source -1, which is MPI_ANY_SOURCE here (hop 0)") ==
        (rank == 0));
}

void test_message_to_oneself() {
  const Played played = play([] {
    char in = 0;
    const char out = 1;
    MPI_Sendrecv(&out, 1, MPI_CHAR, rank, 0, &in, 1, MPI_CHAR, rank, 0, comm, MPI_STATUS_IGNORE);
  });
  CHECK(played.what.empty() && played.has(fact_self_message, "which is this rank itself (hop 0)"));
}

void test_invalid_peers() {
  char byte = 1;
  Played played = play([&] { MPI_Send(&byte, 1, MPI_CHAR, (0 - 1) % ranks, 0, comm); });
  CHECK(played.was_invalid && played.has(fact_invalid_peer, "MPI_Send to rank -1"));
  CHECK(contains(played.what, "MPI_Send to rank -1, but the ranks of this communicator are 0 to 2"));
  CHECK(played.report.bytes_sent_to.empty());
  played = play([&] { MPI_Irecv(&byte, 1, MPI_CHAR, ranks, 0, comm, nullptr); });
  CHECK(played.was_invalid && contains(played.what, "MPI_Irecv from rank 3"));
  played = play([&] { MPI_Send(&byte, 1, MPI_CHAR, next, 0, MPI_COMM_NULL); });
  CHECK(played.was_invalid && contains(played.what, "MPI_COMM_NULL"));
}

void test_errors_are_exceptions() {
  char byte = 1;
  const Played played = play([&] { MPI_Send(&byte, 1, MPI_CHAR, next, -5, comm); });
  CHECK(contains(played.what, "MPI_Send to rank ") && contains(played.what, "(tag -5, 1 byte): MPI_ERR_TAG"));
  const Played truncated = play([] {
    std::array<char, 16> bytes{};
    if (rank == 0) MPI_Send(bytes.data(), 16, MPI_CHAR, 1, 0, comm);
    if (rank == 1) MPI_Recv(bytes.data(), 8, MPI_CHAR, 0, 0, comm, MPI_STATUS_IGNORE);
  });
  CHECK(contains(truncated.what, "MPI_ERR_TRUNCATE") == (rank == 1));
  CHECK(contains(truncated.what,
                 "MPI_Recv from rank 0 (tag 0, 8 bytes): the message that arrived is longer than the "
                 "buffer, 16 bytes") == (rank == 1));
  MPI_Errhandler handler;
  PMPI_Comm_get_errhandler(comm, &handler);
  CHECK(handler == MPI_ERRORS_ARE_FATAL);
  PMPI_Errhandler_free(&handler);
}

/// Sends the first half of a block and receives `offset` bytes into it.
Played shift(int offset) {
  return play([offset] {
    std::array<char, 8> block{};
    MPI_Request sent;
    MPI_Isend(block.data(), 4, MPI_CHAR, next, 0, comm, &sent);
    MPI_Recv(block.data() + offset, 4, MPI_CHAR, previous, 0, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
  });
}

void test_overlapping_buffers() {
  CHECK(shift(3).has(fact_overlapping_buffers, "which is still being sent (hop 0)"));
  CHECK(shift(4).report.facts.empty());
  const Played both = play([] {
    float value = 1;
    MPI_Sendrecv(&value, 1, MPI_FLOAT, next, 0, &value, 1, MPI_FLOAT, previous, 0, comm, MPI_STATUS_IGNORE);
  });
  CHECK(both.has(fact_overlapping_buffers, "the buffer of MPI_Sendrecv to rank"));
}

void test_unfinished_requests() {
  char in = 0;
  const char out = 1;
  MPI_Request request;
  Played played = play([&] { MPI_Irecv(&in, 1, MPI_CHAR, previous, 9, comm, &request); });
  CHECK(played.has(fact_unfinished_request,
                   "MPI_Irecv from rank " + std::to_string(previous) + " (tag 9, 1 byte) was"));
  CHECK(shared->pages[rank].pending_count == 0);
  send_byte(next, 9);
  int found = 0;
  const auto probe = [&] { return PMPI_Iprobe(previous, 9, comm, &found, MPI_STATUS_IGNORE), found != 0; };
  CHECK(eventually(probe));  // The receive that was left open has not taken it.
  receive_byte(previous, 9);
  played = play([&] {
    MPI_Isend(&out, 1, MPI_CHAR, next, 0, comm, &request);
    MPI_Recv(&in, 1, MPI_CHAR, previous, 0, comm, MPI_STATUS_IGNORE);
  });
  CHECK(played.has(fact_unfinished_request, "MPI_Isend") && in == 1);
  played = play([&] {
    MPI_Isend(&out, 1, MPI_CHAR, next, 0, comm, &request);
    MPI_Request_free(&request);
    MPI_Recv(&in, 1, MPI_CHAR, previous, 0, comm, MPI_STATUS_IGNORE);
  });
  CHECK(played.has(fact_unfinished_request, "was freed before it completed") && request == MPI_REQUEST_NULL);
}

/// A send that was never received stays open: end() does not wait for it, and the page still shows it.
void test_a_send_that_nobody_receives() {
  static const char out = 1;
  const Played played = play([] {
    MPI_Request request;
    if (rank == 0) MPI_Isend(&out, 1, MPI_CHAR, 1, 8, comm, &request);
  });
  CHECK(played.has(fact_unfinished_request) == (rank == 0));
  CHECK(shared->pages[rank].pending_count == (rank == 0 ? 1 : 0));
  if (rank == 1) receive_byte(0, 8);
}

void test_collectives() {
  const Played played = play([] {
    std::array<float, 4> own{};
    std::array<float, 4 * ranks> all{};
    const std::array<int, ranks> counts{1, 2, 3};
    const std::array<int, ranks> offsets{0, 1, 3};
    MPI_Allgather(own.data(), 4, MPI_FLOAT, all.data(), 4, MPI_FLOAT, comm);
    MPI_Allgatherv(own.data(), rank + 1, MPI_FLOAT, all.data(), counts.data(), offsets.data(), MPI_FLOAT,
                   comm);
    MPI_Bcast(own.data(), 4, MPI_FLOAT, 0, comm);
    MPI_Reduce(own.data(), all.data(), 4, MPI_FLOAT, MPI_SUM, 2, comm);
    MPI_Request request;
    MPI_Ibarrier(comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
  CHECK(played.report.collective_bytes == 48 + 24 + (rank == 0 ? 0 : 16) + (rank == 2 ? 16 : 0));
  CHECK(played.has(fact_collective, "MPI_Allgather, in which this rank received 48 bytes"));
  CHECK(played.has(fact_collective, "MPI_Ibarrier, in which this rank received 0 bytes"));
  CHECK(played.report.bytes_sent_to.empty() && shared->pages[rank].collectives == 5);
}

void test_lifecycle_calls() {
  const Played played = play([] {
    MPI_Finalize();
    MPI_Init(nullptr, nullptr);
    MPI_Barrier(comm);
    MPI_Abort(comm, 7);
  });
  CHECK(played.what == "MPI_Abort was called with code 7");
  CHECK(played.has(fact_lifecycle, "MPI_Finalize") && played.has(fact_lifecycle, "MPI_Init"));
  const Played freed = play([] {
    MPI_Comm given = comm;
    MPI_Comm_free(&given);
  });
  CHECK(freed.was_invalid && contains(freed.what, "MPI_Comm_free"));
}

// ---- right programs ----

void test_nonblocking_ring() {
  const Played played = play([] {
    int out = rank;
    int in = -1;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (int hop = 0; hop < ranks - 1; ++hop) {
      MPI_Irecv(&in, 1, MPI_INT, previous, hop, comm, &requests[0]);
      MPI_Isend(&out, 1, MPI_INT, next, hop, comm, &requests[1]);
      MPI_Waitall(2, requests, statuses);
      CHECK(statuses[0].MPI_SOURCE == previous && statuses[0].MPI_TAG == hop);
      CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
      out = in;
    }
    CHECK(out == next);
  });
  CHECK(played.what.empty() && played.report.facts.empty());
  CHECK(played.report.bytes_sent_to == (std::map<int, std::int64_t>{{next, 8}}));
  CHECK(shared->pages[rank].hop == ranks - 1 && shared->pages[rank].pending_count == 0);
}

void test_sendrecv_replace() {
  const Played played = play([] {
    std::vector<int> block(10'000);
    std::iota(block.begin(), block.end(), rank);
    MPI_Status status;
    MPI_Sendrecv_replace(block.data(), 10'000, MPI_INT, next, 0, previous, 0, comm, &status);
    CHECK(block.front() == previous && block.back() == previous + 9'999 && status.MPI_SOURCE == previous);
    MPI_Datatype column;
    MPI_Type_vector(2, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    std::array<int, 4> grid{rank, -1, rank, -1};
    MPI_Sendrecv_replace(grid.data(), 1, column, next, 0, previous, 0, comm, MPI_STATUS_IGNORE);
    CHECK((grid == std::array<int, 4>{previous, -1, previous, -1}));
    MPI_Type_free(&column);
  });
  CHECK(played.what.empty() && played.report.facts.empty());
  CHECK(played.report.bytes_sent_to == (std::map<int, std::int64_t>{{next, 40'008}}));
}

void test_persistent_ring() {
  const Played played = play([] {
    int out = rank;
    int in = -1;
    MPI_Request requests[2];
    MPI_Send_init(&out, 1, MPI_INT, next, 0, comm, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, previous, 0, comm, &requests[1]);
    for (int hop = 0; hop < ranks - 1; ++hop) {
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      out = in;
    }
    CHECK(out == next);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  });
  CHECK(played.what.empty() && played.report.facts.empty());
  CHECK(played.report.bytes_sent_to == (std::map<int, std::int64_t>{{next, 8}}));
}

void test_waiting_for_some() {
  const Played played = play([] {
    std::array<int, 2> in{};
    const int out = 5;
    std::array<MPI_Request, 3> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int index = -1;
    int flag = 0;
    MPI_Testany(3, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
    CHECK(flag == 1 && index == MPI_UNDEFINED);
    MPI_Irecv(&in[0], 1, MPI_INT, previous, 0, comm, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, previous, 1, comm, &requests[2]);
    MPI_Sendrecv(&out, 1, MPI_INT, next, 1, &index, 0, MPI_INT, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE);
    CHECK(
        eventually([&] { return MPI_Request_get_status(requests[2], &flag, MPI_STATUS_IGNORE), flag != 0; }));
    MPI_Testall(3, requests.data(), &flag, MPI_STATUSES_IGNORE);
    CHECK(flag == 0 && requests[0] != MPI_REQUEST_NULL && requests[2] != MPI_REQUEST_NULL);
    MPI_Waitany(3, requests.data(), &index, MPI_STATUS_IGNORE);
    CHECK(index == 2 && in[1] == 5 && requests[2] == MPI_REQUEST_NULL);
    MPI_Barrier(comm);
    MPI_Send(&out, 1, MPI_INT, next, 0, comm);
    int count = 0;
    std::array<int, 3> indices{};
    MPI_Waitsome(3, requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
    CHECK(count == 1 && indices[0] == 0 && in[0] == 5);
    MPI_Testsome(3, requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
    CHECK(count == MPI_UNDEFINED);
  });
  CHECK(played.what.empty() && played.report.facts.size() == 1 && played.has(fact_collective, "MPI_Barrier"));
}

void test_cancelled_receive() {
  const Played played = play([] {
    char byte = 0;
    int cancelled = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&byte, 1, MPI_CHAR, previous, 0, comm, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled != 0);
  });
  CHECK(played.what.empty() && played.report.facts.empty() && shared->pages[rank].hop == 0);
}

void test_uncommon_calls() {
  const Played played = play([] {
    char byte = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;
    MPI_Irecv(&byte, 1, MPI_CHAR, previous, 0, comm, &request);
    MPI_Rsend("a", 1, MPI_CHAR, next, 0, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend("b", 1, MPI_CHAR, next, 1, comm, &request);
    MPI_Mprobe(previous, 1, comm, &message, &status);
    MPI_Mrecv(&byte, 1, MPI_CHAR, &message, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(byte == 'b');
  });
  CHECK(played.what.empty() && played.report.facts.size() == 3);
  CHECK(played.has(fact_uncommon_call, "MPI_Rsend, which this course does not use"));
}

void test_probe() {
  const Played played = play([] {
    const std::array<int, 3> out{1, 2, 3};
    std::array<int, 3> in{};
    MPI_Request sent;
    MPI_Status status;
    int count = 0;
    MPI_Isend(out.data(), 3, MPI_INT, next, 4, comm, &sent);
    MPI_Probe(previous, MPI_ANY_TAG, comm, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 3 && status.MPI_TAG == 4);
    MPI_Recv(in.data(), count, MPI_INT, previous, status.MPI_TAG, comm, MPI_STATUS_IGNORE);
    CHECK(in == out);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
  });
  CHECK(played.what.empty() && played.report.facts.empty() && shared->pages[rank].hop == 1);
}

void test_spans() {
  const Played played = play(
      [] {
        const char out = 1;
        char in = 0;
        MPI_Request request;
        MPI_Irecv(&in, 1, MPI_CHAR, previous, 0, comm, &request);
        MPI_Send(&out, 1, MPI_CHAR, next, 0, comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Barrier(comm);
      },
      {.synchronous_sends = false, .record_spans = true});
  const std::vector<Span>& spans = played.report.spans;
  CHECK(spans.size() == 3);
  if (spans.size() != 3) return;
  CHECK(spans[0].label == "MPI_Send to rank " + std::to_string(next) &&
        spans[0].kind == Span::Kind::Transfer);
  CHECK(spans[1].label == "MPI_Wait" && spans[1].kind == Span::Kind::Wait && spans[2].label == "MPI_Barrier");
  CHECK(0 <= spans[0].begin_s && spans[0].begin_s <= spans[0].end_s && spans[0].end_s <= spans[1].begin_s);
}

void test_calls_outside_a_case_pass_through() {
  int own = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &own);
  char in = 0;
  const char out = 1;
  MPI_Sendrecv(&out, 1, MPI_CHAR, (own + 1) % ranks, 0, &in, 1, MPI_CHAR, (own + ranks - 1) % ranks, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(own == ranks - 1 - rank && in == 1);
}

void run_all() {
  test_sends_are_synchronous();
  test_send_first_cycle();
  test_requests_in_the_wrong_direction();
  test_standstill_after_a_hop();
  test_tags_that_differ();
  test_communicators_that_differ();
  test_waiting_for_a_finished_rank();
  test_barrier_without_everybody();
  test_nothing_is_proven_of_a_program_that_runs();
  test_tests_in_a_row_are_polling();
  test_bytes_by_neighbour();
  test_other_communicators_count_by_the_ranks_of_the_case();
  test_world_communicator();
  test_any_source();
  test_message_to_oneself();
  test_invalid_peers();
  test_errors_are_exceptions();
  test_overlapping_buffers();
  test_unfinished_requests();
  test_a_send_that_nobody_receives();
  test_collectives();
  test_lifecycle_calls();
  test_nonblocking_ring();
  test_sendrecv_replace();
  test_persistent_ring();
  test_waiting_for_some();
  test_cancelled_receive();
  test_uncommon_calls();
  test_probe();
  test_spans();
  test_calls_outside_a_case_pass_through();
}

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

int main(int argc, char** argv) {
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
  run_all();
  std::array<int, 2> totals{passed, failed};
  PMPI_Allreduce(MPI_IN_PLACE, totals.data(), 2, MPI_INT, MPI_SUM, comm);
  if (rank == 0) std::printf("%d passed, %d failed\n", totals[0], totals[1]);
  PMPI_Win_free(&window);
  PMPI_Comm_free(&comm);
  PMPI_Finalize();
  return totals[1] == 0 ? 0 : 1;
}
