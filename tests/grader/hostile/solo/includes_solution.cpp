// what: includes the solution
// graded: may not be included
// user: does not compile
// none: does not compile
#include "@ROOT@/solutions/01_safe_softmax/safe_softmax.cpp"
bool attack() {
  return true;
}
