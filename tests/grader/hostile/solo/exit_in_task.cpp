// what: leaves from inside a task without a word
// graded: which no answer to this lesson needs
// namespaces: the process ended in the midst of the function
// user: the process ended in the midst of the function
// none: the process ended in the midst of the function
#include <unistd.h>
bool attack() {
  _exit(0);
}
