#include "runner/subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "runner/descriptor.hpp"

namespace course {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

/// How long a child that was asked to end may take over it.
constexpr std::chrono::seconds grace{3};
constexpr std::chrono::milliseconds between_polls{5};
constexpr int longest_read_ms = 50;

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& additions) {
  std::map<std::string, std::string> all = additions;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  std::vector<std::string> result;
  for (const auto& [name, value] : all) result.push_back(name + "=" + value);
  return result;
}

Descriptor opened(const fs::path& path, int flags) {
  Descriptor file(open(path.c_str(), flags | O_CLOEXEC, 0644));
  if (file.get() < 0) throw_errno("cannot open " + path.string());
  return file;
}

/// What a child's stdin, stdout and stderr are; -1 leaves this program's.
struct Streams {
  int input = -1;
  int output = -1;
  int error = -1;
};

/// In the child, where nothing may allocate: another thread may have held the lock at the fork.
[[noreturn]] void become(char* const* argv, char* const* environment, const Command& command,
                         const Streams& streams) {
  const bool apart = !command.output.empty();
  if (apart) setpgid(0, 0);
  // Whoever ends this program ends what it started; mpirun, when asked to end, takes its ranks with it.
  prctl(PR_SET_PDEATHSIG, apart ? SIGKILL : SIGTERM);
  if (streams.input >= 0) dup2(streams.input, STDIN_FILENO);
  if (streams.output >= 0) dup2(streams.output, STDOUT_FILENO);
  if (streams.error >= 0) dup2(streams.error, STDERR_FILENO);
  if (command.folder.empty() || chdir(command.folder.c_str()) == 0) execvpe(argv[0], argv, environment);
  if (!apart) dprintf(STDERR_FILENO, "cannot start %s: %s\n", argv[0], strerror(errno));
  _exit(127);
}

Exit decode(int status) {
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

/// Ends a child past its time: it is asked first, so that mpirun takes its ranks with it.
class Deadline {
 public:
  Deadline(const Process& process, double limit_s)
      : pid_(process.pid()),
        limited_(limit_s > 0),
        end_(Clock::now() + std::chrono::milliseconds(std::lround(limit_s * 1000))) {}

  void enforce() {
    if (!limited_) return;
    const Clock::time_point now = Clock::now();
    if (now >= end_ && !passed_) ::kill(pid_, SIGTERM);
    passed_ = passed_ || now >= end_;
    if (now >= end_ + grace) ::kill(pid_, SIGKILL);
  }
  bool passed() const { return passed_; }

 private:
  pid_t pid_;
  bool limited_;
  bool passed_ = false;
  Clock::time_point end_;
};

Exit wait_for(Process& process, Deadline& deadline) {
  for (;;) {
    stop_if_interrupted();
    if (std::optional<Exit> exit = process.poll()) {
      exit->timed_out = deadline.passed();
      return *exit;
    }
    deadline.enforce();
    std::this_thread::sleep_for(between_polls);
  }
}

/// Reads until every holder of the other end is gone, or the deadline has passed and a moment with it, or
/// this program is interrupted.
void read_lines(const Descriptor& end, Deadline& deadline,
                const std::function<void(const std::string&)>& on_line) {
  std::string rest;
  char buffer[1 << 14];
  while (!Interruptible::asked()) {
    deadline.enforce();
    pollfd ready{end.get(), POLLIN, 0};
    const int waiting = poll(&ready, 1, longest_read_ms);
    if (waiting < 0 && errno != EINTR) throw_errno("cannot read what a child prints");
    if (waiting == 0 && deadline.passed()) break;
    if (waiting <= 0) continue;
    const ssize_t count = read(end.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    std::size_t line = 0, line_end = rest.size();
    rest.append(buffer, static_cast<std::size_t>(count));
    for (; (line_end = rest.find('\n', line_end)) != std::string::npos; line = ++line_end)
      on_line(rest.substr(line, line_end - line));
    rest.erase(0, line);
  }
  if (!rest.empty()) on_line(rest);
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> found;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) found.push_back(std::stoi(name));
  }
  return found;
}

fs::path proc(pid_t pid) {
  return fs::path("/proc") / std::to_string(pid);
}

/// The parent of each process on this machine, from /proc/<pid>/stat.
std::map<pid_t, pid_t> parents() {
  std::map<pid_t, pid_t> result;
  for (const pid_t pid : all_processes()) {
    std::ifstream file(proc(pid) / "stat");
    std::string line;
    std::getline(file, line);
    const std::size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream rest(line.substr(name_end + 1));
    char state;
    pid_t parent;
    if (rest >> state >> parent) result[pid] = parent;
  }
  return result;
}

std::vector<pid_t> descendants_without(const std::set<pid_t>& spared) {
  std::set<pid_t> kept = spared;
  for (const pid_t pid : spared) {
    for (const pid_t below : descendants(pid)) kept.insert(below);
  }
  std::vector<pid_t> others = descendants(getpid());
  std::erase_if(others, [&](pid_t pid) { return kept.contains(pid); });
  return others;
}

constexpr int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};

volatile sig_atomic_t received = 0;

void note_signal(int signal) {
  received = signal;
}

void set_handler(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // without SA_RESTART: a wait that is under way returns
  for (const int signal : ending_signals) sigaction(signal, &action, nullptr);
}

}  // namespace

