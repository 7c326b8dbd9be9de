#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "gpu/simulator/findings/findings.hpp"
#include "gpu/simulator/findings/source_lines.hpp"
#include "gpu/simulator/host/host_side.hpp"
#include "gpu/simulator/memory/accesses.hpp"
#include "gpu/simulator/memory/memory.hpp"
#include "protocol/fact_kinds.hpp"

namespace course::gpu {

namespace {

std::string text(const std::string& call, int line) {
  return call + " on " + line_text(line);
}

Error allocate_in(Region region, void** pointer, std::size_t bytes, std::string made) {
  *pointer = nullptr;
  if (bytes == 0) return Error::Success;
  *pointer = allocate(region, bytes, std::move(made));
  return *pointer ? Error::Success : failed(Error::MemoryAllocation);
}

/// The allocation in use that begins there, or nullptr, and that is noted.
Allocation* to_be_freed(Region region, const void* pointer, const std::string& call, int line) {
  Allocation* const found = allocation_of(pointer, 1);
  if (found && found->offset == offset_of(pointer) && region_of(found->offset) == region) return found;
  note({.kind = fact_device_memory,
        .text = text(call, line) + " of what is not, or no longer, an allocation's beginning",
        .call = call,
        .at = call_place(line)});
  return nullptr;
}

/// A function that has thrown frees what it holds, which other streams may still use: that is not what is
/// wrong with it. The memory then stays until the case ends.
bool is_unwinding() {
  return std::uncaught_exceptions() > 0;
}

/// Waits for all that may still use it, which orders nothing that one may rely on.
Error free_at_once(Region region, void* pointer, const char* call, int line) {
  if (broken() != Error::Success || is_unwinding()) return broken();
  if (pointer == nullptr) return Error::Success;
  Allocation* const found = to_be_freed(region, pointer, call, line);
  if (!found) return failed(Error::InvalidValue);
  note_device_wide_wait(call, line);
  run_all();
  if (found->freed.empty()) free(*found, text(call, line));
  return broken();
}

/// The memory begins, or ends, to be there for its stream.
class Lifetime : public Operation {
 public:
  Lifetime(void* pointer, std::size_t bytes, std::string freed)
      : pointer_(pointer), bytes_(bytes), freed_(std::move(freed)) {}

  bool carry_out() override {
    touch(pointer_, bytes_, AccessKind::Lifetime);
    if (freed_.empty()) return true;
    const OperationRecord& own = record_of(now.access.operation);
    if (Allocation* const found = to_be_freed(Region::Device, pointer_, own.name, own.line))
      free(*found, freed_, now.access.operation);
    return true;
  }

 private:
  void* pointer_;
  std::size_t bytes_;
  std::string freed_;  ///< "": it begins
};

}  // namespace

Error allocate_device(void** pointer, std::size_t bytes, int line) {
  if (broken() != Error::Success) return broken();
  note_device_wide_wait("cudaMalloc", line);
  return allocate_in(Region::Device, pointer, bytes, text("cudaMalloc", line));
}

Error free_device(void* pointer, int line) {
  return free_at_once(Region::Device, pointer, "cudaFree", line);
}

Error allocate_pinned(void** pointer, std::size_t bytes, int line) {
  if (broken() != Error::Success) return broken();
  note_device_wide_wait("cudaMallocHost", line);
  return allocate_in(Region::Pinned, pointer, bytes, text("cudaMallocHost", line));
}

Error free_pinned(void* pointer, int line) {
  return free_at_once(Region::Pinned, pointer, "cudaFreeHost", line);
}

Error allocate_in_stream(void** pointer, std::size_t bytes, Stream* stream, int line) {
  if (broken() != Error::Success) return broken();
  const Error error = allocate_in(Region::Device, pointer, bytes, text("cudaMallocAsync", line));
  if (error != Error::Success || bytes == 0) return error;
  const OperationNumber number = enqueue(stream, {.name = "cudaMallocAsync", .line = line},
                                         std::make_unique<Lifetime>(*pointer, bytes, ""));
  return number == 0 ? Error::InvalidResourceHandle : broken();
}

Error free_in_stream(void* pointer, Stream* stream, int line) {
  if (broken() != Error::Success || is_unwinding()) return broken();
  if (pointer == nullptr) return Error::Success;
  Allocation* const found = to_be_freed(Region::Device, pointer, "cudaFreeAsync", line);
  if (!found) return failed(Error::InvalidValue);
  const OperationNumber number =
      enqueue(stream, {.name = "cudaFreeAsync", .line = line},
              std::make_unique<Lifetime>(pointer, found->bytes, text("cudaFreeAsync", line)));
  return number == 0 ? Error::InvalidResourceHandle : broken();
}

}  // namespace course::gpu
