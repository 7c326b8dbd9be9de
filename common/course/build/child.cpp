#include "course/build/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "runner/interruption.hpp"

namespace course::program {

namespace {

using Clock = std::chrono::steady_clock;

/// How long a child that was asked to end may take over it.
constexpr std::chrono::seconds grace{3};
constexpr std::chrono::milliseconds poll_interval{5};

/// What a child's stdin, stdout and stderr are; -1 leaves this program's.
struct Streams {
  int input = -1;
  int output = -1;
  int error = -1;
};

[[noreturn]] void become(const ChildCommand& command, const Streams& streams) {
  std::vector<std::string> words = command.argv;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  for (const auto& [name, value] : command.environment) setenv(name.c_str(), value.c_str(), 1);
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // whoever ends this program ends what it started
  if (streams.input >= 0) dup2(streams.input, STDIN_FILENO);
  if (streams.output >= 0) dup2(streams.output, STDOUT_FILENO);
  if (streams.error >= 0) dup2(streams.error, STDERR_FILENO);
  if (command.folder.empty() || chdir(command.folder.c_str()) == 0) execvp(argv[0], argv.data());
  dprintf(STDERR_FILENO, "cannot start %s: %s\n", argv[0], std::generic_category().message(errno).c_str());
  _exit(127);
}

pid_t start(const ChildCommand& command, const Streams& streams) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) become(command, streams);
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "cannot start " + command.argv[0]);
  return pid;
}

int exit_code(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Ends a child past its time: it is asked first, so that mpirun takes its ranks with it.
class Deadline {
 public:
  Deadline(pid_t pid, double limit_s)
      : pid_(pid),
        limited_(limit_s > 0),
        end_(Clock::now() + std::chrono::milliseconds(std::lround(limit_s * 1000))) {}

  void enforce() {
    if (!limited_) return;
    const Clock::time_point now = Clock::now();
    if (now >= end_ && !passed_) kill(pid_, SIGTERM);
    passed_ = passed_ || now >= end_;
    if (now >= end_ + grace) kill(pid_, SIGKILL);
  }
  bool limited() const { return limited_; }
  bool passed() const { return passed_; }

 private:
  pid_t pid_;
  bool limited_;
  bool passed_ = false;
  Clock::time_point end_;
};

ChildExit wait_for(pid_t pid, Deadline& deadline) {
  int status = 0;
  const bool looks_up = deadline.limited() || Interruptible::in_force();
  for (;;) {
    stop_if_interrupted();
    const pid_t ended = waitpid(pid, &status, looks_up ? WNOHANG : 0);
    if (ended == pid) return {exit_code(status), deadline.passed()};
    if (ended < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "cannot wait for a child");
    }
    if (ended == 0) {
      deadline.enforce();
      std::this_thread::sleep_for(poll_interval);
    }
  }
}

int dev_null(int flags) {
  const int file = open("/dev/null", flags | O_CLOEXEC);
  if (file < 0) throw std::system_error(errno, std::generic_category(), "cannot open /dev/null");
  return file;
}

/// Cuts bytes into lines.
class LineCutter {
 public:
  explicit LineCutter(const std::function<void(const std::string&)>& on_line) : on_line_(on_line) {}
  ~LineCutter() = default;

  void add(const char* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (bytes[i] == '\n') {
        on_line_(line_);
        line_.clear();
      } else {
        line_ += bytes[i];
      }
    }
  }
  void finish() {
    if (!line_.empty()) on_line_(line_);
  }

 private:
  const std::function<void(const std::string&)>& on_line_;
  std::string line_;
};

/// Reads until every holder of the other end is gone, or the deadline has passed and a moment with it, or
/// this program is interrupted.
void read_lines(int pipe_end, Deadline& deadline, const std::function<void(const std::string&)>& on_line) {
  LineCutter lines(on_line);
  char buffer[1 << 14];
  pollfd ready{pipe_end, POLLIN, 0};
  const bool looks_up = deadline.limited() || Interruptible::in_force();
  while (!Interruptible::asked()) {
    deadline.enforce();
    const int waiting = poll(&ready, 1, looks_up ? 50 : -1);
    if (waiting < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "cannot read what a child prints");
    }
    if (waiting == 0 && deadline.passed()) break;
    if (waiting <= 0) continue;
    const ssize_t count = read(pipe_end, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    lines.add(buffer, static_cast<std::size_t>(count));
  }
  lines.finish();
}

}  // namespace

ChildExit run(const ChildCommand& command) {
  const int nowhere = command.quiet ? dev_null(O_WRONLY) : -1;
  const pid_t pid = start(command, {-1, nowhere, -1});
  if (nowhere >= 0) close(nowhere);
  Deadline deadline(pid, command.limit_s);
  return wait_for(pid, deadline);
}

ChildExit run(const ChildCommand& command, const std::function<void(const std::string&)>& on_line) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  const int nothing = dev_null(O_RDONLY);
  const pid_t pid = start(command, {nothing, ends[1], ends[1]});
  close(nothing);
  close(ends[1]);
  Deadline deadline(pid, command.limit_s);
  read_lines(ends[0], deadline, on_line);
  close(ends[0]);
  return wait_for(pid, deadline);
}

Captured capture(const ChildCommand& command) {
  Captured captured;
  captured.exit = run(command, [&](const std::string& line) { captured.output += line + "\n"; });
  return captured;
}

}  // namespace course::program
