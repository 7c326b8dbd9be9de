// what: prints without end
// graded: signal 25
// namespaces: signal 25
// user: signal 25
// none: signal 25
#include <cstdio>
bool attack() {
  for (;;) std::puts("a line of text that is printed again and again, up to ten gigabytes of it and more");
}
