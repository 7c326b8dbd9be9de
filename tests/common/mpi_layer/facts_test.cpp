#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "playing.hpp"

namespace mpi_layer_tests {

namespace {

void test_bytes_by_neighbour() {
  const Played played = play([] {
    std::array<float, 8> out{}, in{};
    MPI_Sendrecv(out.data(), 8, MPI_FLOAT, next, 0, in.data(), 8, MPI_FLOAT, previous, 0, comm,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(out.data(), 2, MPI_FLOAT, MPI_PROC_NULL, 0, in.data(), 2, MPI_FLOAT, MPI_PROC_NULL, 0, comm,
                 MPI_STATUS_IGNORE);
  });
  CHECK(messages_by_peer(played.report.traffic) == (std::map<int, std::int64_t>{{next, 32}}));
  CHECK(played.has(fact_null_source, "MPI_Sendrecv from MPI_PROC_NULL, which sends nothing"));
  CHECK(played.has(fact_null_destination, "MPI_Sendrecv to MPI_PROC_NULL, where nobody receives it"));
  CHECK(played.report.facts.size() == 2 && played.report.spans.empty());
}

/// The ends of a line.
void test_messages_beyond_the_ends() {
  const Played played = play([] {
    const int apart = 0;
    char out = 1, in = 0;
    int before = -1, after = -1;
    MPI_Comm line = MPI_COMM_NULL;
    MPI_Cart_create(comm, 1, &ranks, &apart, 0, &line);
    MPI_Cart_shift(line, 0, 1, &before, &after);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(&out, 1, MPI_CHAR, after, 0, line, &request);
    MPI_Recv(&in, 1, MPI_CHAR, before, 0, line, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&line);
  });
  CHECK(played.has(fact_null_source, "MPI_Recv") == (rank == 0));
  CHECK(played.has(fact_null_destination, "MPI_Isend") == (rank == ranks - 1));
  CHECK(played.report.facts.size() == (rank == 1 ? 0 : 1));
}

void test_what_is_not_freed() {
  const auto made_by = [](void (*make)()) {
    const Played played = play(make);
    CHECK(played.report.facts.size() == 1);
    return played;
  };
  const Played communicator = made_by([] {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &made);
    MPI_Comm_free(&made);
    MPI_Comm_split(comm, 0, rank, &made);
  });
  CHECK(communicator.has(fact_not_freed,
                         "MPI_Comm_split made a communicator, which was never freed with "
                         "MPI_Comm_free"));
  CHECK(made_by([] {
          const int periodic = 0;
          MPI_Comm made = MPI_COMM_NULL;
          MPI_Cart_create(comm, 1, &ranks, &periodic, 0, &made);
        }).has(fact_not_freed, "MPI_Cart_create made a communicator"));
  CHECK(made_by([] {
          const int sizes[] = {ranks, 1}, periodic[] = {0, 0}, rows[] = {0, 1};
          MPI_Comm grid = MPI_COMM_NULL, made = MPI_COMM_NULL;
          MPI_Cart_create(comm, 2, sizes, periodic, 0, &grid);
          MPI_Cart_sub(grid, rows, &made);
          MPI_Comm_free(&grid);
        }).has(fact_not_freed, "MPI_Cart_sub made a communicator"));
  CHECK(made_by([] {
          MPI_Group all = MPI_GROUP_NULL;
          MPI_Comm made = MPI_COMM_NULL;
          MPI_Comm_group(comm, &all);
          MPI_Comm_create_group(comm, all, 0, &made);
          MPI_Group_free(&all);
        }).has(fact_not_freed, "MPI_Comm_create_group made a communicator"));
  const Played group = made_by([] {
    MPI_Group made = MPI_GROUP_NULL;
    MPI_Comm_group(comm, &made);
    MPI_Comm_group(comm, &made);
    MPI_Group_free(&made);
  });
  CHECK(group.has(fact_not_freed, "MPI_Comm_group made a group"));
  CHECK(made_by([] {
          MPI_Datatype made = MPI_DATATYPE_NULL;
          MPI_Type_contiguous(2, MPI_FLOAT, &made);
          MPI_Type_commit(&made);
        })
            .has(fact_not_freed,
                 "MPI_Type_contiguous made a datatype, which was never freed with MPI_Type_free"));
  CHECK(made_by([] {
          MPI_Op made = MPI_OP_NULL;
          MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &made);
        }).has(fact_not_freed, "MPI_Op_create made a reduction operation"));
  const Played freed = play([] {
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Group all = MPI_GROUP_NULL, none = MPI_GROUP_NULL;
    MPI_Comm_split(comm, rank == 0 ? MPI_UNDEFINED : 0, rank, &half);
    if (half != MPI_COMM_NULL) MPI_Comm_free(&half);
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, 0, nullptr, &none);
    MPI_Group_free(&all);
  });
  CHECK(freed.what.empty() && freed.report.facts.empty());
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
  CHECK(messages_by_peer(played.report.traffic) == (std::map<int, std::int64_t>{{next, 1}}));
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
  CHECK(messages_by_peer(played.report.traffic) == (std::map<int, std::int64_t>{{previous, 1}}));
}

