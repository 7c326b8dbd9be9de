#include "tensor/npy_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace course::npy {

namespace {

/// `text` with every control character replaced, so that a message stays on its line.
std::string printable(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return result;
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  return "'" + printable(text.substr(0, kLongest)) + (text.size() > kLongest ? "..." : "") + "'";
}

void fail(const fs::path& path, const std::string& problem) {
  throw NpyError(printable(path.string()) + ": " + problem);
}

void fail_with_errno(const fs::path& path, const std::string& problem) {
  fail(path, problem + ": " + std::generic_category().message(errno));
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

struct stat File::status() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail_with_errno(path_, "cannot be examined");
  return status;
}

void File::read(unsigned char* bytes, Index count) {
  while (count > 0) {
    const Index got = ::read(descriptor_, bytes, count);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_errno(path_, "cannot be read");
    if (got == 0) fail(path_, "became shorter while being read, expected it to stay as it was");
    bytes += got;
    count -= got;
  }
}

void File::write(const unsigned char* bytes, Index count) {
  while (count > 0) {
    const Index put = ::write(descriptor_, bytes, count);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_with_errno(path_, "cannot be written");
    bytes += put;
    count -= put;
  }
}

void File::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_with_errno(path_, "cannot be written");
}

}  // namespace course::npy
