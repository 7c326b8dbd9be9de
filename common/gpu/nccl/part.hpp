#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "gpu/nccl/transfer.hpp"

namespace course::gpu::nccl {

/// Bytes of device memory.
struct Range {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  bool overlaps(const Range& other) const {
    return bytes > 0 && other.bytes > 0 && begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};

/// One call, taken apart into messages.
struct Part {
  Call call;
  Range reads = {}, writes = {};
  std::vector<Message> messages = {};
  std::vector<std::byte> staged = {};      ///< where a reduction's numbers arrive, by rank
  std::function<void(Part&)> finish = {};  ///< when all messages are complete
  std::string name() const { return call_text(call.name, call.line); }
};

/// Puts the call into the open group; outside a group it is one by itself.
/// @param peer a rank of its communicator that it names, or 0
Result add(Part part, int peer);

/// Returns the result of a call that is refused, which takes the whole group that it is in with it.
Result fail(Result result);

}  // namespace course::gpu::nccl
