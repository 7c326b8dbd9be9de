#include <cstring>
#include <memory>
#include <string>

#include "gpu/simulator/findings/findings.hpp"
#include "gpu/simulator/findings/race_text.hpp"
#include "gpu/simulator/findings/source_lines.hpp"
#include "gpu/simulator/host/host_side.hpp"
#include "gpu/simulator/memory/accesses.hpp"
#include "gpu/simulator/memory/memory.hpp"
#include "protocol/fact_kinds.hpp"

namespace course::gpu {

namespace {

/// A side of a copy as the call finds it.
struct Side {
  const char* name;
  const void* pointer;
  bool must_be_device;
};

bool is_device(const void* pointer) {
  return memory().has(pointer) && region_of(offset_of(pointer)) == Region::Device;
}

bool is_pageable(const void* pointer) {
  return !memory().has(pointer);
}

/// Whether a side is where the kind of the copy says; else notes what is wrong with it.
bool is_right(const char* call, int line, const Side& side, std::size_t bytes) {
  const bool device = is_device(side.pointer);
  const bool in_bounds = is_pageable(side.pointer) || allocation_of(side.pointer, bytes);
  if (bytes == 0 || (device == side.must_be_device && in_bounds)) return true;
  const bool begins = allocation_of(side.pointer, 1) != nullptr;
  const char* const wrong = device && !side.must_be_device   ? " is device memory, and the kind says host"
                            : !device && side.must_be_device ? " is no device memory"
                            : begins                         ? " goes beyond the end of its allocation"
                                                             : " is memory that no allocation has";
  note({.kind = fact_device_memory,
        .text = std::string(call) + " on " + line_text(line) + " of " + std::to_string(bytes) +
                " bytes: " + side.name + wrong,
        .call = call,
        .at = call_place(line)});
  return false;
}

class CopyRun : public Operation {
 public:
  CopyRun(void* to, const void* from, std::size_t bytes) : to_(to), from_(from), bytes_(bytes) {}
  bool carry_out() override {
    if (!is_still_there(from_, bytes_) || !is_still_there(to_, bytes_)) return true;
    touch(from_, bytes_, AccessKind::Read);
    touch(to_, bytes_, AccessKind::Write);
    if (bytes_ > 0) std::memmove(to_, from_, bytes_);
    return true;
  }

 private:
  void* to_;
  const void* from_;
  std::size_t bytes_;
};

class SetRun : public Operation {
 public:
  SetRun(void* to, int value, std::size_t bytes) : to_(to), value_(value), bytes_(bytes) {}
  bool carry_out() override {
    if (!is_still_there(to_, bytes_)) return true;
    touch(to_, bytes_, AccessKind::Write);
    if (bytes_ > 0) std::memset(to_, value_, bytes_);
    return true;
  }

 private:
  void* to_;
  int value_;
  std::size_t bytes_;
};

struct Copy {
  const char* call;
  void* to;
  const void* from;
  std::size_t bytes;
  bool to_device, from_device;
  int line;
};

Copy copy_of(const char* call, void* to, const void* from, std::size_t bytes, CopyKind kind, int line) {
  const bool any = kind == CopyKind::Default;
  const bool to_device = kind == CopyKind::HostToDevice || kind == CopyKind::DeviceToDevice;
  const bool from_device = kind == CopyKind::DeviceToHost || kind == CopyKind::DeviceToDevice;
  return {call, to, from, bytes, any ? is_device(to) : to_device, any ? is_device(from) : from_device, line};
}

/// Returns the operation's number, or 0 and what is wrong.
OperationNumber enqueue_copy(const Copy& copy, Stream* stream, Error& error) {
  error = broken();
  if (error != Error::Success) return 0;
  if (!is_right(copy.call, copy.line, {"its destination", copy.to, copy.to_device}, copy.bytes) ||
      !is_right(copy.call, copy.line, {"its source", copy.from, copy.from_device}, copy.bytes)) {
    error = failed(Error::InvalidValue);
    return 0;
  }
  const OperationNumber number = enqueue(stream, {.name = copy.call, .line = copy.line},
                                         std::make_unique<CopyRun>(copy.to, copy.from, copy.bytes));
  if (number == 0) error = Error::InvalidResourceHandle;
  return number;
}

bool is_within_host(const Copy& copy) {
  return !copy.to_device && !copy.from_device;
}

Error enqueue_set(const char* call, void* to, int value, std::size_t bytes, Stream* stream, int line) {
  if (broken() != Error::Success) return broken();
  const bool device = !memory().has(to) || is_device(to);
  if (!is_right(call, line, {"its destination", to, device}, bytes)) return failed(Error::InvalidValue);
  const OperationNumber number =
      enqueue(stream, {.name = call, .line = line}, std::make_unique<SetRun>(to, value, bytes));
  return number == 0 ? Error::InvalidResourceHandle : broken();
}

}  // namespace

/// What the call promises the host depends on where the memory is. Source: CUDA Runtime API 13, API
/// synchronization behavior.
Error copy(void* to, const void* from, std::size_t bytes, CopyKind kind, int line) {
  const Copy made = copy_of("cudaMemcpy", to, from, bytes, kind, line);
  Error error = Error::Success;
  note_device_wide_wait(made.call, line);
  const OperationNumber number = enqueue_copy(made, nullptr, error);
  if (number == 0 || (made.to_device && made.from_device)) return error;
  run_until_done(number);
  const bool may_return_before_its_end = made.to_device && is_pageable(from);
  if (!may_return_before_its_end) host_knows(number);
  return broken();
}

Error copy_in_stream(void* to, const void* from, std::size_t bytes, CopyKind kind, Stream* stream, int line) {
  const Copy made = copy_of("cudaMemcpyAsync", to, from, bytes, kind, line);
  Error error = Error::Success;
  const OperationNumber number = enqueue_copy(made, stream, error);
  if (number == 0 || !(is_pageable(to) || is_pageable(from))) return error;
  run_until_done(number);
  if (is_within_host(made)) host_knows(number);
  return broken();
}

Error set(void* to, int value, std::size_t bytes, int line) {
  return enqueue_set("cudaMemset", to, value, bytes, nullptr, line);
}

Error set_in_stream(void* to, int value, std::size_t bytes, Stream* stream, int line) {
  return enqueue_set("cudaMemsetAsync", to, value, bytes, stream, line);
}

}  // namespace course::gpu
