#include "gpu/simulator/kernel/endless.hpp"

#include <dlfcn.h>
#include <sys/time.h>
#include <ucontext.h>

#include <csignal>
#include <stdexcept>

#include "gpu/simulator/kernel/fibers.hpp"
#include "gpu/simulator/memory/races.hpp"

namespace course::gpu {

namespace {

constexpr int ticks_a_second = 20;

struct Watched {
  std::uint64_t code_begin = 0, code_end = 0;  ///< of the kernel's source
  std::uint64_t resumes = 0, accesses = 0;     ///< at the last tick
  int ticks = 0;                               ///< since they changed
  std::uint64_t paused_at = 0;
};
Watched watched;
double patience_s = endless_after_s;

std::uint64_t instruction(const void* context) {
  const mcontext_t& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#ifdef __x86_64__
  return static_cast<std::uint64_t>(registers.gregs[REG_RIP]);
#else
  return registers.pc;
#endif
}

/// Interrupts the thread. What it leaves on its stack stays there, as it does of every thread that is
/// abandoned.
void tick(int, siginfo_t*, void* context) {
  if (now.resumes != watched.resumes || now.accesses != watched.accesses) {
    watched.resumes = now.resumes;
    watched.accesses = now.accesses;
    watched.ticks = 0;
    return;
  }
  // A case that is not checked counts no accesses.
  if (++watched.ticks < patience_s * ticks_a_second || !now.in_kernel || !now.checked) return;
  const std::uint64_t at = instruction(context);
  if (at < watched.code_begin || at >= watched.code_end) return;
  watched.paused_at = at;
  patience_s = next_endless_after_s;
  Fiber::pause();
}

void set_timer(int microseconds) {
  const itimerval timer{{0, microseconds}, {0, microseconds}};
  if (setitimer(ITIMER_VIRTUAL, &timer, nullptr) != 0)
    throw std::runtime_error("the simulated GPU cannot set a timer");
}

}  // namespace

EndlessWatch::EndlessWatch(const void* of_kernel) {
  struct sigaction action {};
  action.sa_sigaction = tick;
  // The handler may not return, and is to be called again all the same.
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
  dl_find_object object;
  void* const table = *static_cast<void* const*>(of_kernel);  // the class's virtual functions
  if (sigaction(SIGVTALRM, &action, nullptr) != 0 || _dl_find_object(table, &object) != 0)
    throw std::runtime_error("the simulated GPU cannot watch over a kernel");
  watched = {reinterpret_cast<std::uint64_t>(object.dlfo_map_start),
             reinterpret_cast<std::uint64_t>(object.dlfo_map_end)};
  set_timer(1'000'000 / ticks_a_second);
}

EndlessWatch::~EndlessWatch() {
  set_timer(0);
}

std::uint64_t EndlessWatch::paused_at() const {
  return watched.paused_at;
}

}  // namespace course::gpu
