#include "runner/launch_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "protocol/fact_kinds.hpp"
#include "tensor/npy.hpp"
#include "text/utf8.hpp"

namespace course {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t largest_report = 1 << 20, largest_timing = 1 << 28;

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw std::runtime_error(path.string() + " " + why);
}

/// Opens out/rank<r>/<file> in a played folder.
Descriptor open_output(const PlayedFolder& folder, int rank, const std::string& file, std::int64_t largest) {
  const fs::path shown = fs::path("out") / ("rank" + std::to_string(rank)) / file;
  const Descriptor root(open(folder.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Descriptor found = open_beneath(root, folder.name / shown);
  if (found.get() < 0) {
    if (errno == ENOENT) refuse(shown, "is missing");
    if (errno == ELOOP || errno == ENOTDIR) refuse(shown, "is or goes through a link");
    refuse(shown, "cannot be opened: " + std::generic_category().message(errno));
  }
  struct stat status {};
  if (fstat(found.get(), &status) != 0 || !S_ISREG(status.st_mode)) refuse(shown, "is not a regular file");
  if (status.st_nlink != 1) refuse(shown, "has a second name somewhere");
  if (status.st_uid != folder.owner) refuse(shown, "belongs to somebody else");
  if (status.st_size > largest)
    refuse(shown, fmt::format("has {} bytes, expected at most {}", status.st_size, largest));
  return found;
}

/// The first `most` bytes.
std::string text_in(const Descriptor& file, std::size_t most) {
  std::string text;
  ssize_t count = 0;
  do {
    const std::size_t before = text.size();
    text.resize(std::min(most, before + (1 << 20)));
    count = read(file.get(), text.data() + before, text.size() - before);
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  } while (count > 0 && text.size() < most);
  return text;
}

RankTiming read_timing(const PlayedFolder& folder, int rank) {
  const Descriptor file = open_output(folder, rank, "spans.json", largest_timing);
  return parse_timing(text_in(file, largest_timing), "spans.json of rank " + std::to_string(rank));
}

/// Logs hold ranks, counts and fingerprints.
bool is_an_int(float x) {
  return x == std::trunc(x) && std::abs(x) < 0x1p31f;
}

void require_log(const std::string& file, const Tensor& log, Index columns) {
  if (log.rank() != 2 || log.extent(1) != columns)
    refuse(file, fmt::format("has the shape {}, expected rows of {}", to_string(log.shape()), columns));
  const auto odd = std::ranges::find_if_not(log.values(), is_an_int);
  if (odd != log.values().end())
    refuse(file, fmt::format("holds {:f}, expected numbers that an int holds", *odd));
}

/// A rank writes its page in well under a microsecond; one that is still at it after so many looks was
/// stopped there.
constexpr int looks = 1000;

/// Fills `page` and returns true, or false when no look found it at rest.
bool copy_at_rest(const ReadPage& read, RankStatus& page) {
  for (int look = 0; look < looks; ++look) {
    std::uint64_t before = 0, after = 0;
    read(&before, sizeof before, offsetof(RankStatus, sequence));
    read(&page, sizeof page, 0);
    std::atomic_thread_fence(std::memory_order_acquire);
    read(&after, sizeof after, offsetof(RankStatus, sequence));
    if (before % 2 == 0 && after == before) return true;
    std::this_thread::yield();
  }
  return false;
}

std::string clean_text(const char* begin, std::size_t room) {
  return clean_utf8({begin, strnlen(begin, room)}, "?");
}

std::vector<PendingOperation> clean_pending(const RankStatus& page) {
  const int count = std::clamp(page.pending_count, 0, max_pending);
  std::vector<PendingOperation> kept;
  for (int i = 0; i < count; ++i) {
    PendingOperation operation = page.pending[i];
    const bool is_valid =
        operation.kind <= PendingOperation::Kind::Collective && operation.need <= PendingOperation::Need::Any;
    if (!is_valid) continue;
    const std::string call = clean_text(operation.call, sizeof operation.call);
    std::memset(operation.call, 0, sizeof operation.call);
    call.copy(operation.call, sizeof operation.call - 1);
    kept.push_back(operation);
  }
  return kept;
}

std::vector<SeenCommunicator> clean_communicators(const RankStatus& page) {
  const auto count = std::clamp<std::int64_t>(page.communicator_count, 0, max_communicators);
  std::vector<SeenCommunicator> seen;
  for (const KnownCommunicator& known : std::span(page.communicators).first(count)) {
    SeenCommunicator& one =
        seen.emplace_back(SeenCommunicator{known.communicator, known.started, known.awaited, {}});
    for (const int member : std::span(known.members).first(std::clamp(known.size, 0, max_summed_ranks)))
      one.members.push_back(member < 0 || member >= max_summed_ranks ? outside_peer : member);
  }
  return seen;
}

/// Those of whole lines; one that is cut off or was never whole is left out.
Facts facts_in(const RankStatus& page) {
  const std::string text = clean_text(page.facts, sizeof page.facts);
  Facts facts;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    if (std::optional<Fact> fact = fact_in_line(text.substr(begin, end - begin)))
      facts.push_back(*std::move(fact));
  }
  return facts;
}

/// Takes out the fact that an exception tells.
std::optional<Fact> taken_told(RankSnapshot& rank) {
  const auto thrown =
      std::ranges::find_if(rank.facts, [](const Fact& fact) { return fact.has(mark_thrown); });
  if (thrown == rank.facts.end()) return std::nullopt;
  Fact told = std::move(*thrown);
  rank.facts.erase(thrown);
  std::erase(told.marks, mark_thrown);
  told.text = rank.text;
  return told;
}

void add_report(const PlayedFolder& folder, int case_rank, RankSnapshot& rank) {
  if (!has_report(folder, case_rank)) return;
  try {
    const RankReport report = read_report(folder, case_rank);
    rank.phase = report.ending == "finished" ? Phase::Finished : Phase::Threw;
    rank.text = report.what;
    rank.told = report.told;
    rank.facts = report.facts;
  } catch (const std::runtime_error&) {
    // Not written whole. It will be read again, and in the end by someone who says what is wrong with it.
  }
}

}  // namespace

