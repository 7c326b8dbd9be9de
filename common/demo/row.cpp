#include "demo/row.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <limits>

#include "protocol/errors.hpp"
#include "tensor/npy.hpp"

namespace course::demo {

namespace {

/// Of "300,12,200" the first positions, and the end of the last one.
std::vector<Index> starts_of_lengths(const std::string& lengths, Index tokens) {
  std::vector<Index> starts{0};
  const char *next = lengths.data(), *const end = next + lengths.size();
  while (true) {
    Index length = -1;
    const auto [after, error] = std::from_chars(next, end, length);
    if (error != std::errc() || length < 0 || (after != end && *after != ','))
      throw UsageError("--documents " + lengths +
                       ": expected lengths between commas, such as 300,12,200, or a .npy file of cu_seqlens");
    if (length > std::numeric_limits<Index>::max() - starts.back())
      throw UsageError(
          fmt::format("--documents {}: the row has {} tokens, the documents have more", lengths, tokens));
    starts.push_back(starts.back() + length);
    if (after == end) break;
    next = after + 1;
  }
  if (starts.back() != tokens) {
    throw UsageError(fmt::format("--documents {}: the row has {} tokens, the documents have {}", lengths,
                                 tokens, starts.back()));
  }
  return starts;
}

std::vector<Index> starts_in_file(const std::string& path, Index tokens) {
  std::vector<Index> starts = read_npy_whole_numbers(path);
  if (starts.empty() || starts.front() != 0) {
    throw UsageError(path + ": starts with " + (starts.empty() ? "nothing" : std::to_string(starts.front())) +
                     ", expected 0, where the first document begins");
  }
  for (std::size_t i = 1; i < starts.size(); ++i) {
    if (starts[i] >= starts[i - 1]) continue;
    throw UsageError(fmt::format("{}: falls from {} to {} at place {}, expected starts that ascend", path,
                                 starts[i - 1], starts[i], i));
  }
  if (starts.back() > tokens)
    throw UsageError(fmt::format("{}: ends with {}, and the row has {} tokens", path, starts.back(), tokens));
  return starts;
}

std::vector<Index> starts_of(const RowOptions& options, Index tokens) {
  if (!options.documents) return {0, tokens};
  return options.documents->ends_with(".npy") ? starts_in_file(*options.documents, tokens)
                                              : starts_of_lengths(*options.documents, tokens);
}

}  // namespace

PackedRow row_of(const RowOptions& options, bool causal, Index tokens, const RowHeads& heads) {
  PackedRow row{starts_of(options, tokens), options.window, causal};
  for (Index batch = 0; options.alibi && batch < heads.batches; ++batch)
    std::ranges::copy(reference::alibi_slopes(heads.of_each), std::back_inserter(row.bias.slopes));
  // As the ranks hold them.
  for (double& slope : row.bias.slopes) slope = static_cast<float>(slope);
  if (options.sink)
    row.bias.sinks.assign(static_cast<std::size_t>(heads.batches * heads.of_each), *options.sink);
  return row;
}

std::string in_words(const PackedRow& row, Index tokens) {
  std::vector<std::string> words;
  const bool unseen_tokens = !row.starts.empty() && row.starts.back() < tokens;
  if (row.starts.size() > 2 || unseen_tokens)
    words.push_back(fmt::format("{} documents", row.starts.size() - 1));
  if (row.window > 0) words.push_back(fmt::format("window {}", row.window));
  if (!row.bias.slopes.empty()) words.push_back("ALiBi");
  if (!row.bias.sinks.empty()) words.push_back(fmt::format("sinks {:g}", row.bias.sinks.front()));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace course::demo
