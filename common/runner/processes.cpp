#include "runner/processes.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>

namespace course {

namespace fs = std::filesystem;

namespace {

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

}  // namespace

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

}  // namespace course
