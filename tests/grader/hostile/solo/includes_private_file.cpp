// what: has a private file printed by the compiler's error messages
// graded: No such file
// user: Permission denied
// none: does not compile
#include "/etc/shadow"
bool attack() {
  return true;
}
