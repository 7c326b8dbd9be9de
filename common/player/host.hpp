#pragma once

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>

namespace course {

/// Seconds on this host's monotonic clock.
inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

/// Tells the machines of a job apart: the running kernel's own id, or the host's name.
inline std::string host_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  return std::getline(file, id) ? id : host_name();
}

}  // namespace course
