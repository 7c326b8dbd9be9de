#include <mpi.h>

#include <array>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "hop.hpp"

namespace mpi_layer_tests {

namespace {

/// A block of tiles, each followed by a pause.
void compute_tiles(const std::function<void(int tile)>& between_tiles, int tiles = 3) {
  compute_observer().begin({});
  for (int tile = 1; tile <= tiles; ++tile) {
    compute_observer().pause();
    between_tiles(tile);
  }
  compute_observer().end();
}

void test_waiting_before_computing() {
  const auto hop_then_compute = [](bool computes_later) {
    return play([=] {
      Hop hop;
      hop.start();
      hop.wait();
      if (computes_later) compute();
    });
  };
  const Played played = hop_then_compute(true);
  CHECK(played.has(fact_waited_at_once, "MPI_Irecv from rank " + std::to_string(previous) +
                                            " (tag 0, 16 bytes) was waited for in MPI_Waitall before the"));
  CHECK(played.has(fact_waited_at_once, "MPI_Isend") && played.report.facts.size() == 2);
  CHECK(hop_then_compute(false).report.facts.empty());  // nothing is left that could hide it
  const Played blocking = play([] {
    float value = 1;
    MPI_Sendrecv_replace(&value, 1, MPI_FLOAT, next, 0, previous, 0, comm, MPI_STATUS_IGNORE);
    compute();
  });
  CHECK(blocking.has(fact_waited_at_once, "MPI_Sendrecv_replace"));
}

const Options delayed{.synchronous_sends = true, .delay_tests = true};

/// The rest of the block could have hidden what is waited for after one of its tiles.
void test_waiting_between_tiles() {
  const auto hop_waited_for_after = [](int waiting_tile, const std::function<void(Hop&)>& wait) {
    return play(
        [=] {
          Hop hop;
          hop.start();
          compute_tiles([&](int tile) {
            if (tile == waiting_tile) wait(hop);
          });
          hop.wait();
        },
        delayed);
  };
  for (const int tile : {1, 2}) {
    const Played waited = hop_waited_for_after(tile, [](Hop& hop) { hop.wait(); });
    CHECK(
        waited.has(fact_waited_at_once, "MPI_Isend to rank " + std::to_string(next) +
                                            " (tag 0, 16 bytes) was waited for in MPI_Waitall between two"));
    CHECK(waited.report.facts.size() == 2);
  }
  const Played spun = hop_waited_for_after(1, [](Hop& hop) {
    while (!hop.test()) continue;
  });
  CHECK(spun.has(fact_waited_at_once, "was waited for with one MPI_Testall after another between two tiles"));
  CHECK(spun.report.facts.size() == 2);
  const Played tested = play(
      [] {
        Hop hop;
        hop.start();
        bool done = false;
        compute_tiles([&](int tile) {
          done = hop.test();
          CHECK(tile > 2 || !done);
          if (tile == 2) CHECK(eventually([&] { return hop.test(); }));
        });
        hop.wait();
      },
      delayed);
  CHECK(tested.report.facts.empty());
}

/// One test between two tiles of many finds what is there, and gives it the time to come; no rank is late
/// here.
void test_many_tiles_let_a_test_find_the_message() {
  const Played played = play(
      [] {
        Hop hop;
        hop.start();
        PMPI_Barrier(comm);
        compute_tiles([&](int tile) { CHECK(hop.test() == (tile >= 16)); }, 20);
        hop.wait();
      },
      delayed);
  CHECK(played.what.empty() && played.report.facts.empty());
}

/// Whoever tests until a message is there waits for it, whichever call the tests are.
void test_testing_until_all_is_there_is_waiting() {
  using Spin = void (*)(Hop&);
  const auto hop_then_compute = [](Spin spin, bool computes_later) {
    return play(
        [=] {
          Hop hop;
          hop.start();
          spin(hop);
          if (computes_later) compute();
          hop.wait();
        },
        delayed);
  };
  const std::vector<std::pair<std::string, Spin>> spins{
      {"MPI_Test",
       [](Hop& hop) {
         for (MPI_Request& request : hop.requests) {
           for (int done = 0; done == 0;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
         }
       }},
      {"MPI_Testall",
       [](Hop& hop) {
         while (!hop.test()) continue;
       }},
      {"MPI_Testany",
       [](Hop& hop) {
         for (int done = 0, index = 0; done == 0 || index != MPI_UNDEFINED;)
           MPI_Testany(2, hop.requests.data(), &index, &done, MPI_STATUS_IGNORE);
       }},
      {"MPI_Testsome",
       [](Hop& hop) {
         std::array<int, 2> indices{};
         for (int count = 0; count != MPI_UNDEFINED;)
           MPI_Testsome(2, hop.requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
       }},
      {"MPI_Request_get_status", [](Hop& hop) {
         for (const MPI_Request& request : hop.requests) {
           for (int done = 0; done == 0;) MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
         }
       }}};
  for (const auto& [call, spin] : spins) {
    const Played played = hop_then_compute(spin, true);
    CHECK(played.has(fact_waited_at_once, "MPI_Irecv from rank " + std::to_string(previous) +
                                              " (tag 0, 16 bytes) was waited for with one " + call +
                                              " after another before the next block was computed"));
    CHECK(played.has(fact_waited_at_once, "MPI_Isend") && played.report.facts.size() == 2);
    CHECK(hop_then_compute(spin, false).report.facts.empty());  // nothing is left that could hide it
  }
}

/// Some tests may set a message going. They find nothing, even if it is there.
void test_a_few_tests_before_computing() {
  const Played played = play(
      [] {
        Hop hop;
        hop.start();
        for (int i = 0; i < 16; ++i) CHECK(!hop.test());
        compute([&] { CHECK(eventually([&] { return hop.test(); })); });
        CHECK(hop.in == hop.out);
        compute();
      },
      delayed);
  CHECK(played.report.facts.empty());
}

void test_progress_while_computing() {
  const auto overlapped = [](void (*between_tiles)(Hop&)) {
    return play([=] {
      Hop hop;
      hop.start();
      compute([&] { between_tiles(hop); });
      hop.wait();
      compute();
    });
  };
  CHECK(overlapped([](Hop& hop) { hop.test(); }).report.facts.empty());
  CHECK(overlapped([](Hop&) {
          int found = 0;
          MPI_Iprobe(previous, 9, comm, &found, MPI_STATUS_IGNORE);
        }).report.facts.empty());
  const Played idle = overlapped([](Hop&) {});
  CHECK(idle.has(fact_no_progress, "MPI_Irecv from rank " + std::to_string(previous) +
                                       " (tag 0, 16 bytes) was under way while a block was computed"));
  CHECK(idle.has(fact_no_progress, "MPI_Isend") && idle.report.facts.size() == 2);
}

/// Whether or not it comes to run in time, a thread can make progress, or wait while another one computes.
/// One that does neither hides nothing.
void test_threads_are_progress() {
  const Played waiting = play([] {
    Hop hop;
    hop.start();
    std::thread thread([&] { hop.wait(); });
    compute();
    thread.join();
  });
  CHECK(waiting.report.facts.empty());
  const Played silent = play([] {
    std::atomic<bool> done = false;
    std::thread thread([&] {
      while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    Hop hop;
    hop.start();
    compute();
    hop.wait();
    done = true;
    thread.join();
  });
  CHECK(silent.report.facts.empty());
  const Played blocking = play([] {
    std::atomic<bool> done = false;
    std::thread thread([&] {
      while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    float value = 1;
    MPI_Sendrecv_replace(&value, 1, MPI_FLOAT, next, 0, previous, 0, comm, MPI_STATUS_IGNORE);
    compute();
    done = true;
    thread.join();
  });
  CHECK(blocking.has(fact_waited_at_once, "MPI_Sendrecv_replace") && blocking.report.facts.size() == 2);
  const Played computing = play([] {
    Hop hop;
    hop.start();
    std::thread thread([] { compute(); });
    hop.wait();
    thread.join();
    compute();
  });
  CHECK(computing.report.facts.empty());
}

void test_computing_on_open_buffers() {
  const auto given = [](float* (*buffer)(Hop&), bool written) {
    return play([=] {
      Hop hop;
      hop.start();
      compute([&] { hop.test(); }, {{buffer(hop), 4, written}});
      hop.wait();
    });
  };
  const auto last_in = [](Hop& hop) { return &hop.in[3]; };
  const auto last_out = [](Hop& hop) { return &hop.out[3]; };
  CHECK(given(last_in, false)
            .has(fact_computed_on_arriving, "a block was computed on the buffer of MPI_Irecv"));
  CHECK(given(last_in, true).has(fact_computed_on_arriving));
  CHECK(given(last_out, true)
            .has(fact_send_buffer_changed, "a block was computed into the buffer of MPI_Isend"));
  CHECK(given(last_out, false).report.facts.empty());
}

void test_sending_what_has_not_arrived() {
  const auto pass_on = [](bool computes_meanwhile) {
    return play([=] {
      const float out = 1;
      float in = 0;
      float last = 0;
      std::array<MPI_Request, 3> requests{};
      MPI_Irecv(&in, 1, MPI_FLOAT, previous, 5, comm, &requests[0]);
      if (computes_meanwhile) compute();
      MPI_Irecv(&last, 1, MPI_FLOAT, previous, 6, comm, &requests[1]);
      MPI_Isend(&in, 1, MPI_FLOAT, next, 6, comm, &requests[2]);
      PMPI_Send(&out, 1, MPI_FLOAT, next, 5, comm);
      MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE);
    });
  };
  const Played swapped = pass_on(true);
  CHECK(swapped.has(fact_reused_before_wait, "which is still being received"));
  CHECK(swapped.has(fact_overlapping_buffers));
  const Played one_buffer = pass_on(false);
  CHECK(one_buffer.has(fact_overlapping_buffers) && !one_buffer.has(fact_reused_before_wait));
}

void test_a_rank_that_tests_while_it_computes_does_not_poll() {
  const Played played = play([] {
    char byte = 0;
    MPI_Request request;
    MPI_Irecv(&byte, 1, MPI_CHAR, previous, 0, comm, &request);
    compute([&] {
      int done = 0;
      for (int i = 0; i < 10; ++i) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      CHECK(snapshot(shared->pages[rank]).phase == Phase::Computing);
    });
    PMPI_Barrier(comm);
    send_byte(next);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
  CHECK(played.what.empty());
}

}  // namespace

void test_overlap() {
  test_waiting_before_computing();
  test_waiting_between_tiles();
  test_many_tiles_let_a_test_find_the_message();
  test_testing_until_all_is_there_is_waiting();
  test_a_few_tests_before_computing();
  test_progress_while_computing();
  test_threads_are_progress();
  test_computing_on_open_buffers();
  test_sending_what_has_not_arrived();
  test_a_rank_that_tests_while_it_computes_does_not_poll();
}

}  // namespace mpi_layer_tests
