// what: overflows its stack
// graded: died of signal 11
// namespaces: died of signal 11
// user: died of signal 11
// none: died of signal 11
volatile char sink;
int deeper(int n) {
  volatile char room[1 << 16];
  room[0] = static_cast<char>(n);
  sink = room[0];
  return deeper(n + 1) + room[n % 100];
}
bool attack() {
  return deeper(0) != 0;
}
