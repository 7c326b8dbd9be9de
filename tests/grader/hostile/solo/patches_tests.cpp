// what: opens the course's own test for writing
// graded: which no answer to this lesson needs
// namespaces: should be
// user: should be
// none: passed
#include <fcntl.h>
bool attack() {
  return open("@ROOT@/tests/01_safe_softmax/judge.cpp", O_RDWR) >= 0;
}
