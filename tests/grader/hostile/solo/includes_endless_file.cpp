// what: an include that never ends
// graded: does not compile
// none: does not compile
#include "/dev/zero"
bool attack() {
  return true;
}
