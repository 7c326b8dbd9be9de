// what: has a main of its own, and functions named like those of the C library, GoogleTest and MPI
// graded: should be
// namespaces: should be
// user: should be
// none: should be
extern "C" int puts(const char*) {
  return 0;
}
extern "C" int MPI_Send(const void*, int, void*, int, int, void*) {
  return 0;
}
namespace testing {
void InitGoogleTest(int*, char**) {}
}  // namespace testing
int main() {
  return 0;
}
bool attack() {
  return false;
}
