#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "../page_in_memory.hpp"
#include "mpi_layer/mpi_layer.hpp"

/// Tests of the MPI layer run under mpirun -n 3. Every check counts on every rank; the exit code is 0 when
/// all of them passed on all ranks.
namespace mpi_layer_tests {

using namespace course;
using namespace course::mpi_layer;

inline constexpr int ranks = 3;

/// What the ranks share: their pages, and the signals by which a test ends a deadlock that it provoked.
struct Shared {
  std::array<RankStatus, ranks> pages;
  std::atomic<int> rescues;  ///< so many deadlocks are to be ended
};

extern Shared* shared;
extern MPI_Comm comm;  ///< the cases' communicator; its ranks are in another order than the world's
extern int rank;
extern int next;
extern int previous;

void check(bool holds, const char* text, const char* file, int line);
#define CHECK(condition) mpi_layer_tests::check((condition), #condition, __FILE__, __LINE__)

/// Waits, at most a generous while, until `condition` holds; returns whether it does.
bool eventually(const std::function<bool()>& condition);

struct Played {
  Report report;
  std::string what;          ///< of the exception that ended the function
  bool was_invalid = false;  ///< it was a std::invalid_argument
  std::optional<Fact> told;  ///< by that exception, where the layer has thrown it
  bool has(const char* kind, const std::string& part = "") const;
  /// The first fact of this kind; one without a kind where there is none.
  Fact fact(const char* kind) const;
};

/// Plays one case on all ranks, as a player does.
Played play(const std::function<void()>& function, Options options = {.synchronous_sends = true});

/// Two looks at the same state, the second of which finds a deadlock that is proven.
bool find_proven(Deadlock& found);

/// Plays a function that stands still. Once rank 0 has found that proven, or given up, every rank's rescue
/// makes the missing calls, past the layer. What was found is told on rank 0 alone.
Deadlock provoke(const std::function<void()>& function, const std::function<void()>& rescue);

bool contains(const std::string& text, const std::string& part);

// Past the layer.
void send_byte(int to, int tag = 0);
void receive_byte(int from, int tag = 0);

void test_deadlocks();
void test_facts();
void test_traffic();
void test_right_programs();
void test_guarded_buffers();
void test_overlap();
void test_many_messages();
void test_many_messages_leave_nothing_on_the_heap();

}  // namespace mpi_layer_tests
