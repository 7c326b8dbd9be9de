// what: opens the solution while it runs
// graded: which no answer to this lesson needs
// namespaces: should be
// user: @READABLE@
// none: passed
#include <fstream>
bool attack() {
  return std::ifstream("@ROOT@/solutions/01_safe_softmax/safe_softmax.cpp").good();
}