void test_any_source() {
  const Played played = play([] {
    char byte = 1;
    if (rank == 2) MPI_Send(&byte, 1, MPI_CHAR, 0, 0, comm);
    if (rank == 0) MPI_Recv(&byte, 1, MPI_CHAR, (rank - 1) % ranks, 0, comm, MPI_STATUS_IGNORE);
  });
  CHECK(played.has(fact_any_source,
                   "MPI_Recv from source -1, which is MPI_ANY_SOURCE here (before any receive)") ==
        (rank == 0));
}

void test_message_to_oneself() {
  const Played played = play([] {
    char in = 0;
    const char out = 1;
    MPI_Sendrecv(&out, 1, MPI_CHAR, rank, 0, &in, 1, MPI_CHAR, rank, 0, comm, MPI_STATUS_IGNORE);
  });
  CHECK(played.what.empty() &&
        played.has(fact_self_message, "which is this rank itself (before any receive)"));
}

void test_invalid_peers() {
  char byte = 1;
  Played played = play([&] { MPI_Send(&byte, 1, MPI_CHAR, (0 - 1) % ranks, 0, comm); });
  CHECK(played.was_invalid && played.has(fact_invalid_peer, "MPI_Send to rank -1"));
  CHECK(contains(played.what, "MPI_Send to rank -1, but the ranks of this communicator are 0 to 2"));
  CHECK(messages_by_peer(played.report.traffic).empty());
  played = play([&] { MPI_Irecv(&byte, 1, MPI_CHAR, ranks, 0, comm, nullptr); });
  CHECK(played.was_invalid && contains(played.what, "MPI_Irecv from rank 3"));
  played = play([&] { MPI_Send(&byte, 1, MPI_CHAR, next, 0, MPI_COMM_NULL); });
  CHECK(played.was_invalid && contains(played.what, "MPI_COMM_NULL"));
}

