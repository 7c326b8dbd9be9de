#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "runner/deadlock.hpp"
#include "runner/descriptor.hpp"
#include "runner/outputs.hpp"

namespace course {

/// Reads bytes of a rank's page, from `offset` on; what there is none of stays 0.
using ReadPage = std::function<void(void* bytes, std::size_t count, std::size_t offset)>;

/// Copies the page under its seqlock; retries while the rank is writing, and takes one that never stops
/// writing (killed halfway) for one that does not wait. Whatever the page holds, the copy is well formed:
/// enumerators are valid, and texts end and are UTF-8.
RankSnapshot snapshot(const ReadPage& read);

/// The pages that the players of one launch keep up to date. They are read, not mapped: a player may cut the
/// file short.
class StatusPages {
 public:
  /// Throws std::system_error when the file cannot be made.
  StatusPages(const std::filesystem::path& path, int ranks);

  /// Nothing when the player keeps no pages: the first thing that it writes is its process.
  std::optional<std::vector<RankSnapshot>> look() const;

 private:
  int count_;
  Descriptor file_;
};

/// Follows a player that keeps no pages by the reports that it writes.
class ReportTrail {
 public:
  ReportTrail(const std::vector<PlayedFolder>& folders, const std::vector<std::vector<int>>& world_ranks,
              int world_size)
      : folders_(folders), world_ranks_(world_ranks), world_size_(world_size) {}

  /// The first case that some rank has not reported; as many as there are cases when all have.
  std::size_t first_unreported() const;

  /// What the pages would say, as far as the reports tell.
  std::vector<RankSnapshot> look();

 private:
  bool complete(std::size_t index) const;

  const std::vector<PlayedFolder>& folders_;
  const std::vector<std::vector<int>>& world_ranks_;
  int world_size_;
  std::size_t current_ = 0;  ///< all cases before it are reported
};

}  // namespace course
