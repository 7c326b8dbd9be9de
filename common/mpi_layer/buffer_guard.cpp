#include "mpi_layer/buffer_guard.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace course::mpi_layer {

namespace {

/// A signalling NaN in float32, little-endian. Arithmetic makes another NaN of it, and a copy does not, so
/// that what was added to it is told from what was left alone.
constexpr std::array<std::byte, 4> poison{std::byte{0xa5}, std::byte{0xa5}, std::byte{0xa5}, std::byte{0x7f}};

std::byte poison_at(std::size_t place) {
  return poison[place % poison.size()];
}

}  // namespace

BufferGuard::BufferGuard(PendingOperation::Kind kind, Extent callers)
    : kind_(kind),
      callers_(const_cast<std::byte*>(callers.begin)),  // a receive's was given for writing
      copy_(callers.end - callers.begin) {}

/// A receive keeps what the buffer held: a shorter message leaves the rest of it as it was.
void BufferGuard::arm() {
  std::memcpy(copy_.data(), callers_, copy_.size());
  if (!receives()) return;
  for (std::size_t i = 0; i < copy_.size(); ++i) callers_[i] = poison_at(i);
}

bool BufferGuard::disarm() {
  if (!receives()) return std::memcmp(callers_, copy_.data(), copy_.size()) != 0;
  bool written = false;
  for (std::size_t i = 0; i < copy_.size(); ++i) written |= callers_[i] != poison_at(i);
  std::memcpy(callers_, copy_.data(), copy_.size());
  return written;
}

}  // namespace course::mpi_layer
