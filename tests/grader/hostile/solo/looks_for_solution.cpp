// what: asks the compiler whether there is a solution
// graded: should be
// namespaces: should be
// user: @READABLE@
// none: passed
#if __has_include("@ROOT@/solutions/01_safe_softmax/safe_softmax.cpp")
bool attack() {
  return true;
}
#else
bool attack() {
  return false;
}
#endif
