#include "bench/worker.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace course::bench {

namespace {

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
  channel_ = fdopen(ends[0], "r");
  if (pid_ < 0) fail("cannot make a process");
  const timeval patience{300, 0};
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

Worker::~Worker() {
  std::fclose(channel_);
  for (int polls = 0; waitpid(pid_, nullptr, WNOHANG) == 0; ++polls) {
    if (polls == polls_before_kill) kill(pid_, SIGTERM);
    if (polls == 2 * polls_before_kill) kill(pid_, SIGKILL);
    std::this_thread::sleep_for(poll_interval);
  }
}

void Worker::request(const std::string& line) {
  // A worker that has ended is told by its answer.
  if (send(fileno(channel_), (line + "\n").c_str(), line.size() + 1, MSG_NOSIGNAL) < 0 && errno != EPIPE)
    fail(("cannot write to " + name_).c_str());
}

double Worker::answer() {
  std::string line;
  for (int c = 0; (c = std::getc(channel_)) != '\n'; line += static_cast<char>(c)) {
    if (c != EOF) continue;
    if (std::ferror(channel_) != 0 && errno == EAGAIN)
      throw std::runtime_error(name_ + " has not answered for five minutes");
    throw std::runtime_error(name_ + " has ended; its last words are above");
  }
  double number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error == std::errc() && end == line.data() + line.size()) return number;
  throw std::runtime_error(name_ + " answered '" + line + "', expected a number");
}

}  // namespace course::bench
