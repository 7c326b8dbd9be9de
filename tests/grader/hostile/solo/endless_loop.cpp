// what: never ends
// graded: stuck in compute
// namespaces: stuck in compute
// user: stuck in compute
// none: stuck in compute
bool attack() {
  for (volatile int i = 0;;) i = 1;
}
