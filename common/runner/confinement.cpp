#include "runner/confinement.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <set>
#include <stdexcept>
#include <system_error>

#include "runner/descriptor.hpp"
#include "runner/subprocess.hpp"

namespace course {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

namespace {

constexpr std::array<const char*, 3> names{"none", "user", "namespaces"};
/// Users made up for submissions, far from those of the system and from each other's processes.
constexpr uid_t first_user = 1'000'000'000;
/// Rather than walk through a folder that somebody has filled with empty files.
constexpr int most_files = 20'000;

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

bool is_root() {
  return geteuid() == 0;
}

/// setpriv's part of a command line.
Words become(uid_t user) {
  return {"setpriv",
          "--reuid=" + std::to_string(user),
          "--regid=" + std::to_string(user),
          "--clear-groups",
          "--bounding-set=-all",
          "--inh-caps=-all",
          "--no-new-privs"};
}

bool succeeds(const Words& words) {
  return capture({.argv = words}).exit.code == 0;
}

/// bwrap's options for a place of the system's that confined code sees: a merged /usr has links elsewhere.
void show_system(Words& words, const fs::path& place) {
  std::error_code error;
  if (fs::is_symlink(place)) {
    append(words, {"--symlink", fs::read_symlink(place), place});
  } else if (fs::exists(place, error)) {
    append(words, {"--ro-bind", place, place});
  }
}

/// The folders above the given places, outermost first; bwrap would make them for root alone.
std::set<fs::path> parents_of(const std::vector<fs::path>& places) {
  std::set<fs::path> all;
  for (const fs::path& place : places) {
    for (fs::path up = place.parent_path(); up != up.root_path(); up = up.parent_path()) all.insert(up);
  }
  return all;
}

std::int64_t bytes_under(const fs::path& folder) {
  std::int64_t bytes = 0;
  int files = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    struct stat status {};
    if (lstat(entry->path().c_str(), &status) == 0) bytes += status.st_blocks * 512;
    if (++files > most_files) return std::numeric_limits<std::int64_t>::max();
  }
  return bytes;
}

}  // namespace

std::string to_string(Isolation isolation) {
  return names.at(static_cast<std::size_t>(isolation));
}

Isolation isolation_named(const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    throw std::invalid_argument("the isolation is namespaces, user or none, not '" + name + "'");
  return static_cast<Isolation>(found - names.begin());
}

std::string obstacle(Isolation isolation) {
  if (isolation == Isolation::None) return "";
  if (isolation == Isolation::User && !is_root()) return "only root can give code a user of its own";
  const Confinement trial(isolation, {});
  if (succeeds(trial.wrap({"true"}, {}, {}))) return "";
  if (isolation == Isolation::User) return "setpriv cannot change the user here";
  if (!succeeds({"bwrap", "--version"})) return "bwrap is not installed (Debian: bubblewrap)";
  return why_no_namespaces(capture({.argv = trial.wrap({"true"}, {}, {})}).first_line(), is_root(),
                           "/proc/sys");
}

std::string why_no_namespaces(const std::string& words, bool as_root, const fs::path& settings) {
  struct Setting {
    const char *name, *forbids, *cure;
  };
  constexpr std::array<Setting, 3> known{{
      {"kernel.apparmor_restrict_unprivileged_userns", "1",
       "AppArmor forbids it to programs without a profile, as Ubuntu has it from 23.10 on. Either give bwrap "
       "a "
       "profile (docs/grading.md has it), or let every program: sudo sysctl "
       "kernel.apparmor_restrict_unprivileged_userns=0"},
      {"kernel.unprivileged_userns_clone", "0", "sudo sysctl kernel.unprivileged_userns_clone=1"},
      {"user.max_user_namespaces", "0", "sudo sysctl user.max_user_namespaces=10000"},
  }};
  const std::string forbidden = "bwrap may not make namespaces here (" + words + "): ";
  for (const Setting& setting : known) {
    std::string path = setting.name, value;
    std::ranges::replace(path, '.', '/');
    // They forbid it ordinary users: what forbids it root is a container.
    if (!as_root && std::ifstream(settings / path) >> value && value == setting.forbids)
      return fmt::format("{}{} is {}. {}", forbidden, setting.name, value, setting.cure);
  }
  return forbidden + "a container or the system's settings forbid it";
}

Isolation strongest_isolation() {
  for (const Isolation isolation : {Isolation::Namespaces, Isolation::User}) {
    if (obstacle(isolation).empty()) return isolation;
  }
  return Isolation::None;
}

