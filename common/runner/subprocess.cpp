#include "runner/subprocess.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <system_error>
#include <thread>

#include "runner/processes.hpp"

namespace course {

namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& additions) {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    all[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : additions) all[name] = value;
  std::vector<std::string> result;
  for (const auto& [name, value] : all) result.push_back(name + "=" + value);
  return result;
}

Exit decode(int status) {
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
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

}  // namespace

bool end_descendants(int signal, const std::set<pid_t>& spared) {
  std::set<pid_t> told;
  for (int round = 0; round < 200; ++round) {  // more may appear while the last are dying
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    const std::vector<pid_t> doomed = descendants_without(spared);
    if (doomed.empty()) return true;
    for (const pid_t pid : doomed) {
      if (told.insert(pid).second) ::kill(pid, signal);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

Process::Process(const Command& command) : spared_(command.spared) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::vector<std::string> arguments = command.argv;
  std::vector<std::string> environment = merged_environment(command.environment);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);
  const int output = open(command.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (output < 0)
    throw std::system_error(errno, std::generic_category(), "cannot write " + command.output.string());
  pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int input = open("/dev/null", O_RDONLY);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execvpe(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  close(output);
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "cannot start " + arguments[0]);
}

Process::~Process() {
  kill();
}

std::optional<Exit> Process::poll() {
  int status = 0;
  if (!exit_ && waitpid(pid_, &status, WNOHANG) == pid_) exit_ = decode(status);
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

}  // namespace course
