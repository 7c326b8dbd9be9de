#include "runner/outputs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <stdexcept>
#include <system_error>

#include "runner/descriptor.hpp"
#include "tensor/npy.hpp"

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

}  // namespace course
