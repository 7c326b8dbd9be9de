#include <mpi.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "playing.hpp"

namespace mpi_layer_tests {

namespace {

using Bytes = std::map<int, std::int64_t>;

/// What this rank sent by this call, by rank of the case.
Bytes sent_by(const Played& played, const std::string& call) {
  Bytes bytes;
  for (const Sent& sent : played.report.traffic) {
    if (sent.call == call) bytes[sent.to] += sent.bytes;
  }
  return bytes;
}

/// So many bytes for each other rank of the case; none where there are none.
Bytes to_others(const std::function<std::int64_t(int to)>& bytes) {
  Bytes all;
  for (int to = 0; to < ranks; ++to) {
    if (to != rank && bytes(to) > 0) all[to] = bytes(to);
  }
  return all;
}

void test_messages_are_counted_by_call_and_peer() {
  const Played played = play([] {
    std::array<float, 4> out{}, in{};
    MPI_Request requests[2];
    for (int hop = 0; hop < 2; ++hop) {
      MPI_Irecv(in.data(), 4, MPI_FLOAT, previous, 0, comm, &requests[0]);
      MPI_Isend(out.data(), 4, MPI_FLOAT, next, 0, comm, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Sendrecv(out.data(), 1, MPI_FLOAT, previous, 0, in.data(), 1, MPI_FLOAT, next, 0, comm,
                 MPI_STATUS_IGNORE);
    MPI_Send_init(out.data(), 2, MPI_FLOAT, next, 0, comm, &requests[0]);
    MPI_Start(&requests[0]);
    MPI_Recv(in.data(), 2, MPI_FLOAT, previous, 0, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
  });
  const std::vector<int> all{0, 1, 2};
  CHECK(played.report.traffic == (Traffic{{1, all, "MPI_Isend", next, 32},
                                          {1, all, "MPI_Sendrecv", previous, 4},
                                          {1, all, "MPI_Send_init", next, 8}}));
  CHECK(messages_by_peer(played.report.traffic) == (Bytes{{next, 40}, {previous, 4}}));
}

void test_steps_are_told_in_their_order() {
  const Played played = play([] {
    std::array<float, 4> out{}, in{};
    MPI_Request requests[2];
    MPI_Irecv(in.data(), 4, MPI_FLOAT, previous, 0, comm, &requests[0]);
    MPI_Isend(out.data(), 4, MPI_FLOAT, next, 0, comm, &requests[1]);
    compute_observer().begin({});
    compute_observer().end();
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  });
  CHECK(played.report.steps == (std::vector<RankStep>{{RankStep::Kind::Sends, next, 16},
                                                      {RankStep::Kind::Computes, -1, 0},
                                                      {RankStep::Kind::Has, previous, 16}}));
}

/// Each named by what it sends to each other rank; blocking and not, they send the same.
void test_collectives_are_counted_by_what_they_mean() {
  std::array<float, 3 * ranks> out{}, in{};
  const std::array<int, ranks> counts{1, 2, 3}, offsets{0, 1, 3};
  constexpr std::int64_t number = sizeof(float);
  const std::int64_t own = number * (rank + 1);
  struct Case {
    std::string call;
    std::function<void()> blocking;
    std::function<void(MPI_Request*)> nonblocking;
    Bytes sent;
  };
  float* const o = out.data();
  float* const i = in.data();
  const int* const n = counts.data();
  const int* const at = offsets.data();
  const Bytes whole = to_others([](int) { return 2 * number; });
  const auto on = [](int which, const Bytes& bytes) { return rank == which ? bytes : Bytes{}; };
  const auto to = [](int which, std::int64_t bytes) {
    return to_others([=](int peer) { return peer == which ? bytes : 0; });
  };
  const auto T = MPI_FLOAT;
  const auto add = MPI_SUM;
  const std::vector<Case> cases{
      {"Barrier", [&] { MPI_Barrier(comm); }, [&](MPI_Request* r) { MPI_Ibarrier(comm, r); }, {}},
      {"Bcast", [&] { MPI_Bcast(o, 2, T, 1, comm); },
       [&](MPI_Request* r) { MPI_Ibcast(o, 2, T, 1, comm, r); }, on(1, whole)},
      {"Gather", [&] { MPI_Gather(o, 2, T, i, 2, T, 2, comm); },
       [&](MPI_Request* r) { MPI_Igather(o, 2, T, i, 2, T, 2, comm, r); }, to(2, 2 * number)},
      {"Gatherv", [&] { MPI_Gatherv(o, rank + 1, T, i, n, at, T, 2, comm); },
       [&](MPI_Request* r) { MPI_Igatherv(o, rank + 1, T, i, n, at, T, 2, comm, r); }, to(2, own)},
      {"Scatter", [&] { MPI_Scatter(o, 2, T, i, 2, T, 1, comm); },
       [&](MPI_Request* r) { MPI_Iscatter(o, 2, T, i, 2, T, 1, comm, r); }, on(1, whole)},
      {"Scatterv",
       [&] {
         MPI_Scatterv(o, rank == 1 ? n : nullptr, rank == 1 ? at : nullptr, T, i, rank + 1, T, 1, comm);
       },
       [&](MPI_Request* r) {
         MPI_Iscatterv(o, rank == 1 ? n : nullptr, rank == 1 ? at : nullptr, T, i, rank + 1, T, 1, comm, r);
       },
       on(1, to_others([&](int peer) { return number * (peer + 1); }))},
      {"Allgather", [&] { MPI_Allgather(o, 2, T, i, 2, T, comm); },
       [&](MPI_Request* r) { MPI_Iallgather(o, 2, T, i, 2, T, comm, r); }, whole},
      {"Allgatherv", [&] { MPI_Allgatherv(o, rank + 1, T, i, n, at, T, comm); },
       [&](MPI_Request* r) { MPI_Iallgatherv(o, rank + 1, T, i, n, at, T, comm, r); },
       to_others([&](int) { return own; })},
      {"Reduce", [&] { MPI_Reduce(o, i, 2, T, add, 2, comm); },
       [&](MPI_Request* r) { MPI_Ireduce(o, i, 2, T, add, 2, comm, r); }, to(2, 2 * number)},
      // 2 * 8 / 3 bytes to each, rounded down
      {"Allreduce", [&] { MPI_Allreduce(o, i, 2, T, add, comm); },
       [&](MPI_Request* r) { MPI_Iallreduce(o, i, 2, T, add, comm, r); }, to_others([](int) { return 5; })},
      {"Reduce_scatter", [&] { MPI_Reduce_scatter(o, i, n, T, add, comm); },
       [&](MPI_Request* r) { MPI_Ireduce_scatter(o, i, n, T, add, comm, r); },
       to_others([&](int peer) { return number * (peer + 1); })},
      {"Reduce_scatter_block", [&] { MPI_Reduce_scatter_block(o, i, 2, T, add, comm); },
       [&](MPI_Request* r) { MPI_Ireduce_scatter_block(o, i, 2, T, add, comm, r); }, whole},
      {"Scan", [&] { MPI_Scan(o, i, 2, T, add, comm); },
       [&](MPI_Request* r) { MPI_Iscan(o, i, 2, T, add, comm, r); }, to(rank + 1, 2 * number)},
      {"Exscan", [&] { MPI_Exscan(o, i, 2, T, add, comm); },
       [&](MPI_Request* r) { MPI_Iexscan(o, i, 2, T, add, comm, r); }, to(rank + 1, 2 * number)},
      {"Alltoall", [&] { MPI_Alltoall(o, 2, T, i, 2, T, comm); },
       [&](MPI_Request* r) { MPI_Ialltoall(o, 2, T, i, 2, T, comm, r); }, whole}};
  for (const Case& one : cases) {
    const Played blocking = play(one.blocking);
    CHECK(sent_by(blocking, "MPI_" + one.call) == one.sent);
    CHECK(bytes_by_peer(blocking.report.traffic) == one.sent);
    CHECK(messages_by_peer(blocking.report.traffic).empty());
    std::string call = "MPI_I" + one.call;
    call[5] = static_cast<char>(std::tolower(call[5]));
    const Played open = play([&] {
      MPI_Request request = MPI_REQUEST_NULL;
      one.nonblocking(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    CHECK(sent_by(open, call) == one.sent);
  }
}

/// Rank r sends r + 1 + s numbers to rank s.
void test_alltoallv_is_counted_by_its_parts() {
  std::array<int, ranks> out_counts{}, in_counts{}, out_offsets{}, in_offsets{};
  for (int peer = 0; peer < ranks; ++peer) out_counts[peer] = in_counts[peer] = rank + 1 + peer;
  std::exclusive_scan(out_counts.begin(), out_counts.end(), out_offsets.begin(), 0);
  std::exclusive_scan(in_counts.begin(), in_counts.end(), in_offsets.begin(), 0);
  std::array<float, 16> out{}, in{};
  const Bytes parts = to_others([](int to) { return 4 * (rank + 1 + to); });
  const Played played = play([&] {
    MPI_Alltoallv(out.data(), out_counts.data(), out_offsets.data(), MPI_FLOAT, in.data(), in_counts.data(),
                  in_offsets.data(), MPI_FLOAT, comm);
  });
  CHECK(sent_by(played, "MPI_Alltoallv") == parts);
  const Played in_place = play([&] {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ialltoallv(out.data(), out_counts.data(), out_offsets.data(), MPI_FLOAT, in.data(), in_counts.data(),
                   in_offsets.data(), MPI_FLOAT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Alltoallv(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, in.data(), in_counts.data(),
                  in_offsets.data(), MPI_FLOAT, comm);
  });
  CHECK(sent_by(in_place, "MPI_Ialltoallv") == parts && sent_by(in_place, "MPI_Alltoallv") == parts);
}

void test_collectives_in_place_send_what_lies_there() {
  std::array<float, 3 * ranks> all{};
  const std::array<int, ranks> counts{1, 2, 3}, offsets{0, 1, 3};
  const Played played = play([&] {
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), 2, MPI_FLOAT, comm);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), counts.data(), offsets.data(), MPI_FLOAT,
                   comm);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), 3, MPI_FLOAT, comm);
  });
  CHECK(sent_by(played, "MPI_Allgather") == to_others([](int) { return 8; }));
  CHECK(sent_by(played, "MPI_Allgatherv") == to_others([](int) { return 4 * (rank + 1); }));
  CHECK(sent_by(played, "MPI_Alltoall") == to_others([](int) { return 12; }));
}

/// Ranks 2 and 0 have a communicator of their own, in that order; rank 1 has none.
void test_other_communicators_have_their_numbers_and_members() {
  std::array<float, 2> own{};
  std::array<float, 2 * ranks> all{};
  const Played played = play([&] {
    MPI_Comm copy = MPI_COMM_NULL, pair = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_split(comm, rank == 1 ? MPI_UNDEFINED : 0, -rank, &pair);
    if (pair != MPI_COMM_NULL) {
      MPI_Allgather(own.data(), 2, MPI_FLOAT, all.data(), 2, MPI_FLOAT, pair);
      MPI_Comm_free(&pair);
    }
    MPI_Bcast(own.data(), 1, MPI_FLOAT, 0, copy);
    MPI_Comm_free(&copy);
  });
  const std::vector<int> everybody{0, 1, 2}, both{2, 0};
  Traffic expected;
  if (rank == 0)
    expected = {{3, both, "MPI_Allgather", 2, 8},
                {2, everybody, "MPI_Bcast", 1, 4},
                {2, everybody, "MPI_Bcast", 2, 4}};
  if (rank == 2) expected = {{3, both, "MPI_Allgather", 0, 8}};
  CHECK(played.report.traffic == expected);
}

void test_too_many_entries_are_summed() {
  const Played played = play([] {
    for (int made = 0; made < 600; ++made) {
      float number = 0;
      MPI_Comm copy = MPI_COMM_NULL;
      MPI_Comm_dup(comm, &copy);
      MPI_Bcast(&number, 1, MPI_FLOAT, 0, copy);
      MPI_Comm_free(&copy);
    }
  });
  const Traffic& traffic = played.report.traffic;
  CHECK(traffic.size() <= 512 + ranks);
  CHECK(bytes_by_peer(traffic) == (rank == 0 ? Bytes{{1, 2400}, {2, 2400}} : Bytes{}));
  if (rank == 0) CHECK(traffic.back() == (Sent{0, {}, "MPI_Bcast", 2, 4 * (600 - 256)}));
}

}  // namespace

void test_traffic() {
  test_messages_are_counted_by_call_and_peer();
  test_steps_are_told_in_their_order();
  test_collectives_are_counted_by_what_they_mean();
  test_alltoallv_is_counted_by_its_parts();
  test_collectives_in_place_send_what_lies_there();
  test_other_communicators_have_their_numbers_and_members();
  test_too_many_entries_are_summed();
}

}  // namespace mpi_layer_tests
