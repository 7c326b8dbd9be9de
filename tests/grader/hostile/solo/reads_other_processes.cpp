// what: opens the memory of every other process, among them judges and other ranks
// graded: which no answer to this lesson needs
// namespaces: should be
// user: should be
// none: passed|should be
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
bool attack() {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos || pid == std::to_string(getpid())) continue;
    if (open((entry.path() / "mem").c_str(), O_RDWR) >= 0) return true;
  }
  return false;
}
