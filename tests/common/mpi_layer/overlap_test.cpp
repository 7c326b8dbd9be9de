#include <mpi.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
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

/// What is called between the tiles of a block that hides a hop.
Played overlapped(const std::function<void(Hop&)>& between_tiles, int tiles = 1) {
  const auto hop_behind_a_block = [=] {
    Hop hop;
    hop.start();
    compute_tiles([&](int) { between_tiles(hop); }, tiles);
    hop.wait();
    compute();
  };
  return play(hop_behind_a_block, delayed);
}

void test_progress_while_computing() {
  const std::vector<std::function<void(Hop&)>> calls{
      [](Hop& hop) { hop.test(); },
      [](Hop&) {
        int found = 0;
        MPI_Iprobe(previous, 9, comm, &found, MPI_STATUS_IGNORE);
      },
      [](Hop&) {
        int found = 0;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Improbe(previous, 9, comm, &found, &message, MPI_STATUS_IGNORE);
      },
      [](Hop& hop) {
        int done = 0;
        MPI_Test(&hop.requests[1], &done, MPI_STATUS_IGNORE);
      },
      [](Hop& hop) {
        int done = 0;
        MPI_Request_get_status(hop.requests[0], &done, MPI_STATUS_IGNORE);
      },
      [](Hop& hop) {
        int done = 0;
        std::array<int, 2> indices{};
        MPI_Testsome(2, hop.requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
      },
      [](Hop&) { MPI_Barrier(comm); },
      [](Hop&) {
        char token = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(&token, 0, MPI_CHAR, next, 8, comm, &request);
        MPI_Recv(&token, 0, MPI_CHAR, previous, 8, comm, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      }};
  for (const auto& call : calls) CHECK(!overlapped(call).has(fact_no_progress));
}

/// Open MPI 4.1 returns from these at once: they have nothing to look for.
void test_calls_that_make_no_progress() {
  const Played idle = overlapped([](Hop&) {});
  CHECK(
      idle.has(fact_no_progress,
               "MPI_Irecv from rank " + std::to_string(previous) +
                   " (tag 0, 16 bytes) was under way while a block was computed, and no call made progress"));
  CHECK(idle.has(fact_no_progress, "MPI_Isend") && idle.report.facts.size() == 2);
  std::array<MPI_Request, 2> none{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int done = 0, index = 0;
  std::array<int, 2> indices{};
  char byte = 0, in = 0;
  const std::vector<std::pair<std::string, std::function<void(Hop&)>>> calls{
      {"MPI_Testall", [&](Hop&) { MPI_Testall(0, nullptr, &done, MPI_STATUSES_IGNORE); }},
      {"MPI_Testall", [&](Hop&) { MPI_Testall(2, none.data(), &done, MPI_STATUSES_IGNORE); }},
      {"MPI_Test", [&](Hop&) { MPI_Test(none.data(), &done, MPI_STATUS_IGNORE); }},
      {"MPI_Testany", [&](Hop&) { MPI_Testany(2, none.data(), &index, &done, MPI_STATUS_IGNORE); }},
      {"MPI_Testsome",
       [&](Hop&) { MPI_Testsome(2, none.data(), &done, indices.data(), MPI_STATUSES_IGNORE); }},
      {"MPI_Waitall", [&](Hop&) { MPI_Waitall(2, none.data(), MPI_STATUSES_IGNORE); }},
      {"MPI_Request_get_status",
       [&](Hop&) { MPI_Request_get_status(MPI_REQUEST_NULL, &done, MPI_STATUS_IGNORE); }},
      {"MPI_Comm_rank", [&](Hop&) { MPI_Comm_rank(comm, &index); }},
      {"MPI_Iprobe", [&](Hop&) { MPI_Iprobe(MPI_PROC_NULL, 0, comm, &done, MPI_STATUS_IGNORE); }},
      {"MPI_Send", [&](Hop&) { MPI_Send(&byte, 1, MPI_CHAR, MPI_PROC_NULL, 0, comm); }},
      {"MPI_Barrier", [&](Hop&) { MPI_Barrier(MPI_COMM_SELF); }},
      {"MPI_Wait", [&](Hop&) {
         MPI_Request inactive = MPI_REQUEST_NULL;
         MPI_Recv_init(&in, 1, MPI_CHAR, previous, 8, comm, &inactive);
         MPI_Wait(&inactive, MPI_STATUS_IGNORE);
         MPI_Request_free(&inactive);
       }}};
  for (const auto& [name, call] : calls) {
    const Played played = overlapped(call);
    CHECK(played.has(fact_no_progress, "and no call made progress meanwhile"));
    CHECK(name == "MPI_Wait" || played.has(fact_no_progress, "; " + name + " made none"));
  }
}

/// One call sets a large message going, and does not keep it going.
void test_calls_that_are_not_spread() {
  const auto called_after = [](std::function<bool(int tile)> calls) {
    int tile = 0;
    return overlapped(
        [=](Hop& hop) mutable {
          if (calls(++tile)) hop.test();
        },
        20);
  };
  for (const int step : {1, 2, 4, 8})
    CHECK(called_after([=](int tile) { return tile % step == 0; }).report.facts.empty());
  const Played first = called_after([](int tile) { return tile == 1; });
  CHECK(first.has(fact_no_progress, "19 of 20 tiles in a row passed without a call that makes progress"));
  CHECK(called_after([](int tile) { return tile == 20; }).has(fact_no_progress, "20 of 20"));
}

/// Tests that ask for some of a hop's requests find them after a few tiles, and are tests of nothing then.
/// Those that ask for one after another, or for the next where one is complete, come to all of them.
void test_calls_that_ask_for_a_part() {
  const auto asking_for = [](const std::function<void(Hop&, int tile)>& asks) {
    return play(
        [=] {
          Hop hop;
          hop.start();
          compute_tiles([&](int tile) { asks(hop, tile); }, 20);
          hop.wait();
        },
        delayed);
  };
  const auto test_one = [](MPI_Request& request) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  };
  for (const std::size_t one : {0, 1}) {
    const Played asked = asking_for([=](Hop& hop, int) { test_one(hop.requests[one]); });
    CHECK(asked.has(fact_no_progress, "of 20 tiles in a row passed without a call that makes progress"));
  }
  CHECK(asking_for([=](Hop& hop, int tile) { test_one(hop.requests[tile % 2]); }).report.facts.empty());
  CHECK(asking_for([=](Hop& hop, int) {
          test_one(hop.requests[hop.requests[0] == MPI_REQUEST_NULL ? 1 : 0]);
        }).report.facts.empty());
  CHECK(asking_for([=](Hop& hop, int) {
          for (MPI_Request& request : hop.requests) test_one(request);
        }).report.facts.empty());
}

/// What a thread does beside a block that hides a hop.
Played beside_a_block(const std::function<void(Hop&)>& thread) {
  return play([=] {
    Hop hop;
    hop.start();
    std::thread beside([&] { thread(hop); });
    compute();
    beside.join();
    hop.wait();
  });
}

/// A thread can make progress whenever it comes to run, or wait while another one computes. One that does
/// neither hides nothing.
void test_threads_make_progress_by_calls() {
  using std::chrono::milliseconds;
  CHECK(beside_a_block([](Hop& hop) { hop.wait(); }).report.facts.empty());
  const auto comes_late = [](Hop& hop) {
    std::this_thread::sleep_for(milliseconds(30));
    hop.wait();
  };
  CHECK(beside_a_block(comes_late).report.facts.empty());
  CHECK(beside_a_block([](Hop& hop) {
          for (int found = 0; !hop.test();) MPI_Iprobe(previous, 9, comm, &found, MPI_STATUS_IGNORE);
        }).report.facts.empty());
  const Played blocking = play([] {
    std::atomic<bool> done = false;
    std::thread thread([&] {
      while (!done) std::this_thread::sleep_for(milliseconds(1));
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
  const auto while_computing = [](const std::function<void()>& act) {
    return play([=] {
      Hop hop;
      hop.start();
      std::atomic<bool> done = false;
      std::thread thread([&] {
        while (!done) act();
      });
      compute();
      hop.wait();
      done = true;
      thread.join();
    });
  };
  CHECK(while_computing([] {
          std::this_thread::sleep_for(milliseconds(1));
        }).has(fact_no_progress, "and no call made progress meanwhile"));
  CHECK(beside_a_block(comes_late).report.facts.empty());  // the case before takes no patience from this one
  CHECK(while_computing([] {
          int own = 0;
          MPI_Comm_rank(comm, &own);
          std::this_thread::sleep_for(milliseconds(1));
        }).has(fact_no_progress, "and no call made progress meanwhile"));
}

/// Round the ring and back to its caller, in one blocking call.
void blocking_hop() {
  const float out = 1;
  float in = 0;
  MPI_Sendrecv(&out, 1, MPI_FLOAT, next, 0, &in, 1, MPI_FLOAT, previous, 0, comm, MPI_STATUS_IGNORE);
}

/// Plays two blocks with `hop` before each, in a graded run.
Played twice(const std::function<void()>& hop) {
  return play(
      [&] {
        for (int i = 0; i < 2; ++i) hop();
      },
      delayed);
}

/// However a thread transfers while nobody computes, it hides nothing, as little as the thread that computes.
void test_threads_that_hide_nothing() {
  const auto joined = [](const std::function<void()>& act) { std::thread(act).join(); };
  const std::string before_a_block = " was waited for on another thread before the next block was computed";
  const auto is_told = [](const Played& played, const std::string& text) {
    return played.has(fact_waited_at_once, text) && played.report.facts.size() == 2;
  };
  CHECK(is_told(twice([&] {
                  joined(blocking_hop);
                  compute_tiles([](int) {});
                }),
                before_a_block));
  CHECK(is_told(twice([&] {
                  compute_tiles([](int) {});
                  joined(blocking_hop);
                }),
                before_a_block));
  CHECK(is_told(twice([&] {
                  Hop hop;
                  hop.start();
                  joined([&] { hop.wait(); });
                  compute_tiles([](int) {});
                }),
                " was waited for in MPI_Waitall on another thread before the next block was computed"));
  CHECK(
      is_told(twice([&] {
                Hop hop;
                hop.start();
                joined([&] {
                  while (!hop.test()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                });
                compute_tiles([](int) {});
              }),
              " was waited for with one MPI_Testall after another on another thread before the next block"));
  CHECK(is_told(twice([] {
                  std::thread thread(blocking_hop);
                  compute_tiles([&](int tile) {
                    if (tile == 1) thread.join();
                  });
                }),
                " was waited for on another thread between two tiles of a block"));
  CHECK(is_told(twice([] {
                  std::thread thread;
                  compute_tiles([&](int tile) {
                    if (tile == 1) thread = std::thread(blocking_hop);
                  });
                  thread.join();
                }),
                before_a_block));
  CHECK(is_told(play(
                    [] {
                      std::thread([] {
                        for (int i = 0; i < 2; ++i) {
                          blocking_hop();
                          compute_tiles([](int) {});
                        }
                      }).join();
                    },
                    delayed),
                before_a_block));
}

/// A worker that stays, as long as it is not told to end.
class Worker {
 public:
  ~Worker() {
    give(nullptr);
    thread_.join();
  }
  void give(std::function<void()> job) {
    const std::lock_guard guard(mutex_);
    job_ = std::move(job);
    is_idle_ = false;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_idle_; });
  }

 private:
  void work() {
    for (std::unique_lock lock(mutex_);;) {
      changed_.wait(lock, [&] { return !is_idle_; });
      if (!job_) return;
      lock.unlock();
      job_();
      lock.lock();
      is_idle_ = true;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;
  bool is_idle_ = true;
  std::thread thread_{[this] { work(); }};
};

/// A thread need not be quick, neither to begin nor to go on, and the last hop has nothing to hide behind.
void test_threads_that_transfer_beside_a_block() {
  const auto two_hops = [] {
    blocking_hop();
    blocking_hop();
  };
  CHECK(twice([&] {
          std::thread thread(two_hops);
          compute_tiles([](int) {}, 1);
          thread.join();
        }).report.facts.empty());
  CHECK(twice([] {
          Hop hop;
          hop.start();
          std::thread thread([&] {
            while (!hop.test()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          });
          compute_tiles([](int) {});
          thread.join();
        }).report.facts.empty());
  CHECK(play(
            [&] {
              Worker worker;
              for (int i = 0; i < 2; ++i) {
                worker.give(two_hops);
                compute_tiles([](int) {}, 1);
                worker.wait();
              }
              worker.give(blocking_hop);
              worker.wait();
            },
            delayed)
            .report.facts.empty());
  CHECK(twice([] {
          Hop hop;
          hop.start();
          std::thread thread([] { compute_tiles([](int) {}); });
          hop.wait();
          thread.join();
        }).report.facts.empty());
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
  test_calls_that_make_no_progress();
  test_calls_that_are_not_spread();
  test_calls_that_ask_for_a_part();
  test_threads_make_progress_by_calls();
  test_threads_that_hide_nothing();
  test_threads_that_transfer_beside_a_block();
  test_computing_on_open_buffers();
  test_sending_what_has_not_arrived();
  test_a_rank_that_tests_while_it_computes_does_not_poll();
}

}  // namespace mpi_layer_tests
