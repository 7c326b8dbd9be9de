#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <vector>

#include "runner/deadlock.hpp"
#include "runner/descriptor.hpp"
#include "runner/launcher.hpp"

/// The files of a launch that submitted code may write: reports and outputs, and the status pages.
namespace course {

/// A case's folder after its player has ended. Everything below `root` may have been made by submitted code:
/// it is opened without following links, and only regular files of `owner` with one name count.
struct PlayedFolder {
  std::filesystem::path root;  ///< a folder whose own place nobody but the judge could change
  std::filesystem::path name;  ///< the case's folder in it
  uid_t owner;
};

/// Whether a rank has written a report, whole or not.
bool has_report(const PlayedFolder& folder, int rank);

/// Throws std::runtime_error naming the file and what is wrong with it.
RankReport read_report(const PlayedFolder& folder, int rank);

/// The ranks' reports, those outputs that are asked for and, of a timed case, the ranks' times. Throws
/// std::runtime_error naming the file and what is wrong with it.
Outcome read_outcome(const PlayedFolder& folder, int ranks, const std::map<std::string, WantedOutput>& wanted,
                     bool timed = false);

/// Reads bytes of a rank's page, from `offset` on; what there is none of stays 0.
using ReadPage = std::function<void(void* bytes, std::size_t count, std::size_t offset)>;

/// Copies the page under its seqlock; retries while the rank is writing, and takes one that never stops
/// writing (killed halfway) for one that does not wait. Whatever the page holds, the copy is well formed:
/// enumerators are valid, and texts end and are UTF-8.
RankSnapshot snapshot(const ReadPage& read);

/// What can be seen of the ranks of one launch: the pages that its players keep up to date, or, of a player
/// that keeps none, the reports that it writes. Pages are read, not mapped: a player may cut the file short.
class WatchedRanks {
 public:
  /// Throws std::system_error when the file of the pages cannot be made.
  WatchedRanks(const std::filesystem::path& pages, const std::vector<PlayedFolder>& folders,
               const std::vector<std::vector<int>>& world_ranks, int world_size);

  /// By rank of the world.
  std::vector<RankSnapshot> look();

  /// The first case that some rank has not reported; as many as there are cases when all have.
  std::size_t first_unreported() const;

 private:
  std::vector<RankSnapshot> look_at_pages() const;
  std::vector<RankSnapshot> look_at_reports();
  bool all_reported(std::size_t index) const;

  Descriptor pages_;
  const std::vector<PlayedFolder>& folders_;
  const std::vector<std::vector<int>>& world_ranks_;
  int world_size_;
  std::size_t current_ = 0;  ///< all cases before it are reported
};

}  // namespace course
