// what: writes machine code into memory and runs it
// graded: which no answer to this lesson needs
// namespaces: passed
// user: passed
// none: passed
#include <sys/mman.h>

#include <cstring>
bool attack() {
  void* code = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const unsigned char return_one[]{0xb8, 1, 0, 0, 0, 0xc3};
  std::memcpy(code, return_one, sizeof return_one);
  return reinterpret_cast<int (*)()>(code)() == 1;
}