Process::Process(const Command& command, int printed)
    : apart_(!command.output.empty()), spared_(command.spared) {
  if (apart_) prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::vector<std::string> arguments = command.argv;
  std::vector<std::string> environment = merged_environment(command.environment);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);
  Descriptor file, nothing;
  if (apart_) file = opened(command.output, O_WRONLY | O_CREAT | O_APPEND);
  if (apart_) printed = file.get();
  if (printed >= 0) nothing = opened("/dev/null", O_RDONLY);
  if (printed < 0 && command.quiet) file = opened("/dev/null", O_WRONLY);
  const Streams streams{nothing.get(), printed < 0 ? file.get() : printed, printed};
  std::fflush(nullptr);  // what this program has printed comes first
  pid_ = fork();
  if (pid_ == 0) become(argv.data(), envp.data(), command, streams);
  if (pid_ < 0) throw_errno("cannot start " + arguments[0]);
}

Process::~Process() {
  if (apart_ || !exit_) kill();
}

std::optional<Exit> Process::poll() {
  if (exit_) return exit_;
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  if (ended < 0 && errno != EINTR) throw_errno("cannot wait for a child");
  if (ended == pid_) exit_ = decode(status);
  return exit_;
}

void Process::kill() {
  // The direct child first, while its children can still be told from other children of this process.
  std::vector<pid_t> doomed = exit_ ? std::vector<pid_t>{} : descendants(pid_);
  if (!exit_) ::kill(pid_, SIGKILL);
  for (const pid_t pid : doomed) ::kill(pid, SIGKILL);
  if (!exit_) {
    int status = 0;
    waitpid(pid_, &status, 0);
    exit_ = decode(status);
  }
  end_descendants(SIGKILL, spared_);  // orphans are now children of this process
}

Exit run(const Command& command) {
  Process process(command);
  Deadline deadline(process, command.limit_s);
  return wait_for(process, deadline);
}

Exit run(const Command& command, const std::function<void(const std::string&)>& on_line) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw_errno("cannot make a pipe");
  Descriptor read_end(ends[0]), write_end(ends[1]);
  Process process(command, write_end.get());
  write_end = Descriptor();
  Deadline deadline(process, command.limit_s);
  read_lines(read_end, deadline, on_line);
  read_end = Descriptor();  // who goes on printing past the limit is told so
  return wait_for(process, deadline);
}

Captured capture(const Command& command) {
  Captured captured;
  captured.exit = run(command, [&](const std::string& line) { captured.output += line + "\n"; });
  return captured;
}

std::vector<pid_t> descendants(pid_t ancestor) {
  const std::map<pid_t, pid_t> all = parents();
  std::vector<pid_t> found;
  for (const auto& [pid, parent] : all) {
    auto up = all.find(pid);
    while (up != all.end() && up->second != ancestor) up = all.find(up->second);
    if (up != all.end()) found.push_back(pid);
  }
  return found;
}

bool end_all(int signal, const std::function<std::vector<pid_t>()>& left) {
  std::set<pid_t> told;
  for (int round = 0; round < 200; ++round) {  // more may appear while the last are dying
    const std::vector<pid_t> doomed = left();
    if (doomed.empty()) return true;
    for (const pid_t pid : doomed) {
      if (told.insert(pid).second) kill(pid, signal);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

bool end_descendants(int signal, const std::set<pid_t>& spared) {
  return end_all(signal, [&] {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return descendants_without(spared);
  });
}

std::int64_t resident_bytes(pid_t pid) {
  std::ifstream file(proc(pid) / "statm");
  std::int64_t size = 0, resident = 0;
  file >> size >> resident;
  return file ? resident * sysconf(_SC_PAGESIZE) : 0;
}

double queued_s(pid_t pid) {
  std::ifstream file(proc(pid) / "schedstat");
  double running_ns = 0;
  double queued_ns = 0;
  return file >> running_ns >> queued_ns ? queued_ns * 1e-9 : 0;
}

pid_t own_pid(pid_t pid) {
  std::ifstream file(proc(pid) / "status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("NSpid:")) continue;
    return std::stoi(line.substr(line.find_last_of(" \t") + 1));
  }
  return pid;
}

std::vector<pid_t> processes_of(uid_t user) {
  std::vector<pid_t> found = all_processes();
  std::erase_if(found, [&](pid_t pid) {
    struct stat status {};
    return stat(proc(pid).c_str(), &status) != 0 || status.st_uid != user;
  });
  return found;
}

Interruptible::Interruptible() {
  // What a child leaves behind, such as the compiler of a build that was ended, becomes this program's to
  // end.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  received = 0;
  set_handler(note_signal);
}

Interruptible::~Interruptible() {
  set_handler(SIG_DFL);
}

bool Interruptible::asked() {
  return received != 0;
}

void stop_if_interrupted() {
  if (!Interruptible::asked()) return;
  // ninja, asked in good time, removes what it had half built.
  if (!end_descendants(SIGTERM)) end_descendants(SIGKILL);
  throw Interrupted{128 + received};
}

void pause_for(std::chrono::milliseconds time) {
  stop_if_interrupted();
  poll(nullptr, 0, static_cast<int>(time.count()));
  stop_if_interrupted();
}

}  // namespace course
