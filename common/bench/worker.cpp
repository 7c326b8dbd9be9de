#include "bench/worker.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace course::bench {

namespace {

constexpr int patience_ms = 300'000;
constexpr std::chrono::milliseconds poll_interval{20};
constexpr int polls_before_kill = 250;

[[noreturn]] void become(std::vector<std::string> words, int channel) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  dup2(channel, STDIN_FILENO);
  dup2(channel, STDOUT_FILENO);
  execvp(argv[0], argv.data());
  dprintf(STDERR_FILENO, "cannot start %s: %s\n", argv[0], std::generic_category().message(errno).c_str());
  _exit(127);
}

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Worker::Worker(std::string name, const std::vector<std::string>& argv) : name_(std::move(name)) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("cannot make a pair of sockets");
  pid_ = fork();
  if (pid_ == 0) become(argv, ends[1]);
  close(ends[1]);
  channel_ = ends[0];
  if (pid_ < 0) {
    close(channel_);
    fail("cannot make a process");
  }
}

Worker::~Worker() {
  close(channel_);
  for (int polls = 0; waitpid(pid_, nullptr, WNOHANG) == 0; ++polls) {
    if (polls == polls_before_kill) kill(pid_, SIGTERM);
    if (polls == 2 * polls_before_kill) kill(pid_, SIGKILL);
    std::this_thread::sleep_for(poll_interval);
  }
}

void Worker::request(const std::string& line) {
  const std::string text = line + "\n";
  // A worker that has ended is told by its answer.
  if (send(channel_, text.data(), text.size(), MSG_NOSIGNAL) < 0 && errno != EPIPE)
    fail(("cannot write to " + name_).c_str());
}

double Worker::answer() {
  const std::string line = read_line();
  double number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc() || end != line.data() + line.size())
    throw std::runtime_error(name_ + " answered '" + line + "', expected a number");
  return number;
}

std::string Worker::read_line() {
  for (;;) {
    if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    pollfd waiting{channel_, POLLIN, 0};
    const int ready = poll(&waiting, 1, patience_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) throw std::runtime_error(name_ + " has not answered for five minutes");
    char buffer[256];
    const ssize_t count = read(channel_, buffer, sizeof buffer);
    if (count <= 0) throw std::runtime_error(name_ + " has ended; its last words are above");
    unread_.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace course::bench
