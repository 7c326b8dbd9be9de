#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "protocol/status_page.hpp"

/// What a player knows and tells of its own process.
namespace course {

/// This process's page in the file that the judge reads; nobody's where `path` is empty. It stays as long as
/// the process lives. Throws std::runtime_error with the path.
RankStatus& enter_page(const std::filesystem::path& path, int world_rank);

void set_phase(RankStatus& page, Phase phase);
/// The process is at the case of this place in the plan, whose function it has not called yet.
void begin_case(RankStatus& page, std::size_t index);
/// What the function threw, or how far it is.
void set_text(RankStatus& page, const std::string& text);
/// The fact that the exception tells.
void set_told(RankStatus& page, Fact told);

/// Tells the judge that submitted code may run from now on (protocol/status_page.hpp). Whichever rank comes
/// first removes the seal.
void break_seal(const std::filesystem::path& status);

/// With sanitizers: from now on this process prints its stderr, where they speak, to a file of its own beside
/// the status file, if that is one.
void keep_stderr(const std::filesystem::path& status);

/// From now on a signal that kills this process is first written to the page. A crash must find a stack to
/// run on even when the stack is what overflowed.
void report_crashes(RankStatus& page);

/// Measures the process's peak memory. Made before the process hides itself from its like: from then on the
/// kernel opens /proc/self/clear_refs to nobody.
class MemoryMeter {
 public:
  MemoryMeter();

  /// Starts a measurement: free heap goes back to the system, large allocations get mappings of their own,
  /// and the kernel's high-water mark is reset. Returns false where the kernel does not allow it.
  bool reset();
  /// The most bytes that have been resident since the reset beyond those that were then (VmHWM), without
  /// memory that is shared with other processes.
  std::int64_t peak() const;

 private:
  std::ofstream clear_;
  std::int64_t before_ = 0;
  std::int64_t shared_before_ = 0;
};

/// A field of /proc/self/status, "VmHWM:", in bytes; -1 where it is not there.
std::int64_t status_bytes(const std::string& field);

/// Tells the machines of a job apart: the running kernel's own id, or the host's name.
std::string host_id();

}  // namespace course