Confinement::Confinement(Isolation isolation, const Limits& limits, std::optional<uid_t> user)
    : isolation_(isolation), limits_(limits), user_(geteuid()) {
  if (isolation != Isolation::None && is_root()) {
    user_ = user.value_or(first_user + static_cast<uid_t>(getpid()));
  }
}

Words Confinement::namespaces(const Room& room) const {
  Words words{"bwrap",         "--unshare-pid",        "--unshare-net",     "--unshare-ipc",
              "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent", "--new-session"};
  if (is_root()) {
    append(words, {"--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"});
  } else {
    words.push_back("--unshare-user");
  }
  std::vector<fs::path> places{"/etc/openmpi", "/etc/alternatives", "/etc/ld.so.cache", "/sys/devices"};
  const std::vector<fs::path> system{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"};
  append(words, {"--proc", "/proc", "--dev", "/dev"});
  const std::string room_for_files = std::to_string(limits_.written_bytes);
  for (const char* folder : {"/tmp", "/dev/shm"}) {
    append(words, {"--perms", "1777", "--size", room_for_files, "--tmpfs", folder});
  }
  for (const fs::path& place : system) show_system(words, place);
  places.insert(places.end(), room.readable.begin(), room.readable.end());
  std::vector<fs::path> all = places;
  if (!room.writable.empty()) all.push_back(room.writable);
  for (const fs::path& parent : parents_of(all)) {
    const bool shown = parent.string().starts_with("/usr/") || parent == "/usr" || parent == "/tmp" ||
                       parent == "/dev" || parent == "/dev/shm";
    if (!shown) append(words, {"--perms", "0755", "--dir", parent});
  }
  for (const fs::path& place : places) append(words, {"--ro-bind-try", place, place});
  if (!room.writable.empty()) append(words, {"--bind", room.writable, room.writable});
  words.push_back("--");
  return words;
}

Words Confinement::wrap(const Words& command, const std::map<std::string, std::string>& environment,
                        const Room& room) const {
  Words words;
  if (isolation_ == Isolation::Namespaces) words = namespaces(room);
  if (isolation_ != Isolation::None && is_root()) append(words, become(user_));
  append(words, {"prlimit", "--core=0", fmt::format("--fsize={}", limits_.file_bytes),
                 fmt::format("--data={}", limits_.memory_bytes), fmt::format("--cpu={:.0f}", limits_.cpu_s)});
  // Counted by user: without one of its own, everything else that this user runs would count.
  if (isolation_ != Isolation::None) words.push_back(fmt::format("--nproc={}", limits_.processes));
  const std::string home = room.writable.empty() ? "/tmp" : room.writable.string();
  append(words, {"env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "HOME=" + home,
                 "TMPDIR=" + home});
  for (const auto& [name, value] : environment) words.push_back(name + "=" + value);
  append(words, command);
  return words;
}

void Confinement::hand_over(const fs::path& folder) const {
  if (user_ == geteuid()) return;
  const auto give = [&](const fs::path& path) {
    if (lchown(path.c_str(), user_, user_) != 0) throw_errno("cannot give away " + path.string());
  };
  give(folder);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) give(entry.path());
}

std::optional<std::string> Confinement::exceeded(pid_t starter, const fs::path& writable) const {
  std::int64_t resident = resident_bytes(starter);
  for (const pid_t pid : descendants(starter)) resident += resident_bytes(pid);
  if (resident > limits_.memory_bytes) {
    return fmt::format("it held more than {} MiB of memory", limits_.memory_bytes >> 20);
  }
  if (bytes_under(writable) > limits_.written_bytes) {
    return fmt::format("it wrote more than {} MiB of files", limits_.written_bytes >> 20);
  }
  return std::nullopt;
}

void Confinement::sweep(const fs::path& writable) const {
  if (isolation_ != Isolation::User) return;
  end_all(SIGKILL, [&] { return processes_of(user_); });
  for (const char* folder : {"/dev/shm", "/tmp", "/var/tmp"}) {
    std::error_code ignored;
    for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
         entry.increment(ignored)) {
      struct stat status {};
      if (entry->path() == writable || lstat(entry->path().c_str(), &status) != 0 || status.st_uid != user_)
        continue;
      std::error_code gone;
      fs::remove_all(entry->path(), gone);
    }
  }
}

}  // namespace course
