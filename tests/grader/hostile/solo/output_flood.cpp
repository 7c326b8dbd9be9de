// what: prints without end
// graded: printed more than 64 MiB
// namespaces: printed more than 64 MiB
// user: printed more than 64 MiB
// none: printed more than 64 MiB
#include <cstdio>
bool attack() {
  for (;;) std::puts("a line of text that is printed again and again, up to ten gigabytes of it and more");
}