bool has_report(const PlayedFolder& folder, int rank) {
  std::error_code error;
  const fs::path path = output_folder(folder.root / folder.name, rank) / "report.json";
  return fs::exists(fs::symlink_status(path, error));
}

RankReport read_report(const PlayedFolder& folder, int rank) {
  const Descriptor file = open_output(folder, rank, "report.json", largest_report);
  return parse_report(text_in(file, largest_report), "report.json of rank " + std::to_string(rank));
}

Outcome read_outcome(const PlayedFolder& folder, int ranks, const std::map<std::string, WantedOutput>& wanted,
                     bool timed) {
  Outcome outcome;
  for (int rank = 0; rank < ranks; ++rank) {
    outcome.reports.push_back(read_report(folder, rank));
    outcome.facts.push_back(outcome.reports.back().facts);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const RankReport& report = outcome.reports[rank];
    if (report.ending == "finished") continue;
    outcome.ending = report.ending == "todo" ? Outcome::Ending::Todo : Outcome::Ending::Threw;
    outcome.text = (ranks > 1 ? fmt::format("rank {} threw: ", rank) : "threw: ") + report.what;
    outcome.thrown = report.thrown;
    outcome.told = report.told;
    return outcome;
  }
  outcome.ending = Outcome::Ending::Finished;
  for (int rank = 0; rank < ranks; ++rank) {
    if (timed) outcome.timings.push_back(read_timing(folder, rank));
    std::map<std::string, Tensor>& outputs = outcome.outputs.emplace_back();
    const std::vector<std::string>& named = outcome.reports[rank].outputs;
    for (const auto& [name, output] : wanted) {
      if (std::ranges::count(named, name) == 0) continue;
      const std::string file = name + ".npy";
      Tensor tensor = read_npy<float>(file, open_output(folder, rank, file, output.largest_file).release());
      if (output.log_columns > 0) require_log(file, tensor, output.log_columns);
      outputs.emplace(name, std::move(tensor));
    }
  }
  return outcome;
}