/// A shorter message is right where rooms are padded: nothing that waits is to see it.
void test_messages_shorter_than_their_rooms() {
  const Played shorter = play([] {
    std::array<char, 16> bytes{}, room{};
    MPI_Request received;
    MPI_Irecv(room.data(), 16, MPI_CHAR, previous, 3, comm, &received);
    MPI_Send(bytes.data(), 6, MPI_CHAR, next, 3, comm);
    MPI_Wait(&received, MPI_STATUS_IGNORE);
    MPI_Sendrecv(bytes.data(), 16, MPI_CHAR, next, 0, room.data(), 16, MPI_CHAR, previous, 0, comm,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(bytes.data(), 16, MPI_CHAR, MPI_PROC_NULL, 0, room.data(), 16, MPI_CHAR, MPI_PROC_NULL, 0,
                 comm, MPI_STATUS_IGNORE);
  });
  const Facts& facts = shorter.report.facts;
  const auto noted = std::ranges::find(facts, fact_short_message, &Fact::kind);
  CHECK(noted != facts.end() &&
        noted->text == "MPI_Irecv from rank " + std::to_string(previous) + " (tag 3, 16 bytes)");
  CHECK(noted != facts.end() && noted->bytes == 6 && noted->room == 16);
  CHECK(std::ranges::count(facts, fact_short_message, &Fact::kind) == 1);
  CHECK(!contains(shared->pages[rank].facts, fact_short_message));
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
                 "MPI_Recv from rank 0 (tag 0, 8 bytes): rank 0 sent 16 bytes, the room has 8 (before any "
                 "receive)") == (rank == 1));
  CHECK(truncated.has(fact_truncated, "16 bytes for 8") == (rank == 1));
  const Fact fact = truncated.fact(fact_truncated);
  CHECK(rank != 1 || (fact.call == "MPI_Recv" && fact.bytes == 16 && fact.room == 8));
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
  CHECK(shift(3).has(fact_overlapping_buffers, "which is still being sent (before any receive)"));
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

