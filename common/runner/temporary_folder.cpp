#include "runner/temporary_folder.hpp"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>

#include "protocol/errors.hpp"

namespace course {

namespace {

/// Whether the file system of this place is mounted so that programs run from it.
bool runs_programs(const std::filesystem::path& place) {
  struct statvfs system {};
  return statvfs(place.c_str(), &system) != 0 || (system.f_flag & ST_NOEXEC) == 0;
}

/// Cases are many small files: memory is five times quicker than a disk. A container's /dev/shm may hold only
/// 64 MB.
std::filesystem::path parent_folder() {
  constexpr std::uintmax_t enough = std::uintmax_t{1} << 30;
  std::error_code error;
  const std::filesystem::space_info memory = std::filesystem::space("/dev/shm", error);
  const bool roomy =
      !error && memory.available >= enough && access("/dev/shm", W_OK) == 0 && runs_programs("/dev/shm");
  const char* asked = getenv("TMPDIR");
  if (asked == nullptr) return roomy ? "/dev/shm" : "/tmp";
  if (!std::filesystem::is_directory(asked, error))
    throw Unavailable(std::string("TMPDIR is ") + asked + ", which is " +
                      (std::filesystem::exists(asked, error) ? "no folder" : "not there") +
                      ": expected a folder for temporary files");
  return asked;
}

/// Nobody else's folders are named so: what a killed process has left is removed by name.
constexpr const char* mkdtemp_pattern = "ra-course.XXXXXX";
constexpr const char* made_names = "ra-course.??????";
/// Between making its folder and locking it a process has a moment in which it looks dead.
constexpr std::chrono::minutes youngest_leftover{1};

/// A folder that is locked for as long as this process has the returned file open; none when it cannot be.
Descriptor locked(const std::filesystem::path& folder, int operation) {
  Descriptor file(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return file.get() >= 0 && flock(file.get(), operation | LOCK_NB) == 0 ? std::move(file) : Descriptor();
}

bool is_old(const std::filesystem::path& folder) {
  std::error_code error;
  const auto changed = std::filesystem::last_write_time(folder, error);
  return !error && std::filesystem::file_time_type::clock::now() - changed > youngest_leftover;
}

/// Whether it has the name and the owner of a folder that this user's processes make.
bool may_be_ours(const std::filesystem::path& folder) {
  struct stat status {};
  return fnmatch(made_names, folder.filename().c_str(), 0) == 0 && lstat(folder.c_str(), &status) == 0 &&
         S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

/// Removes what processes that were killed have left: their locks went with them.
void remove_leftovers(const std::filesystem::path& parent) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!may_be_ours(entry->path()) || !is_old(entry->path())) continue;
    const Descriptor file = locked(entry->path(), LOCK_EX);
    std::error_code ignored;
    if (file.get() >= 0) std::filesystem::remove_all(entry->path(), ignored);
  }
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  const std::filesystem::path parent = parent_folder();
  remove_leftovers(parent);
  std::string pattern = parent / mkdtemp_pattern;
  if (mkdtemp(pattern.data()) == nullptr) {
    throw Unavailable("cannot make a folder for temporary files in " + parent.string() + " (" +
                      strerror(errno) + "): TMPDIR names another place");
  }
  path_ = pattern;
  lock_ = locked(path_, LOCK_SH);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TemporaryFolder::require_room(std::uintmax_t bytes) const {
  std::error_code unknown;
  const std::filesystem::space_info space = std::filesystem::space(path_, unknown);
  if (unknown || space.available >= bytes) return;
  throw Unavailable("the folder for temporary files, " + path_.parent_path().string() + ", has " +
                    std::to_string(space.available >> 10) + " KiB left, expected at least " +
                    std::to_string(bytes >> 10) + " KiB: TMPDIR names another place");
}

void TemporaryFolder::require_programs() const {
  if (runs_programs(path_)) return;
  throw Unavailable("the folder for temporary files, " + path_.parent_path().string() +
                    ", is on a file system that runs no programs (noexec): TMPDIR names another place");
}

}  // namespace course
