#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "tensor/npy_header.hpp"

namespace course {

namespace npy {

namespace {

template <class T>
void append_little_endian(T value, std::vector<unsigned char>& bytes) {
  const auto bits = std::bit_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes.push_back(bits >> (8 * i) & 0xff);
}

/// A new file in the folder of `target`, deleted unless it is renamed to it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target) : target_(target), file_(target, create()) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  File& file() { return file_; }

  void rename_to_target() {
    file_.close();
    if (::rename(name_.c_str(), target_.c_str()) != 0) fail_with_errno(target_, "cannot be written");
    name_.clear();
  }

 private:
  /// Takes the first name that nobody has: other ranks and threads may be writing into the same folder.
  int create() {
    for (int attempt = 0;; ++attempt) {
      name_ = target_.parent_path() /
              (".npy-" + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".tmp");
      const int descriptor = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor >= 0) return descriptor;
      if (errno != EEXIST) fail_with_errno(target_, "cannot be written");
    }
  }

  fs::path target_;
  fs::path name_;
  File file_;
};

/// Renaming would silently replace a device such as /dev/null by a file.
void require_replaceable(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    fail(path, std::string("cannot be written: it is ") +
                   (fs::is_directory(status) ? "a folder" : "a device or a pipe") +
                   ", expected a file or a free name");
  }
}

}  // namespace

}  // namespace npy

template <class T>
void write_npy(const std::filesystem::path& path, const TensorOf<T>& tensor) {
  if (tensor.rank() > npy::kMaxAxes) {
    npy::fail(path, "cannot be written: the tensor has " + std::to_string(tensor.rank()) +
                        " axes, expected at most " + std::to_string(npy::kMaxAxes));
  }
  npy::require_replaceable(path);
  npy::TemporaryFile temporary(path);
  const std::string header = npy::header_text(sizeof(T), tensor.shape());
  temporary.file().write(reinterpret_cast<const unsigned char*>(header.data()), header.size());
  std::vector<unsigned char> chunk;
  for (Index first = 0; first < tensor.size(); first += npy::kChunkValues) {
    chunk.clear();
    for (Index i = first; i < std::min(first + npy::kChunkValues, tensor.size()); ++i) {
      npy::append_little_endian(tensor[i], chunk);
    }
    temporary.file().write(chunk.data(), chunk.size());
  }
  temporary.rename_to_target();
}

template void write_npy(const std::filesystem::path&, const TensorOf<float>&);
template void write_npy(const std::filesystem::path&, const TensorOf<double>&);

}  // namespace course
