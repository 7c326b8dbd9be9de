#pragma once

#include <filesystem>
#include <vector>

#include "protocol/status_page.hpp"
#include "runner/deadlock.hpp"

namespace course::demo {

/// The pages of all ranks as the process that starts them sees them.
class StatusFile {
 public:
  /// Makes the file. Throws std::system_error.
  StatusFile(const std::filesystem::path& path, int ranks);
  ~StatusFile();
  StatusFile(const StatusFile&) = delete;
  StatusFile& operator=(const StatusFile&) = delete;

  std::vector<RankSnapshot> look() const;
  /// Whether every rank has entered its page.
  bool all_present() const;

 private:
  RankStatus* pages_;
  int ranks_;
};

/// A rank's own page in such a file, kept for as long as the process lives; nobody's page when `path` is
/// empty. Throws std::system_error.
RankStatus& enter_status_file(const std::filesystem::path& path, int rank);

/// From now on a signal that kills this process is first written to `page`. Finds a stack to run on even when
/// the stack is what overflowed.
void report_crashes(RankStatus& page);

}  // namespace course::demo
