#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "playing.hpp"

namespace mpi_layer_tests {

namespace {

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
    CHECK(shared->pages[1].receives == 1);
  });
  CHECK(played.what.empty() && played.report.facts.empty());
}

void test_send_first_cycle() {
  const Deadlock found = provoke(
      [] {
        char byte = 1;
        MPI_Send(&byte, 1, MPI_CHAR, next, 0, comm);
      },
      [] { receive_byte(previous); });
  if (rank != 0) return;
  CHECK(found.kind == Deadlock::Kind::Cycle && found.all_send);
  CHECK(found.ranks == (std::vector<int>{0, 1, 2}));
  CHECK(contains(found.text, "rank 2 waits in MPI_Send to rank 0 (tag 0, 1 byte, before any receive)"));
}

void test_requests_in_the_wrong_direction() {
  const Deadlock found = provoke(
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
  CHECK(found.kind == Deadlock::Kind::Cycle && !found.all_send);
  CHECK(contains(found.text, "MPI_Waitall(MPI_Irecv) from rank 1"));
  CHECK(contains(found.text, "MPI_Waitall(MPI_Isend) to rank 1"));
  CHECK(found.one_peer_ahead == 1);
}

/// One call of each rank does both: it is not that every rank sends first.
void test_an_exchange_with_a_wrong_source() {
  const Deadlock found = provoke(
      [] {
        char out = 1;
        char in = 0;
        MPI_Sendrecv(&out, 1, MPI_CHAR, next, 0, &in, 1, MPI_CHAR, next, 0, comm, MPI_STATUS_IGNORE);
      },
      [] {
        receive_byte(previous);
        send_byte(previous);
      });
  if (rank != 0) return;
  CHECK(found.kind == Deadlock::Kind::Cycle && !found.all_send && found.one_peer_ahead == 1);
  CHECK(
      contains(found.text,
               "every rank receives from the rank that it sends to: rank 0 waits for a message from rank 1, "
               "which sends to rank 2"));
}

/// The first message of the two has arrived, and only the second is held up.
void test_deadlock_after_a_hop() {
  const Deadlock found = provoke(
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
  CHECK(found.kind == Deadlock::Kind::Cycle && !found.all_send);
  CHECK(contains(found.text, "rank 0 waits in MPI_Recv from rank 2 (tag 1, 1 byte, after 1 receive)"));
}

void test_tags_that_differ() {
  const Deadlock found = provoke(
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
  CHECK(found.kind == Deadlock::Kind::NoMatch);
  CHECK(contains(found.text, "rank 0 sends tag 0, rank 1 receives tag 1"));
}

void test_communicators_that_differ() {
  MPI_Comm other = MPI_COMM_NULL;
  const Deadlock found = provoke(
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
  CHECK(found.kind == Deadlock::Kind::NoMatch);
  CHECK(contains(found.text, "rank 0 sends on another communicator than the one on which rank 1 receives"));
}

void test_waiting_for_a_finished_rank() {
  const Deadlock found = provoke(
      [] {
        char byte = 1;
        if (rank == 1) MPI_Recv(&byte, 1, MPI_CHAR, 0, 0, comm, MPI_STATUS_IGNORE);
      },
      [] {
        if (rank == 0) send_byte(1);
      });
  if (rank != 0) return;
  CHECK(found.kind == Deadlock::Kind::WaitsForFinished && found.ranks == std::vector<int>{1});
}

void test_barrier_without_everybody() {
  const Deadlock found = provoke(
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
  CHECK(found.kind == Deadlock::Kind::CollectiveMismatch);
  CHECK(contains(found.text, "ranks 0 and 1 are in MPI_Barrier, rank 2 is in no collective"));
}

/// Past the layer, whose counts come first.
void make_alltoallv(MPI_Comm on) {
  const int ones[] = {1, 1}, places[] = {0, 1};
  std::array<std::int64_t, 6> none{};
  std::array<std::int64_t, 12> counts{};
  PMPI_Allgather(none.data(), 6, MPI_INT64_T, counts.data(), 6, MPI_INT64_T, on);
  char out[2] = {}, in[2] = {};
  PMPI_Alltoallv(out, ones, places, MPI_CHAR, in, ones, places, MPI_CHAR, on);
}

/// Ranks 2 and 0 have a communicator in that order, and rank 2 returns without its collective.
void test_a_collective_that_a_member_does_not_make() {
  MPI_Comm pair = MPI_COMM_NULL;
  const Deadlock found = provoke(
      [&] {
        MPI_Comm_split(comm, rank == 1 ? MPI_UNDEFINED : 0, -rank, &pair);
        if (rank != 0) return;
        const int ones[] = {1, 1}, places[] = {0, 1};
        char out[2] = {}, in[2] = {};
        MPI_Alltoallv(out, ones, places, MPI_CHAR, in, ones, places, MPI_CHAR, pair);
      },
      [&] {
        if (rank == 2) make_alltoallv(pair);
      });
  if (pair != MPI_COMM_NULL) PMPI_Comm_free(&pair);
  if (rank != 0) return;
  CHECK(found.kind == Deadlock::Kind::WaitsForFinished && found.proven);
  CHECK(found.text.ends_with(
      "rank 0 waits in MPI_Alltoallv (1st on the communicator of ranks 2, 0); rank 2 has returned"));
}

/// Others may still be in a collective on it.
void test_pages_tell_of_communicators_that_were_freed() {
  play([] {
    float number = 1, sum = 0;
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &copy);
    for (int i = 0; i < 3; ++i) MPI_Allreduce(&number, &sum, 1, MPI_FLOAT, MPI_SUM, copy);
    MPI_Comm_free(&copy);
  });
  const RankSnapshot seen = snapshot(shared->pages[rank]);
  CHECK(seen.phase == Phase::Finished && seen.communicators_complete && seen.communicators.size() == 2);
  CHECK(seen.communicators.at(0).started == 3 && seen.communicators.at(1).started == 1);
}

/// Rank 0 waits for rank 1 on one communicator, that for rank 2 on another, and that for a message of rank 0.
void test_a_deadlock_across_communicators() {
  MPI_Comm low = MPI_COMM_NULL, high = MPI_COMM_NULL;
  const Deadlock found = provoke(
      [&] {
        char byte = 0;
        float number = 1, sum = 0;
        MPI_Comm_split(comm, rank < 2 ? 0 : MPI_UNDEFINED, rank, &low);
        MPI_Comm_split(comm, rank > 0 ? 0 : MPI_UNDEFINED, rank, &high);
        if (rank == 0) MPI_Barrier(low);
        if (rank == 1) MPI_Allreduce(&number, &sum, 1, MPI_FLOAT, MPI_SUM, high);
        if (rank == 2) MPI_Recv(&byte, 1, MPI_CHAR, 0, 0, comm, MPI_STATUS_IGNORE);
      },
      [&] {
        float number = 1, sum = 0;
        if (rank == 0) send_byte(2);
        if (rank == 1) PMPI_Barrier(low);
        if (rank == 2) PMPI_Allreduce(&number, &sum, 1, MPI_FLOAT, MPI_SUM, high);
      });
  for (MPI_Comm* made : {&low, &high})
    if (*made != MPI_COMM_NULL) PMPI_Comm_free(made);
  if (rank != 0) return;
  CHECK(found.kind == Deadlock::Kind::CollectiveMismatch && found.proven);
  CHECK(
      contains(found.text,
               "\nrank 0 waits in MPI_Barrier (1st on the communicator of ranks 0, 1); rank 1 waits in "
               "MPI_Allreduce (1st on the communicator of ranks 1, 2)\nrank 1 waits in MPI_Allreduce (1st on "
               "the communicator of ranks 1, 2); rank 2 waits in MPI_Recv from rank 0"));
}

/// Communicators of which some ranks are no members, among them those of a grid and of a group.
void test_pages_tell_members() {
  const Played played = play([] {
    const int dimensions[] = {ranks, 1}, periods[] = {0, 0}, rows[] = {1, 0};
    const int turned[] = {2, 1};
    MPI_Comm grid = MPI_COMM_NULL, column = MPI_COMM_NULL, of_group = MPI_COMM_NULL;
    MPI_Cart_create(comm, 2, dimensions, periods, 0, &grid);
    MPI_Cart_sub(grid, rows, &column);
    MPI_Group all = MPI_GROUP_NULL, two = MPI_GROUP_NULL;
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, 2, turned, &two);
    if (rank != 0) MPI_Comm_create_group(comm, two, 5, &of_group);
    char byte = 0;
    if (rank == 1) MPI_Recv(&byte, 1, MPI_CHAR, 0, 0, of_group, MPI_STATUS_IGNORE);
    if (rank == 2) {
      CHECK(eventually([] {
        const RankSnapshot receiver = snapshot(shared->pages[1]);
        return receiver.phase == Phase::Blocked &&
               receiver.pending.at(0).kind == course::PendingOperation::Kind::Receive;
      }));
      const RankSnapshot seen = snapshot(shared->pages[1]);
      CHECK(seen.communicators_complete && seen.communicators.size() == 5);
      CHECK(seen.pending.at(0).peer == 2);
      CHECK(seen.communicators.at(0).id == seen.pending.at(0).communicator);
      CHECK(seen.communicators.at(0).members == (std::vector<int>{2, 1}));
      const auto members_are = [&](const std::vector<int>& members) {
        return std::ranges::count(seen.communicators, members, &course::SeenCommunicator::members);
      };
      CHECK(members_are({0, 1, 2}) == 3 && members_are({2, 1}) == 2);
      CHECK(seen.communicators.back().id == course::case_communicator);
      MPI_Send(&byte, 1, MPI_CHAR, 1, 0, of_group);
    }
    if (of_group != MPI_COMM_NULL) MPI_Comm_free(&of_group);
    for (MPI_Comm* made : {&column, &grid}) MPI_Comm_free(made);
    for (MPI_Group* made : {&two, &all}) MPI_Group_free(made);
  });
  CHECK(played.what.empty() && played.report.facts.empty());
}

/// Of more communicators than a page has room for, those of what is pending.
void test_pages_tell_the_communicators_of_what_is_pending_first() {
  const Played played = play([] {
    std::vector<MPI_Comm> made(20);
    for (MPI_Comm& copy : made) MPI_Comm_dup(comm, &copy);
    CHECK(snapshot(shared->pages[rank]).communicators.empty());
    char byte = 0;
    if (rank == 1) MPI_Recv(&byte, 1, MPI_CHAR, 0, 0, made[0], MPI_STATUS_IGNORE);
    if (rank == 0) {
      RankSnapshot seen;
      CHECK(eventually([&] {
        seen = snapshot(shared->pages[1]);
        return seen.phase == Phase::Blocked && std::string(seen.pending.at(0).call) == "MPI_Recv";
      }));
      CHECK(seen.communicators.size() == 16 && !seen.communicators_complete);
      CHECK(seen.communicators.at(0).id == seen.pending.at(0).communicator);
      MPI_Send(&byte, 1, MPI_CHAR, 1, 0, made[0]);
    }
    for (MPI_Comm& copy : made) MPI_Comm_free(&copy);
  });
  CHECK(played.what.empty() && played.report.facts.empty());
}

void test_pages_tell_whose_part_a_collective_awaits() {
  using Start = std::function<void(MPI_Request*)>;
  std::array<float, 9> out{}, in{};
  float* const o = out.data();
  float* const i = in.data();
  const int counts[ranks] = {1, 0, 3}, places[ranks] = {0, 3, 6};
  int odd[ranks] = {};
  for (int peer = 0; peer < ranks; ++peer) odd[peer] = (peer + rank) % 2;
  const auto T = MPI_FLOAT;
  const auto bits = [](const std::function<bool(int)>& counted) {
    std::uint64_t all = 0;
    for (int peer = 0; peer < ranks; ++peer)
      if (peer != rank && counted(peer)) all |= std::uint64_t{1} << peer;
    return all;
  };
  const std::uint64_t others = bits([](int) { return true; }),
                      middle = bits([](int peer) { return peer == 1; });
  const std::uint64_t on_last = rank == 2 ? others : 0, before = bits([](int peer) { return peer < rank; });
  const std::uint64_t of_counts = bits([&](int peer) { return counts[peer] > 0; });
  const std::vector<std::pair<Start, std::uint64_t>> calls{
      {[&](MPI_Request* r) { MPI_Ibarrier(comm, r); }, others},
      {[&](MPI_Request* r) { MPI_Ibcast(o, 2, T, 1, comm, r); }, middle},
      {[&](MPI_Request* r) { MPI_Ibcast(o, 0, T, 1, comm, r); }, 0},
      {[&](MPI_Request* r) { MPI_Igather(o, 2, T, i, 2, T, 2, comm, r); }, on_last},
      {[&](MPI_Request* r) { MPI_Igatherv(o, counts[rank], T, i, counts, places, T, 2, comm, r); },
       rank == 2 ? of_counts : 0},
      {[&](MPI_Request* r) { MPI_Iscatter(o, 2, T, i, 2, T, 1, comm, r); }, middle},
      {[&](MPI_Request* r) { MPI_Iscatterv(o, counts, places, T, i, counts[rank], T, 1, comm, r); },
       counts[rank] > 0 ? middle : 0},
      {[&](MPI_Request* r) { MPI_Iallgather(o, 2, T, i, 2, T, comm, r); }, others},
      {[&](MPI_Request* r) { MPI_Iallgatherv(o, counts[rank], T, i, counts, places, T, comm, r); },
       of_counts},
      {[&](MPI_Request* r) { MPI_Ireduce(o, i, 2, T, MPI_SUM, 2, comm, r); }, on_last},
      {[&](MPI_Request* r) { MPI_Iallreduce(o, i, 2, T, MPI_SUM, comm, r); }, others},
      {[&](MPI_Request* r) { MPI_Ireduce_scatter(o, i, counts, T, MPI_SUM, comm, r); },
       counts[rank] > 0 ? others : 0},
      {[&](MPI_Request* r) { MPI_Ireduce_scatter_block(o, i, 2, T, MPI_SUM, comm, r); }, others},
      {[&](MPI_Request* r) { MPI_Iscan(o, i, 2, T, MPI_SUM, comm, r); }, before},
      {[&](MPI_Request* r) { MPI_Iexscan(o, i, 2, T, MPI_SUM, comm, r); }, before},
      {[&](MPI_Request* r) { MPI_Ialltoall(o, 2, T, i, 2, T, comm, r); }, others},
      {[&](MPI_Request* r) { MPI_Ialltoallv(o, odd, places, T, i, odd, places, T, comm, r); },
       bits([&](int peer) { return odd[peer] > 0; })}};
  for (const auto& [start, awaited] : calls) {
    const Played played = play([&, &start = start, awaited = awaited] {
      MPI_Request request = MPI_REQUEST_NULL;
      start(&request);
      int found = 0;
      for (int look = 0; look < 3; ++look)
        MPI_Iprobe(previous, 7, comm, &found, MPI_STATUS_IGNORE);  // the page then says that the rank polls
      const RankSnapshot seen = snapshot(shared->pages[rank]);
      CHECK(seen.phase == Phase::Polling && seen.communicators.size() == 1);
      CHECK(seen.communicators.at(0).started == 1 && seen.communicators.at(0).awaited == awaited);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    CHECK(played.what.empty());
  }
}

/// Where only some of a group's members make its communicator, the others are told.
void test_a_group_that_does_not_come_together() {
  MPI_Group pair = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
  const int members[] = {2, 0};
  PMPI_Comm_group(comm, &all);
  PMPI_Group_incl(all, 2, members, &pair);
  MPI_Comm made = MPI_COMM_NULL;
  const Deadlock found = provoke(
      [&] {
        if (rank == 0) MPI_Comm_create_group(comm, pair, 3, &made);
      },
      [&] {
        if (rank == 2) PMPI_Comm_create_group(comm, pair, 3, &made);
      });
  if (made != MPI_COMM_NULL) PMPI_Comm_free(&made);
  PMPI_Group_free(&pair);
  PMPI_Group_free(&all);
  if (rank != 0) return;
  CHECK(found.proven &&
        contains(found.text,
                 "rank 0 waits in MPI_Comm_create_group (1st on the communicator of ranks 2, 0); rank 2 has "
                 "returned"));
}

/// Many right messages of every kind, and a judge that looks without pause: it must never prove a deadlock.
void test_nothing_is_proven_of_a_program_that_runs() {
  std::atomic<bool> over{false};
  std::atomic<int> wrongly_proven{0};
  std::thread judge([&] {
    Deadlock found{};
    while (rank == 0 && !over) wrongly_proven += find_proven(found) ? 1 : 0;
  });
  const Played played = play([] {
    std::vector<double> out(64), in(64);
    MPI_Comm pair = MPI_COMM_NULL, copy = MPI_COMM_NULL;
    MPI_Comm_split(comm, rank / 2, -rank, &pair);
    MPI_Comm_dup(comm, &copy);
    const int own_counts[ranks] = {0, 8, 16}, at[ranks] = {0, 16, 32};
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
      MPI_Allreduce(out.data(), in.data(), 8, MPI_DOUBLE, MPI_SUM, pair);
      MPI_Request gathered;
      MPI_Iallgatherv(out.data(), own_counts[rank], MPI_DOUBLE, in.data(), own_counts, at, MPI_DOUBLE, copy,
                      &gathered);
      if (hop % 3 == 0) MPI_Barrier(pair);
      MPI_Wait(&gathered, MPI_STATUS_IGNORE);
      MPI_Scan(out.data(), in.data(), 8, MPI_DOUBLE, MPI_SUM, copy);
      MPI_Bcast(out.data(), 64, MPI_DOUBLE, hop % ranks, comm);
    }
    MPI_Comm_free(&pair);
    MPI_Comm_free(&copy);
  });
  over = true;
  judge.join();
  CHECK(wrongly_proven == 0);
  CHECK(played.what.empty());
}

/// Rank 0 uses one of two first, rank 1 the other: what they call the first is not one communicator.
void test_communicators_that_nobody_follows_prove_nothing() {
  const Played played = play([] {
    MPI_Comm pair[2];
    MPI_Request made[2];
    for (int i : {0, 1}) MPI_Comm_idup(comm, &pair[i], &made[i]);
    MPI_Waitall(2, made, MPI_STATUSES_IGNORE);
    char byte = 0;
    if (rank == 0) {
      MPI_Request sent[2];
      for (int i : {0, 1}) MPI_Isend(&byte, 1, MPI_CHAR, 1, 0, pair[i], &sent[i]);
      MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
    } else if (rank == 1) {
      std::vector<course::PendingOperation> sent;
      CHECK(eventually([&] {
        sent = snapshot(shared->pages[0]).pending;
        return sent.size() == 2 && std::string(sent[0].call).starts_with("MPI_Wait");
      }));
      for (const course::PendingOperation& pending : sent)
        CHECK(pending.communicator == course::unknown_communicator);
      for (int i : {1, 0}) MPI_Recv(&byte, 1, MPI_CHAR, 0, 0, pair[i], MPI_STATUS_IGNORE);
    }
    // Rank 2 has used neither; a copy that all of them make is one communicator all the same.
    MPI_Comm copy;
    MPI_Comm_dup(comm, &copy);
    if (rank == 0) MPI_Send(&byte, 1, MPI_CHAR, 2, 0, copy);
    if (rank == 2) {
      std::uint64_t meant = course::unknown_communicator;
      CHECK(eventually([&] {  // rank 0 may still be where the copy is made
        const RankSnapshot sender = snapshot(shared->pages[0]);
        if (sender.pending.empty() || std::string(sender.pending[0].call) != "MPI_Send") return false;
        meant = sender.pending[0].communicator;
        return true;
      }));
      CHECK(meant != course::unknown_communicator && meant != course::case_communicator);
      MPI_Recv(&byte, 1, MPI_CHAR, 0, 0, copy, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    for (MPI_Comm& one : pair) MPI_Comm_free(&one);
  });
  CHECK(played.what.empty());
  CHECK(shared->pages[0].sent_sum[2] == shared->pages[2].received_sum[0]);
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

}  // namespace

void test_deadlocks() {
  test_sends_are_synchronous();
  test_send_first_cycle();
  test_requests_in_the_wrong_direction();
  test_an_exchange_with_a_wrong_source();
  test_deadlock_after_a_hop();
  test_tags_that_differ();
  test_communicators_that_differ();
  test_waiting_for_a_finished_rank();
  test_barrier_without_everybody();
  test_a_collective_that_a_member_does_not_make();
  test_pages_tell_of_communicators_that_were_freed();
  test_a_deadlock_across_communicators();
  test_pages_tell_members();
  test_pages_tell_the_communicators_of_what_is_pending_first();
  test_pages_tell_whose_part_a_collective_awaits();
  test_a_group_that_does_not_come_together();
  test_nothing_is_proven_of_a_program_that_runs();
  test_communicators_that_nobody_follows_prove_nothing();
  test_tests_in_a_row_are_polling();
}

}  // namespace mpi_layer_tests
