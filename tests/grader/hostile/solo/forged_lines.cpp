// what: prints what a judge or GoogleTest would print of a pass
// graded: should be
// namespaces: should be
// user: should be
// none: should be
#include <cstdio>
bool attack() {
  std::puts(
      "PASS  lesson01.1\n[  PASSED  ] 2 tests.\n{\"tests\": [{\"task\": \"1\", \"status\": \"passed\"}]}");
  std::fputs("PASS  lesson01.1\n", stderr);
  return false;
}
