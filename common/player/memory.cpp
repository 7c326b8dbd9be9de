#include "player/memory.hpp"

#include <malloc.h>

#include <string>

namespace course {

namespace {

std::int64_t status_bytes(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field)) return std::stoll(line.substr(field.size())) * 1024;
  }
  return -1;
}

}  // namespace

MemoryMeter::MemoryMeter() : clear_("/proc/self/clear_refs") {}

std::int64_t MemoryMeter::reset() {
#ifdef __SANITIZE_ADDRESS__
  return -1;  // the sanitizer's own bookkeeping would be counted
#endif
  // A fixed threshold: glibc otherwise raises it after the first large free, and later blocks then come from
  // memory that is already resident.
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  malloc_trim(0);
  clear_ << 5 << std::flush;
  return clear_ ? status_bytes("VmRSS:") : -1;
}

std::int64_t MemoryMeter::peak() {
  return status_bytes("VmHWM:");
}

}  // namespace course
