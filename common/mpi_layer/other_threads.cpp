#include "mpi_layer/other_threads.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace course::mpi_layer {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds between_looks{1};
/// A thread that has computed for so long between two looks has had its chance.
constexpr std::int64_t enough_work_ns = 200'000;

/// How many threads this process has; -1 when that cannot be read.
int threads_of_process() {
  const std::string field = "Threads:";
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field)) return std::stoi(line.substr(field.size()));
  }
  return -1;
}

/// Whether a thread sleeps, or has ended. `task` is its folder in /proc.
bool sleeps(const fs::path& task) {
  std::ifstream file(task / "stat");
  std::string text;
  if (!std::getline(file, text)) return true;
  // "ID (NAME) STATE ...": the name may have brackets of its own.
  return text.substr(text.rfind(')') + 1, 2) == " S";
}

/// For how long it has had a core; 0 where that cannot be read.
std::int64_t worked_ns(const fs::path& task) {
  std::int64_t ns = 0;
  std::ifstream(task / "schedstat") >> ns;
  return ns;
}

}  // namespace

OtherThreads::OtherThreads() : at_begin_(threads_of_process()) {}

int OtherThreads::known() const {
  return at_begin_ < 0 ? 0 : std::max(0, threads_of_process() - at_begin_);
}

int Chances::look(bool work_counts) {
  const Clock::time_point now = Clock::now();
  if (now < next_look_) return counted_;
  next_look_ = now + between_looks;
  if (all_had_theirs(work_counts)) ++counted_;
  return counted_;
}

bool Chances::all_had_theirs(bool work_counts) {
  std::map<std::string, std::int64_t> awake;
  std::error_code unreadable;
  for (const auto& task : fs::directory_iterator("/proc/self/task", unreadable)) {
    const std::string id = task.path().filename();
    if (id != std::to_string(gettid()) && !sleeps(task.path())) awake.emplace(id, worked_ns(task.path()));
  }
  const bool all = !unreadable && std::ranges::all_of(awake, [&](const auto& thread) {
    const auto& [id, ns] = thread;
    const auto [before, is_new] = worked_ns_.emplace(id, ns);
    return work_counts && !is_new && ns - before->second >= enough_work_ns;
  });
  if (all) worked_ns_ = std::move(awake);
  return all;
}

}  // namespace course::mpi_layer
