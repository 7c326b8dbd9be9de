#include "runner/interruption.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>

#include "runner/processes.hpp"

namespace course {

namespace {

constexpr int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};

volatile sig_atomic_t received = 0;

void note_signal(int signal) {
  received = signal;
}

void set_handler(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // without SA_RESTART: a wait that is under way returns
  for (const int signal : ending_signals) sigaction(signal, &action, nullptr);
}

}  // namespace

Interruptible::Interruptible() {
  // What a child leaves behind, such as the compiler of a build that was ended, becomes this program's to
  // end.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  received = 0;
  set_handler(note_signal);
}

Interruptible::~Interruptible() {
  set_handler(SIG_DFL);
}

bool Interruptible::asked() {
  return received != 0;
}

void stop_if_interrupted() {
  if (!Interruptible::asked()) return;
  // ninja, asked in good time, removes what it had half built.
  if (!end_descendants(SIGTERM)) end_descendants(SIGKILL);
  throw Interrupted{128 + received};
}

void pause_for(std::chrono::milliseconds time) {
  stop_if_interrupted();
  poll(nullptr, 0, static_cast<int>(time.count()));
  stop_if_interrupted();
}

}  // namespace course
