#include "gpu/simulator/memory/requests.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>
#include <vector>

#include "gpu/simulator/kernel/warps.hpp"
#include "gpu/simulator/simulator.hpp"

namespace course::gpu {

namespace {

constexpr std::size_t sector_bytes = 32;
constexpr std::size_t word_bytes = 4;
constexpr std::uint32_t banks = 32;

/// What is open at once of a block; beyond that, bytes alone are counted. A thread that never waits would
/// take the machine's memory.
constexpr std::size_t most_open_requests = std::size_t{1} << 18;

/// What accesses have in common that may be one request's.
struct Place {
  std::uint64_t site;
  std::uint32_t meetings;  ///< that the lane has had since the whole warp last met
  std::uint8_t bytes;      ///< a lane
  bool is_device;          ///< or shared memory
  bool is_write;
  bool operator==(const Place&) const = default;
};

struct HashOfPlace {
  std::size_t operator()(const Place& place) const {
    const std::uint64_t rest = std::uint64_t{place.meetings} << 16 | std::uint64_t{place.bytes} << 2 |
                               std::uint64_t{place.is_device} << 1 | std::uint64_t{place.is_write};
    return static_cast<std::size_t>((place.site * 31 + rest) * 0x9e3779b97f4a7c15ULL >> 16);
  }
};

/// Which sector, or word of shared memory, each of some lanes asks for.
struct Request {
  std::uint32_t lanes = 0;  ///< a bit each
  std::array<std::uint32_t, warp_lanes> at;
};

struct OpenRequests {
  std::array<std::uint32_t, warp_lanes> next = {};  ///< by lane
  std::vector<Request> requests;
};

struct Warp {
  std::array<std::uint32_t, warp_lanes> meetings = {};  ///< by lane
  std::unordered_map<Place, OpenRequests, HashOfPlace> open;
};

struct Counting {
  CountsByKernel kernels;
  std::size_t kernel = 0;  ///< that runs
  std::vector<Warp> warps;
  std::size_t open_requests = 0;
};
Counting counting;

std::size_t different(std::vector<std::uint32_t>& numbers) {
  std::ranges::sort(numbers);
  return static_cast<std::size_t>(std::unique(numbers.begin(), numbers.end()) - numbers.begin());
}

std::size_t sectors_of(const Request& request) {
  std::vector<std::uint32_t> sectors;
  for (unsigned lane = 0; lane < warp_lanes; ++lane)
    if ((request.lanes >> lane & 1) != 0) sectors.push_back(request.at[lane]);
  return different(sectors);
}

/// How often the lanes from `first` to `last` - 1 have to be served: a bank gives one of its words at a time,
/// to each lane that wants it. What a lane wants of further banks lies beside its first word, as the others'
/// does, so these banks are asked no more often. 0: none of these lanes asks.
std::int64_t passes_of_lanes(const Request& request, unsigned first, unsigned last) {
  std::array<std::vector<std::uint32_t>, banks> of_bank;
  for (unsigned lane = first; lane < last; ++lane)
    if ((request.lanes >> lane & 1) != 0) of_bank[request.at[lane] % banks].push_back(request.at[lane]);
  std::size_t passes = 0;
  for (std::vector<std::uint32_t>& of_one : of_bank) passes = std::max(passes, different(of_one));
  return static_cast<std::int64_t>(passes);
}

/// Lanes that ask for 8 or 16 bytes are served by halves and quarters of a warp.
void count_passes(const Request& request, std::size_t bytes, KernelCounts& counts) {
  const auto together = static_cast<unsigned>(warp_lanes * word_bytes / std::max(bytes, word_bytes));
  for (unsigned first = 0; first < warp_lanes; first += together) {
    const std::int64_t passes = passes_of_lanes(request, first, first + together);
    counts.shared_passes += passes;
    counts.bank_conflicts += std::max<std::int64_t>(passes - 1, 0);
  }
}

void close(Warp& warp) {
  KernelCounts& counts = counting.kernels[counting.kernel];
  for (const auto& [place, open] : warp.open) {
    const auto count = static_cast<std::int64_t>(open.requests.size());
    (place.is_device ? counts.requests : counts.shared_requests) += count;
    counting.open_requests -= open.requests.size();
    for (const Request& request : open.requests) {
      if (place.is_device)
        counts.sectors += static_cast<std::int64_t>(sectors_of(request));
      else
        count_passes(request, place.bytes, counts);
    }
  }
  warp.open.clear();
  warp.meetings = {};
}

/// One piece of an access, of at most 16 bytes.
void add_piece(Warp& warp, unsigned lane, std::size_t offset, Place place) {
  OpenRequests& open = warp.open[place];
  if (open.next[lane] == open.requests.size()) {
    if (counting.open_requests >= most_open_requests) return;
    ++counting.open_requests;
    open.requests.emplace_back();
  }
  Request& request = open.requests[open.next[lane]++];
  request.lanes |= 1U << lane;
  request.at[lane] = static_cast<std::uint32_t>(offset / (place.is_device ? sector_bytes : word_bytes));
}

}  // namespace

void count_launch(const std::string& kernel) {
  const auto known = std::ranges::find(counting.kernels, kernel, &KernelCounts::kernel);
  counting.kernel = static_cast<std::size_t>(known - counting.kernels.begin());
  if (known == counting.kernels.end()) counting.kernels.push_back({.kernel = kernel});
  ++counting.kernels[counting.kernel].launches;
}

void begin_requests(std::size_t warps) {
  counting.warps.resize(warps);
}

void add_to_requests(std::size_t offset, std::size_t bytes, AccessKind kind, std::uint64_t site,
                     std::size_t at_once) {
  const Region region = region_of(offset);
  if (region == Region::Pinned) return;
  const bool is_device = region == Region::Device;
  KernelCounts& counts = counting.kernels[counting.kernel];
  if (is_device && kind != AccessKind::Write) counts.bytes_read += static_cast<std::int64_t>(bytes);
  if (is_device && kind != AccessKind::Read) counts.bytes_written += static_cast<std::int64_t>(bytes);
  Warp& warp = counting.warps[now.access.warp];
  const auto lane = static_cast<unsigned>(std::countr_zero(now.access.lanes));
  for (std::size_t done = 0; done < bytes; done += at_once) {
    const auto extent = static_cast<std::uint8_t>(std::min(at_once, bytes - done));
    add_piece(warp, lane, offset + done,
              {site, warp.meetings[lane], extent, is_device, kind != AccessKind::Read});
  }
}

void lanes_have_met(std::size_t warp, std::uint32_t lanes, bool all) {
  if (all) return close(counting.warps[warp]);
  each_lane(lanes, [&](unsigned lane) { ++counting.warps[warp].meetings[lane]; });
}

void close_requests() {
  std::ranges::for_each(counting.warps, close);
}

const CountsByKernel& counts_by_kernel() {
  return counting.kernels;
}

void forget_counts() {
  counting = {};
}

}  // namespace course::gpu