RankSnapshot snapshot(const ReadPage& read) {
  const auto page = std::make_unique<RankStatus>();
  RankSnapshot taken;
  const bool at_rest = copy_at_rest(read, *page);
  const auto phase = static_cast<Phase>(page->phase.load());
  const bool waits = phase == Phase::Blocked || phase == Phase::Polling;
  taken.phase = phase > Phase::Done || (waits && !at_rest) ? Phase::Computing : phase;
  taken.case_index = page->case_index;
  taken.completed = page->completed;
  taken.pid = page->pid;
  taken.receives = page->receives;
  taken.signal = page->signal;
  taken.pending = clean_pending(*page);
  taken.pending_complete = page->pending_count == static_cast<std::int32_t>(taken.pending.size());
  taken.text = clean_text(page->text, sizeof page->text);
  taken.facts = facts_in(*page);
  taken.told = taken_told(taken);
  taken.communicators = clean_communicators(*page);
  taken.communicators_complete =
      !taken.communicators.empty() && page->communicator_count == std::ssize(taken.communicators);
  std::ranges::copy(page->sent_sum, taken.sent_sum.begin());
  std::ranges::copy(page->received_sum, taken.received_sum.begin());
  return taken;
}

WatchedRanks::WatchedRanks(const fs::path& pages, const std::vector<PlayedFolder>& folders,
                           const std::vector<std::vector<int>>& world_ranks, int world_size)
    : pages_(open(pages.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)),
      folders_(folders),
      world_ranks_(world_ranks),
      world_size_(world_size) {
  if (pages_.get() < 0 || ftruncate(pages_.get(), static_cast<off_t>(world_size * sizeof(RankStatus))) != 0)
    throw_errno("cannot make " + pages.string());
}

/// The first thing that a player writes to its page is its process.
std::vector<RankSnapshot> WatchedRanks::look() {
  const std::vector<RankSnapshot> all = look_at_pages();
  const bool kept = std::ranges::any_of(all, [](const RankSnapshot& rank) { return rank.pid != 0; });
  return kept ? all : look_at_reports();
}

std::vector<RankSnapshot> WatchedRanks::look_at_pages() const {
  std::vector<RankSnapshot> all;
  for (int rank = 0; rank < world_size_; ++rank) {
    all.push_back(snapshot([&](void* bytes, std::size_t count, std::size_t offset) {
      const auto at = static_cast<off_t>(rank * sizeof(RankStatus) + offset);
      [[maybe_unused]] const ssize_t ignored = pread(pages_.get(), bytes, count, at);
    }));
  }
  return all;
}

/// What the pages would say, as far as the reports tell.
std::vector<RankSnapshot> WatchedRanks::look_at_reports() {
  current_ = std::min(first_unreported(), folders_.size() - 1);
  std::vector<RankSnapshot> all(world_size_);
  for (RankSnapshot& rank : all) rank.case_index = static_cast<std::int32_t>(current_);
  for (std::size_t rank = 0; rank < world_ranks_[current_].size(); ++rank)
    add_report(folders_[current_], static_cast<int>(rank), all[world_ranks_[current_][rank]]);
  return all;
}

std::size_t WatchedRanks::first_unreported() const {
  std::size_t index = current_;
  while (index < folders_.size() && all_reported(index)) ++index;
  return index;
}

bool WatchedRanks::all_reported(std::size_t index) const {
  for (std::size_t rank = 0; rank < world_ranks_[index].size(); ++rank) {
    if (!has_report(folders_[index], static_cast<int>(rank))) return false;
  }
  return true;
}

}  // namespace course
