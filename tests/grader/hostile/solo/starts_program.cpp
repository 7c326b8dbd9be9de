// what: becomes another program
// graded: which no answer to this lesson needs
// namespaces: before the function returned|in the midst of the function
// user: before the function returned|in the midst of the function
// none: before the function returned|in the midst of the function
#include <unistd.h>
bool attack() {
  return execl("/bin/true", "true", static_cast<char*>(nullptr)) == 0;
}
