#include <mpi.h>

#include <array>
#include <cmath>
#include <vector>

#include "hop.hpp"

namespace mpi_layer_tests {

namespace {

void test_a_guarded_receive_holds_nothing_until_its_wait() {
  const Played played = play(
      [] {
        Hop hop;
        hop.start(3);
        PMPI_Barrier(comm);  // by now the message is there
        CHECK(std::isnan(hop.in[0]) && std::isnan(hop.in[3]));
        hop.wait();
        CHECK((hop.in == std::array<float, 4>{1, 2, 3, -1}));  // the rest is as it was
      },
      guarded);
  CHECK(played.what.empty() && played.report.facts.size() == 1 && played.has(fact_short_message));
}

/// Who is told that a message is complete may use its buffer, though the request is still to be given up.
void test_a_guarded_buffer_is_handed_over_with_a_true_status() {
  const Played played = play(
      [] {
        Hop hop;
        hop.start();
        const auto complete = [&](int i) {
          int flag = 0;
          MPI_Request_get_status(hop.requests[i], &flag, MPI_STATUS_IGNORE);
          return flag != 0;
        };
        CHECK(std::isnan(hop.in[0]));
        CHECK(eventually([&] { return complete(0) && complete(1); }));
        CHECK((hop.in == std::array<float, 4>{1, 2, 3, 4}) && complete(0));
        compute([] {}, {{hop.in.data(), 16, true}, {hop.out.data(), 16, true}});
        hop.in = {5, 6, 7, 8};
        hop.out[0] = 9;
        MPI_Sendrecv_replace(hop.in.data(), 4, MPI_FLOAT, next, 1, previous, 1, comm, MPI_STATUS_IGNORE);
        hop.wait();
        CHECK((hop.in == std::array<float, 4>{5, 6, 7, 8}));
      },
      guarded);
  CHECK(played.what.empty() && played.report.facts.empty());
  const Played forgotten = play(
      [] {
        Hop hop;
        hop.start();
        for (const MPI_Request& request : hop.requests) {
          for (int flag = 0; flag == 0;) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        }
      },
      guarded);
  CHECK(forgotten.has(fact_unfinished_request) && forgotten.report.facts.size() == 2);
}

void test_guarded_buffers_that_are_written_to() {
  Played played = play(
      [] {
        Hop hop;
        hop.start();
        hop.in[2] += 1;  // NaN stays NaN, but not the same
        hop.wait();
        CHECK(hop.in[2] == 3);
      },
      guarded);
  CHECK(played.has(fact_receive_buffer_changed, "the buffer of MPI_Irecv from rank " +
                                                    std::to_string(previous) +
                                                    " (tag 0, 16 bytes) was written to while it was still"));
  CHECK(played.report.facts.size() == 1);
  played = play(
      [] {
        Hop hop;
        hop.start();
        hop.out[1] = 7;
        hop.wait();
        CHECK(hop.in[1] == 2);  // what the buffer held at the start
      },
      guarded);
  CHECK(played.has(fact_send_buffer_changed, "of MPI_Isend to rank " + std::to_string(next)));
  CHECK(played.report.facts.size() == 1);
}

void test_a_guarded_persistent_ring() {
  const Played played = play(
      [] {
        float out = 0;
        float in = 0;
        std::array<MPI_Request, 2> requests{};
        MPI_Send_init(&out, 1, MPI_FLOAT, next, 0, comm, &requests[0]);
        MPI_Recv_init(&in, 1, MPI_FLOAT, previous, 0, comm, &requests[1]);
        for (const float value : {1.0f, 2.0f}) {
          out = value;
          in = -1;
          MPI_Startall(2, requests.data());
          CHECK(std::isnan(in));
          MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
          CHECK(in == value);
        }
        MPI_Start(&requests[0]);
        out = 9;
        MPI_Start(&requests[1]);
        MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
        CHECK(in == 2);
        for (MPI_Request& request : requests) MPI_Request_free(&request);
      },
      guarded);
  CHECK(played.what.empty() && played.report.facts.size() == 1);
  CHECK(played.has(fact_send_buffer_changed, "MPI_Send_init"));
}

void test_what_is_not_guarded() {
  const Played played = play(
      [] {
        std::vector<float> large(20'000, 1.0f);
        MPI_Request request;
        MPI_Irecv(large.data(), 20'000, MPI_FLOAT, MPI_PROC_NULL, 0, comm, &request);
        CHECK(large[0] == 1);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        float value = static_cast<float>(rank);
        MPI_Sendrecv_replace(&value, 1, MPI_FLOAT, next, 0, previous, 0, comm, MPI_STATUS_IGNORE);
        CHECK(value == static_cast<float>(previous));
      },
      guarded);
  CHECK(played.what.empty() && played.report.facts.size() == 1 && played.has(fact_null_source));
}

/// A receive that is left open takes nothing away from what its caller's memory is used for next.
void test_a_guarded_receive_that_is_left_open() {
  const Played played = play(
      [] {
        static float in = 5;
        MPI_Request request;
        MPI_Irecv(&in, 1, MPI_FLOAT, previous, 0, comm, &request);
      },
      guarded);
  CHECK(played.has(fact_unfinished_request) && played.report.facts.size() == 1);
}

}  // namespace

void test_guarded_buffers() {
  test_a_guarded_receive_holds_nothing_until_its_wait();
  test_a_guarded_buffer_is_handed_over_with_a_true_status();
  test_guarded_buffers_that_are_written_to();
  test_a_guarded_persistent_ring();
  test_what_is_not_guarded();
  test_a_guarded_receive_that_is_left_open();
}

}  // namespace mpi_layer_tests
