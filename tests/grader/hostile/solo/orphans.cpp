// what: leaves grandchildren behind that outlive everything, and is right otherwise
// graded: which no answer to this lesson needs
// namespaces: passed
// user: passed
// none: passed
#include <sys/prctl.h>
#include <unistd.h>
bool attack() {
  if (fork() == 0) {
    setsid();
    prctl(PR_SET_NAME, "course-orphan");
    if (fork() == 0) sleep(100000);
    sleep(100000);
  }
  return true;
}
