// what: looks up functions of the player's by name
// graded: which no answer to this lesson needs
// namespaces: should be
// user: should be
// none: should be
#include <dlfcn.h>
bool attack() {
  return dlsym(RTLD_DEFAULT, "_ZN6course12write_reportE") != nullptr;
}
