#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace course {

/// What keeps submitted code from the rest of the machine, from weakest to strongest.
enum class Isolation {
  None,        ///< limits on resources, nothing else
  User,        ///< also a user of its own, to whom nothing belongs; needs root
  Namespaces,  ///< also a file system, processes and a network of its own (bubblewrap)
};

/// "none", "user", "namespaces"
std::string to_string(Isolation isolation);
/// Throws std::invalid_argument that says which there are.
Isolation isolation_named(const std::string& name);

/// Why this machine cannot give it, found by trying; empty where it can.
std::string obstacle(Isolation isolation);
/// Why bwrap makes no namespaces, and what lets it.
/// @param words what it says itself
/// @param settings the folder of the kernel's settings, /proc/sys
std::string why_no_namespaces(const std::string& words, bool as_root, const std::filesystem::path& settings);
/// The strongest that this machine can give.
Isolation strongest_isolation();

/// What one start of submitted code may use.
struct Limits {
  double launch_limit_s = 120;
  double cpu_s = 240;                                    ///< of any one process
  std::int64_t memory_bytes = std::int64_t{2} << 30;     ///< resident, all its processes together
  std::int64_t file_bytes = std::int64_t{64} << 20;      ///< of any one file, its printed text too
  std::int64_t written_bytes = std::int64_t{512} << 20;  ///< of everything in the writable folder
  int processes = 192;                                   ///< threads count; mpirun and eight ranks take 50
};

/// What confined code sees beside the system's own programs and libraries.
struct Room {
  std::vector<std::filesystem::path> readable;
  std::filesystem::path writable;  ///< one folder: its temporary files, too
};

/// Starts commands such that they can neither read nor harm what is not theirs.
class Confinement {
 public:
  /// @param user to run as, where this process is root; nullopt: one that nobody else has
  Confinement(Isolation isolation, const Limits& limits, std::optional<uid_t> user = std::nullopt);

  Isolation isolation() const { return isolation_; }
  const Limits& limits() const { return limits_; }
  /// The user that confined code runs as.
  uid_t user() const { return user_; }

  /// The command line that runs `command` confined, with no environment but the given one and PATH, HOME,
  /// TMPDIR and LANG.
  std::vector<std::string> wrap(const std::vector<std::string>& command,
                                const std::map<std::string, std::string>& environment,
                                const Room& room) const;

  /// Gives a folder and all that is in it to user(). Throws std::system_error.
  void hand_over(const std::filesystem::path& folder) const;

  /// Which limit the descendants of `starter` or the writable folder exceed, in words.
  std::optional<std::string> exceeded(pid_t starter, const std::filesystem::path& writable) const;

  /// Ends whatever still runs as user() and removes what it left in folders that everybody may write to, but
  /// for `writable`. With namespaces nothing can be left; without a user of its own nothing can be told
  /// apart.
  void sweep(const std::filesystem::path& writable) const;

 private:
  std::vector<std::string> namespaces(const Room& room) const;

  Isolation isolation_;
  Limits limits_;
  uid_t user_;
};

}  // namespace course
