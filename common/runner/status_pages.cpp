#include "runner/status_pages.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>

namespace course {

namespace {

void add_report(const PlayedFolder& folder, int case_rank, RankSnapshot& rank) {
  if (!has_report(folder, case_rank)) return;
  try {
    const RankReport report = read_report(folder, case_rank);
    rank.phase = report.ending == "finished" ? Phase::Finished : Phase::Threw;
    rank.text = report.what;
    rank.facts = report.facts;
  } catch (const std::runtime_error&) {
    // Not written whole. It will be read again, and in the end by someone who says what is wrong with it.
  }
}

}  // namespace

StatusPages::StatusPages(const std::filesystem::path& path, int ranks) : count_(ranks) {
  file_ = Descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (file_.get() < 0 || ftruncate(file_.get(), static_cast<off_t>(ranks * sizeof(RankStatus))) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot make " + path.string());
}

std::optional<std::vector<RankSnapshot>> StatusPages::look() const {
  std::vector<RankSnapshot> all;
  for (int rank = 0; rank < count_; ++rank) {
    all.push_back(snapshot([&](void* bytes, std::size_t count, std::size_t offset) {
      const auto at = static_cast<off_t>(rank * sizeof(RankStatus) + offset);
      [[maybe_unused]] const ssize_t ignored = pread(file_.get(), bytes, count, at);
    }));
  }
  const bool kept = std::ranges::any_of(all, [](const RankSnapshot& rank) { return rank.pid != 0; });
  return kept ? std::optional(all) : std::nullopt;
}

std::size_t ReportTrail::first_unreported() const {
  std::size_t index = current_;
  while (index < folders_.size() && complete(index)) ++index;
  return index;
}

std::vector<RankSnapshot> ReportTrail::look() {
  current_ = std::min(first_unreported(), folders_.size() - 1);
  std::vector<RankSnapshot> all(world_size_);
  for (RankSnapshot& rank : all) rank.case_index = static_cast<std::int32_t>(current_);
  for (std::size_t rank = 0; rank < world_ranks_[current_].size(); ++rank) {
    add_report(folders_[current_], static_cast<int>(rank), all[world_ranks_[current_][rank]]);
  }
  return all;
}

bool ReportTrail::complete(std::size_t index) const {
  for (std::size_t rank = 0; rank < world_ranks_[index].size(); ++rank) {
    if (!has_report(folders_[index], static_cast<int>(rank))) return false;
  }
  return true;
}

}  // namespace course
