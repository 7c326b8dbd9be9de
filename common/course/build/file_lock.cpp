#include "course/build/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <tuple>

#include "course/terminal/terminal.hpp"
#include "protocol/errors.hpp"
#include "runner/subprocess.hpp"

namespace course::program {

namespace {

constexpr std::chrono::minutes patience{15};
constexpr std::chrono::milliseconds retry_interval{100};

bool try_lock(int file) {
  while (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    // A file system without locks: two calls at once are then not kept apart.
    if (errno != EINTR) return true;
  }
  return true;
}

/// Leaves word of who holds it. That it fails is nobody's loss.
void sign(int file) {
  const std::string pid = std::to_string(getpid());
  if (ftruncate(file, 0) == 0) std::ignore = pwrite(file, pid.data(), pid.size(), 0);
}

/// "process 4711, ./course test --lesson 05", of what has signed; empty where that is not known.
std::string holder_of(const std::filesystem::path& path) {
  std::string pid, word, words;
  std::ifstream(path) >> pid;
  std::ifstream command("/proc/" + pid + "/cmdline");
  while (!pid.empty() && std::getline(command, word, '\0'))
    words += (words.empty() ? "" : " ") + std::filesystem::path(word).filename().string();
  return words.empty() ? "" : " (process " + pid + ", " + words + ")";
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path, const std::string& whom, bool may_wait) {
  std::error_code ignored;  // opening says more
  std::filesystem::create_directories(path.parent_path(), ignored);
  file_ = Descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (file_.get() < 0) {
    throw Unavailable("cannot write to " + path.parent_path().string() + " (" + std::strerror(errno) +
                      "): it must belong to you");
  }
  if (try_lock(file_.get())) {
    sign(file_.get());
    return;
  }
  if (!may_wait) throw WouldWait();
  complain("waiting for " + whom + holder_of(path));
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!try_lock(file_.get())) {
    if (std::chrono::steady_clock::now() > deadline)
      throw std::runtime_error(path.string() + " has been held for 15 minutes by another ./course");
    pause_for(retry_interval);
  }
  sign(file_.get());
}

}  // namespace course::program
