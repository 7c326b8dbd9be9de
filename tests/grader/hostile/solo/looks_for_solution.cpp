// what: asks the compiler whether there is a solution
// graded: may find another answer in a grade
// namespaces: may find another answer in a grade
// user: may find another answer in a grade
// none: may find another answer in a grade
#if __has_include("@ROOT@/solutions/01_safe_softmax/safe_softmax.cpp")
bool attack() {
  return true;
}
#else
bool attack() {
  return false;
}
#endif
