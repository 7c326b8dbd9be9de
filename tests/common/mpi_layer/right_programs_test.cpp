#include <mpi.h>

#include <array>
#include <numeric>
#include <vector>

#include "playing.hpp"

namespace mpi_layer_tests {

namespace {

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
  CHECK(messages_by_peer(played.report.traffic) == (std::map<int, std::int64_t>{{next, 8}}));
  CHECK(shared->pages[rank].receives == ranks - 1 && shared->pages[rank].pending_count == 0);
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
  CHECK(messages_by_peer(played.report.traffic) == (std::map<int, std::int64_t>{{next, 40'008}}));
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
  CHECK(messages_by_peer(played.report.traffic) == (std::map<int, std::int64_t>{{next, 8}}));
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
  CHECK(played.what.empty() && played.report.facts.size() == 2);
  CHECK(played.has(fact_collective, "MPI_Barrier") && played.has(fact_null_source, "MPI_Sendrecv"));
}

/// The library may give them all one request.
void test_messages_to_nobody() {
  const Played played = play([] {
    std::array<int, 3> numbers{};
    std::array<MPI_Request, 3> requests;
    for (int i = 0; i < 2; ++i) MPI_Irecv(&numbers[i], 1, MPI_INT, MPI_PROC_NULL, i, comm, &requests[i]);
    MPI_Isend(&numbers[2], 1, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[2]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE);
    for (const MPI_Request request : requests) CHECK(request == MPI_REQUEST_NULL);
  });
  CHECK(played.what.empty() && played.report.facts.size() == 2);
  CHECK(played.has(fact_null_source, "MPI_Irecv") && played.has(fact_null_destination, "MPI_Isend"));
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
  CHECK(played.what.empty() && played.report.facts.empty() && shared->pages[rank].receives == 0);
}

void test_ready_and_matched_messages() {
  const Played played = play([] {
    char byte = 0;
    int found = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;
    MPI_Irecv(&byte, 1, MPI_CHAR, previous, 0, comm, &request);
    MPI_Rsend("a", 1, MPI_CHAR, next, 0, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend("b", 1, MPI_CHAR, next, 1, comm, &request);
    MPI_Mprobe(previous, MPI_ANY_TAG, comm, &message, &status);
    CHECK(status.MPI_SOURCE == previous && status.MPI_TAG == 1);
    MPI_Mrecv(&byte, 1, MPI_CHAR, &message, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(byte == 'b' && message == MPI_MESSAGE_NULL);
    std::array<MPI_Request, 2> both;
    MPI_Isend("c", 1, MPI_CHAR, next, 2, comm, &both[0]);
    CHECK(eventually([&] { return MPI_Improbe(previous, 2, comm, &found, &message, &status), found != 0; }));
    MPI_Imrecv(&byte, 1, MPI_CHAR, &message, &both[1]);
    MPI_Waitall(2, both.data(), MPI_STATUSES_IGNORE);
    CHECK(byte == 'c');
  });
  CHECK(played.what.empty() && played.report.facts.empty());
  CHECK(messages_by_peer(played.report.traffic) == (std::map<int, std::int64_t>{{next, 3}}));
  CHECK(shared->pages[rank].receives == 3 && shared->pages[rank].pending_count == 0);
  const Played wrong = play([] {
    char byte = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Mrecv(&byte, 1, MPI_CHAR, &message, MPI_STATUS_IGNORE);
  });
  CHECK(wrong.was_invalid &&
        contains(wrong.what, "MPI_Mrecv was given a message that no MPI_Mprobe has found"));
}

/// Every rank sends first.
void test_buffered_messages() {
  const Played played = play([] {
    std::array<char, 100 + 2 * MPI_BSEND_OVERHEAD> room;
    MPI_Buffer_attach(room.data(), room.size());
    char byte = 0;
    MPI_Request request;
    MPI_Bsend("a", 1, MPI_CHAR, next, 0, comm);
    MPI_Recv(&byte, 1, MPI_CHAR, previous, 0, comm, MPI_STATUS_IGNORE);
    MPI_Bsend_init("b", 1, MPI_CHAR, next, 0, comm, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(&byte, 1, MPI_CHAR, previous, 0, comm, MPI_STATUS_IGNORE);
    CHECK(byte == 'b');
    MPI_Request_free(&request);
    void* detached = nullptr;
    int size = 0;
    MPI_Buffer_detach(&detached, &size);
    CHECK(detached == room.data());
  });
  CHECK(played.what.empty() && played.report.facts.size() == 2);
  CHECK(played.has(fact_buffered_send, "MPI_Bsend does not wait for its receive"));
  CHECK(played.has(fact_buffered_send, "MPI_Bsend_init does not wait for its receive"));
  CHECK(messages_by_peer(played.report.traffic) == (std::map<int, std::int64_t>{{next, 2}}));
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
  CHECK(played.what.empty() && played.report.facts.empty() && shared->pages[rank].receives == 1);
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

/// Of a collective on a communicator of its own the trace says whose it is.
void test_spans_of_collectives() {
  const Played played = play(
      [] {
        std::vector<float> out(16), in(16);
        const int counts[] = {1, 1, 1, 1, 1, 1, 1, 1}, offsets[] = {0, 1, 2, 3, 4, 5, 6, 7};
        MPI_Alltoallv(out.data(), counts, offsets, MPI_FLOAT, in.data(), counts, offsets, MPI_FLOAT, comm);
        MPI_Comm alone;
        MPI_Comm_split(comm, rank, 0, &alone);
        MPI_Alltoall(out.data(), 1, MPI_FLOAT, in.data(), 1, MPI_FLOAT, alone);
        MPI_Barrier(alone);
        MPI_Comm_free(&alone);
      },
      {.record_spans = true});
  std::vector<Span> of_collectives;
  for (const Span& span : played.report.spans)
    if (span.label.starts_with("MPI_Alltoall") || span.label.starts_with("MPI_Barrier"))
      of_collectives.push_back(span);
  CHECK(of_collectives.size() == 3);
  if (of_collectives.size() != 3) return;
  const std::string alone = " of ranks " + std::to_string(rank);
  CHECK(of_collectives[0].label == "MPI_Alltoallv" && of_collectives[0].kind == Span::Kind::Transfer);
  CHECK(of_collectives[1].label == "MPI_Alltoall" + alone && of_collectives[1].kind == Span::Kind::Transfer);
  CHECK(of_collectives[2].label == "MPI_Barrier" + alone && of_collectives[2].kind == Span::Kind::Wait);
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

}  // namespace

void test_right_programs() {
  test_nonblocking_ring();
  test_sendrecv_replace();
  test_persistent_ring();
  test_waiting_for_some();
  test_messages_to_nobody();
  test_cancelled_receive();
  test_ready_and_matched_messages();
  test_buffered_messages();
  test_probe();
  test_spans();
  test_spans_of_collectives();
  test_calls_outside_a_case_pass_through();
}

}  // namespace mpi_layer_tests