/// Every message is received, so that none is left for the tests that follow.
void test_how_many_requests_are_unfinished() {
  const Played played = play([] {
    std::array<char, 2> in{};
    const char out = 1;
    MPI_Request requests[3];
    MPI_Irecv(&in[0], 1, MPI_CHAR, previous, 0, comm, &requests[0]);
    MPI_Isend(&out, 1, MPI_CHAR, next, 0, comm, &requests[1]);
    MPI_Isend(&out, 1, MPI_CHAR, next, 1, comm, &requests[2]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Recv(&in[1], 1, MPI_CHAR, previous, 1, comm, MPI_STATUS_IGNORE);
  });
  CHECK(
      played.has(fact_unfinished_request, "completed it; so it is with 2 of the 3 requests that this rank"));
}

/// Exchanges a byte with the neighbours, whose requests stay in these.
void start_exchange(char& in, const char& out, std::array<MPI_Request, 2>& requests) {
  MPI_Irecv(&in, 1, MPI_CHAR, previous, 0, comm, &requests[0]);
  MPI_Isend(&out, 1, MPI_CHAR, next, 0, comm, &requests[1]);
}

/// The library would follow the copy to what it has freed.
void test_copies_of_requests_that_are_over() {
  using End = void (*)(std::array<MPI_Request, 2> & requests);
  const auto play_with_copy = [](End end, End use_copy) {
    return play([=] {
      char in = 0;
      const char out = 1;
      std::array<MPI_Request, 2> requests{};
      start_exchange(in, out, requests);
      std::array<MPI_Request, 2> copy = requests;
      end(requests);
      use_copy(copy);
    });
  };
  const End test = [](auto& all) {
    for (int done = 0; done == 0;) MPI_Testall(2, all.data(), &done, MPI_STATUSES_IGNORE);
  };
  const End wait = [](auto& all) { MPI_Waitall(2, all.data(), MPI_STATUSES_IGNORE); };
  const std::string receive =
      "the request of MPI_Irecv from rank " + std::to_string(previous) + " (tag 0, 1 byte)";
  const Played waited = play_with_copy(test, wait);
  CHECK(waited.was_invalid &&
        contains(waited.what, "MPI_Waitall was given " + receive +
                                  ", which MPI_Testall had already completed: the handle"));
  CHECK(waited.has(fact_ended_request, waited.what) && waited.report.facts.size() == 1);
  CHECK(waited.told && *waited.told == waited.fact(fact_ended_request));
  CHECK(waited.told && waited.told->call == "MPI_Waitall" && waited.told->other_call == "MPI_Irecv");
  CHECK(play_with_copy(wait, test)
            .has(fact_ended_request, "MPI_Testall was given " + receive + ", which MPI_Waitall"));
  const Played freed = play_with_copy(wait, [](auto& all) { MPI_Request_free(&all[0]); });
  CHECK(freed.has(fact_ended_request, "MPI_Request_free was given " + receive));
  const Played cancelled = play_with_copy(wait, [](auto& all) { MPI_Cancel(&all[0]); });
  CHECK(cancelled.has(fact_ended_request, "MPI_Cancel was given " + receive));
  const Played asked = play_with_copy(wait, [](auto& all) {
    int done = 0;
    MPI_Request_get_status(all[0], &done, MPI_STATUS_IGNORE);
  });
  CHECK(asked.has(fact_ended_request, "MPI_Request_get_status was given " + receive));
  CHECK(play_with_copy([](auto&) {}, wait).what.empty());  // the copy is all that is used
}

/// The library gives new operations the requests of those that are over.
void test_a_request_that_is_used_again_is_no_copy() {
  int used_again = 0;
  const Played played = play([&] {
    char in = 0;
    const char out = 1;
    std::array<MPI_Request, 2> requests{}, before{};
    for (int hop = 0; hop < 5; ++hop) {
      start_exchange(in, out, requests);
      for (const MPI_Request request : requests)
        used_again += std::ranges::count(before, request) > 0 ? 1 : 0;
      before = requests;
      MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
      MPI_Sendrecv(&out, 1, MPI_CHAR, next, 0, &in, 1, MPI_CHAR, previous, 0, comm, MPI_STATUS_IGNORE);
    }
    std::array<MPI_Request, 2> nobody{};
    for (MPI_Request& request : nobody) MPI_Isend(&out, 1, MPI_CHAR, MPI_PROC_NULL, 0, comm, &request);
    MPI_Wait(&nobody[0], MPI_STATUS_IGNORE);
    MPI_Wait(&nobody[1], MPI_STATUS_IGNORE);
  });
  CHECK(played.what.empty() && played.report.facts.size() == 1 && played.has(fact_null_destination));
  CHECK(used_again > 0);
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
  CHECK(messages_by_peer(played.report.traffic).empty() && shared->pages[rank].collectives == 5);
}

void test_nonblocking_collectives() {
  using Start = std::function<void(MPI_Request*)>;
  std::array<float, 3 * ranks> out{};
  std::array<float, 3 * ranks> in{};
  const std::array<int, ranks> counts{1, 2, 3};
  const std::array<int, ranks> offsets{0, 1, 3};
  const auto bytes_of_own = static_cast<std::int64_t>(sizeof(float)) * (rank + 1);
  const std::vector<std::pair<Start, std::int64_t>> calls{
      {[&](MPI_Request* r) {
         MPI_Iallgatherv(out.data(), rank + 1, MPI_FLOAT, in.data(), counts.data(), offsets.data(), MPI_FLOAT,
                         comm, r);
       },
       24},
      {[&](MPI_Request* r) { MPI_Igather(out.data(), 2, MPI_FLOAT, in.data(), 2, MPI_FLOAT, 1, comm, r); },
       rank == 1 ? 24 : 0},
      {[&](MPI_Request* r) {
         MPI_Igatherv(out.data(), rank + 1, MPI_FLOAT, in.data(), counts.data(), offsets.data(), MPI_FLOAT, 1,
                      comm, r);
       },
       rank == 1 ? 24 : 0},
      {[&](MPI_Request* r) { MPI_Iscatter(out.data(), 2, MPI_FLOAT, in.data(), 2, MPI_FLOAT, 1, comm, r); },
       8},
      {[&](MPI_Request* r) {
         MPI_Iscatterv(out.data(), counts.data(), offsets.data(), MPI_FLOAT, in.data(), rank + 1, MPI_FLOAT,
                       1, comm, r);
       },
       bytes_of_own},
      {[&](MPI_Request* r) { MPI_Ialltoall(out.data(), 2, MPI_FLOAT, in.data(), 2, MPI_FLOAT, comm, r); },
       24},
      {[&](MPI_Request* r) {
         const std::array<int, ranks> ones{1, 1, 1};
         const std::array<int, ranks> places{0, 1, 2};
         MPI_Ialltoallv(out.data(), ones.data(), places.data(), MPI_FLOAT, in.data(), ones.data(),
                        places.data(), MPI_FLOAT, comm, r);
         MPI_Wait(r, MPI_STATUS_IGNORE);
       },
       12},
      {[&](MPI_Request* r) { MPI_Ireduce(out.data(), in.data(), 4, MPI_FLOAT, MPI_SUM, 2, comm, r); },
       rank == 2 ? 16 : 0},
      {[&](MPI_Request* r) {
         MPI_Ireduce_scatter(out.data(), in.data(), counts.data(), MPI_FLOAT, MPI_SUM, comm, r);
       },
       bytes_of_own},
      {[&](MPI_Request* r) {
         MPI_Ireduce_scatter_block(out.data(), in.data(), 2, MPI_FLOAT, MPI_SUM, comm, r);
       },
       8},
      {[&](MPI_Request* r) { MPI_Iscan(out.data(), in.data(), 2, MPI_FLOAT, MPI_SUM, comm, r); }, 8},
      {[&](MPI_Request* r) { MPI_Iexscan(out.data(), in.data(), 2, MPI_FLOAT, MPI_SUM, comm, r); },
       rank == 0 ? 0 : 8}};
  for (const auto& call : calls) {
    const Played played = play([&] {
      MPI_Request request = MPI_REQUEST_NULL;
      call.first(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    CHECK(played.what.empty() && played.report.collective_bytes == call.second);
    CHECK(played.report.facts.size() == 1 && played.fact(fact_collective).bytes == call.second);
  }
}

void test_neighbourhood_collectives() {
  const Played played = play([] {
    const int periodic = 1;
    MPI_Comm circle = MPI_COMM_NULL;
    MPI_Cart_create(comm, 1, &ranks, &periodic, 0, &circle);
    const float own = static_cast<float>(rank);
    std::array<float, 2> both{-1, -1};
    MPI_Neighbor_allgather(&own, 1, MPI_FLOAT, both.data(), 1, MPI_FLOAT, circle);
    CHECK(both[0] == static_cast<float>(previous) && both[1] == static_cast<float>(next));
    MPI_Request request;
    std::array<float, 2> swapped{};
    MPI_Ineighbor_alltoall(both.data(), 1, MPI_FLOAT, swapped.data(), 1, MPI_FLOAT, circle, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&circle);
  });
  CHECK(played.what.empty());
  CHECK(played.has(fact_uncommon_call, "MPI_Neighbor_allgather, which this course does not use"));
  CHECK(played.has(fact_uncommon_call, "MPI_Ineighbor_alltoall, which this course does not use"));
}

void test_messages_beyond_a_tensor() {
  std::array<float, 8> memory{};
  const auto first_half = [&](const void* address) -> std::span<const std::byte> {
    return address == memory.data() ? std::as_bytes(std::span(memory).first(4))
                                    : std::span<const std::byte>{};
  };
  const auto hop = [&](int sent) {
    return play(
        [&] {
          std::array<float, 8> in{};
          MPI_Sendrecv(memory.data(), sent, MPI_FLOAT, next, 0, in.data(), sent, MPI_FLOAT, previous, 0, comm,
                       MPI_STATUS_IGNORE);
          MPI_Sendrecv(&memory[4], 4, MPI_FLOAT, next, 0, in.data(), 4, MPI_FLOAT, previous, 0, comm,
                       MPI_STATUS_IGNORE);
        },
        {.synchronous_sends = true, .tensor_at = first_half});
  };
  CHECK(hop(4).report.facts.empty());
  const Played beyond = hop(6);
  CHECK(beyond.what.empty() && beyond.report.facts.size() == 1);
  CHECK(beyond.has(fact_beyond_tensor,
                   "begins in a tensor that the function was given and ends 8 bytes beyond"));
}

/// Receives 6 numbers into a vector of `room`, from its number `begin` on. What will not be received is not
/// sent.
Played receive_six(std::size_t room, std::size_t begin = 0) {
  std::span<const std::byte> block;
  const std::function<std::span<const std::byte>(const void*)> block_at = [&](const void* address) {
    const auto* const byte = static_cast<const std::byte*>(address);
    const bool within = byte >= block.data() && byte < block.data() + block.size();
    return within ? block : std::span<const std::byte>{};
  };
  return play(
      [&] {
        const std::array<float, 6> out{};
        std::vector<float> in(room == 0 ? 0 : room + 6);  // what lies behind the room harms nobody
        block = std::as_bytes(std::span(in).first(room));
        MPI_Request request = MPI_REQUEST_NULL;
        if (begin + 6 <= room) MPI_Isend(out.data(), 6, MPI_FLOAT, next, 0, comm, &request);
        MPI_Recv(in.data() + begin, 6, MPI_FLOAT, previous, 0, comm, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      },
      {.block_at = block_at});
}

void test_rooms_that_are_too_short() {
  CHECK(receive_six(6).what.empty() && receive_six(8, 2).what.empty());
  const Played short_room = receive_six(4);
  CHECK(short_room.was_invalid && short_room.has(fact_short_room, short_room.what));
  CHECK(contains(short_room.what,
                 "begins in memory of 16 bytes that the function allocated and ends 8 bytes "
                 "beyond it"));
  CHECK(receive_six(8, 3).has(fact_short_room, "ends 4 bytes beyond it"));
  CHECK(receive_six(0).has(fact_short_room, "is a null pointer"));
  CHECK(short_room.told && *short_room.told == short_room.fact(fact_short_room));
  CHECK(short_room.told && short_room.told->call == "MPI_Recv");
}

void test_collectives_beyond_memory() {
  std::array<float, 16> memory{};
  std::array<float, 16> other{};
  float* const four = memory.data();
  const std::array<int, ranks> counts{1, 5, 1};
  const std::array<int, ranks> offsets{10, 0, 11};
  const std::function<std::span<const std::byte>(const void*)> four_floats = [&](const void* address) {
    return address == four ? std::as_bytes(std::span(memory).first(4)) : std::span<const std::byte>{};
  };
  struct Call {
    std::function<void()> make;
    std::array<int, ranks> beyond;  ///< by rank: so many bytes
  };
  const std::vector<Call> calls{
      {[&] { MPI_Bcast(four, 4, MPI_FLOAT, 1, comm); }, {0, 0, 0}},
      {[&] { MPI_Bcast(four, 5, MPI_FLOAT, 1, comm); }, {4, 4, 4}},
      {[&] { MPI_Gather(other.data(), 2, MPI_FLOAT, four, 2, MPI_FLOAT, 1, comm); }, {0, 8, 0}},
      {[&] {
         MPI_Gatherv(other.data(), counts[rank], MPI_FLOAT, four, counts.data(), offsets.data(), MPI_FLOAT, 2,
                     comm);
       },
       {0, 0, 4}},
      {[&] { MPI_Scatter(four, 2, MPI_FLOAT, other.data(), 2, MPI_FLOAT, 0, comm); }, {8, 0, 0}},
      {[&] { MPI_Allgather(four, 5, MPI_FLOAT, other.data(), 5, MPI_FLOAT, comm); }, {4, 4, 4}},
      {[&] { MPI_Reduce(four, other.data(), 5, MPI_FLOAT, MPI_SUM, 0, comm); }, {4, 4, 4}},
      {[&] { MPI_Allreduce(MPI_IN_PLACE, four, 4, MPI_FLOAT, MPI_SUM, comm); }, {0, 0, 0}},
      {[&] { MPI_Allreduce(MPI_IN_PLACE, four, 16, MPI_FLOAT, MPI_SUM, comm); }, {48, 48, 48}},
      {[&] {
         MPI_Request request;
         MPI_Ibcast(four, 6, MPI_FLOAT, 0, comm, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE);
       },
       {8, 8, 8}},
  };
  for (const Call& call : calls) {
    const std::string words = "ends " + std::to_string(call.beyond[rank]) + " bytes beyond it";
    const Played tensor = play(call.make, {.tensor_at = four_floats});
    const Played block = play(call.make, {.block_at = four_floats});
    CHECK(tensor.what.empty() && block.what.empty());
    if (call.beyond[rank] > 0) {
      CHECK(tensor.has(fact_beyond_tensor, "begins in a tensor that the function was given and " + words));
      CHECK(block.has(fact_beyond_block, "that the function allocated and " + words));
      CHECK(tensor.fact(fact_beyond_tensor).has(mark_four_times) == (call.beyond[rank] == 48));
    } else {
      CHECK(!tensor.has(fact_beyond_tensor) && !block.has(fact_beyond_block));
    }
  }
}

/// Rank 1 sends rank 2 24 numbers, which expects 36: every rank says so.
void test_counts_that_disagree() {
  std::array<float, 128> out{}, in{};
  std::array<int, ranks> sent{24, 24, 24}, expected{24, 24, 24};
  const std::array<int, ranks> places{0, 40, 80};
  if (rank == 2) expected[1] = 36;
  const auto exchange = [&](MPI_Datatype type) {
    return play([&, type] {
      MPI_Alltoallv(out.data(), sent.data(), places.data(), type, in.data(), expected.data(), places.data(),
                    type, comm);
    });
  };
  const Played played = exchange(MPI_FLOAT);
  CHECK(played.what == "MPI_Alltoallv: rank 1 sends 24 numbers to rank 2, which expects 36");
  const Fact fact = played.fact(fact_counts_disagree);
  CHECK(fact.call == "MPI_Alltoallv" && fact.bytes == 96 && fact.room == 144);
  CHECK(played.told == fact);
  CHECK(exchange(MPI_BYTE).what == "MPI_Alltoallv: rank 1 sends 24 bytes to rank 2, which expects 36");
  const Played one_count = play([&] {
    const int own = rank == 0 ? 8 : 9;
    MPI_Alltoall(out.data(), own, MPI_FLOAT, in.data(), own, MPI_FLOAT, comm);
  });
  CHECK(one_count.what == "MPI_Alltoall: rank 0 sends 8 numbers to rank 1, which expects 9");
}

/// The library's own failure, where it has no shared memory for windows, would say less.
void test_one_sided_calls() {
  const Played played = play([] {
    MPI_Win window;
    int number = 0;
    MPI_Win_create(&number, sizeof number, 1, MPI_INFO_NULL, comm, &window);
  });
  CHECK(played.what == "MPI_Win_create, which this course does not use");
  CHECK(played.has(fact_uncommon_call, played.what));
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

}  // namespace

void test_facts() {
  test_bytes_by_neighbour();
  test_messages_beyond_the_ends();
  test_what_is_not_freed();
  test_other_communicators_count_by_the_ranks_of_the_case();
  test_world_communicator();
  test_any_source();
  test_message_to_oneself();
  test_invalid_peers();
  test_messages_shorter_than_their_rooms();
  test_errors_are_exceptions();
  test_overlapping_buffers();
  test_unfinished_requests();
  test_how_many_requests_are_unfinished();
  test_copies_of_requests_that_are_over();
  test_a_request_that_is_used_again_is_no_copy();
  test_a_send_that_nobody_receives();
  test_collectives();
  test_nonblocking_collectives();
  test_neighbourhood_collectives();
  test_messages_beyond_a_tensor();
  test_rooms_that_are_too_short();
  test_collectives_beyond_memory();
  test_counts_that_disagree();
  test_one_sided_calls();
  test_lifecycle_calls();
}

}  // namespace mpi_layer_tests
