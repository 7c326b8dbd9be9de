#include "tensor/npy.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace course {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr Index kMaxHeaderBytes = 65535;  // what format 1.0 can hold; a plain array's header takes about 100
constexpr Index kMaxAxes = 64;            // NumPy's own limit
constexpr Index kChunkValues = 1 << 14;   // values converted at a time, so that a file is never held twice

/// `text` with every control character replaced, so that a message stays on its line.
std::string printable(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return result;
}

/// `text` in quotes, printable and cut to a length that fits a message.
std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  return "'" + printable(text.substr(0, kLongest)) + (text.size() > kLongest ? "..." : "") + "'";
}

template <class T>
std::string text_of(T value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

[[noreturn]] void fail(const fs::path& path, const std::string& problem) {
  throw NpyError(printable(path.string()) + ": " + problem);
}

[[noreturn]] void fail_with_errno(const fs::path& path, const std::string& problem) {
  fail(path, problem + ": " + std::generic_category().message(errno));
}

/// An open file descriptor. Messages name `path`, which for a temporary file is the name it will get.
class File {
 public:
  File(fs::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  const fs::path& path() const { return path_; }

  struct stat status() const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) fail_with_errno(path_, "cannot be examined");
    return status;
  }

  /// Fills bytes[0 .. count - 1] or throws.
  void read(unsigned char* bytes, Index count) {
    while (count > 0) {
      const Index got = ::read(descriptor_, bytes, count);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_with_errno(path_, "cannot be read");
      if (got == 0) fail(path_, "became shorter while being read, expected it to stay as it was");
      bytes += got;
      count -= got;
    }
  }

  void write(const unsigned char* bytes, Index count) {
    while (count > 0) {
      const Index put = ::write(descriptor_, bytes, count);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) fail_with_errno(path_, "cannot be written");
      bytes += put;
      count -= put;
    }
  }

  /// Some file systems report a full disk only here.
  void close() {
    if (::close(std::exchange(descriptor_, -1)) != 0) fail_with_errno(path_, "cannot be written");
  }

 private:
  fs::path path_;
  int descriptor_;
};

/// Opens without waiting, so that a FIFO nobody writes to does not hold up its reader.
int open_for_reading(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) fail_with_errno(path, "cannot be opened, expected a .npy file");
  return descriptor;
}

/// The size in bytes of a regular file; throws for anything else.
Index regular_size(const File& file) {
  const struct stat status = file.status();
  if (S_ISDIR(status.st_mode)) fail(file.path(), "is a folder, expected a .npy file");
  if (!S_ISREG(status.st_mode)) fail(file.path(), "is a device or a pipe, expected a .npy file");
  return status.st_size;
}

struct Header {
  bool little_endian = true;
  Index item_bytes = 0;  ///< 2, 4 or 8
  bool fortran_order = false;
  Shape shape;
};

std::string dtype_name(const Header& header) {
  return "float" + std::to_string(8 * header.item_bytes);
}

/// Parses the header's Python dictionary, for example
/// {'descr': '<f4', 'fortran_order': False, 'shape': (12, 512, 32), }.
class HeaderParser {
 public:
  HeaderParser(const fs::path& path, std::string_view padded)
      : path_(path), text_(padded.substr(0, padded.find_last_not_of(kBlanks) + 1)), rest_(text_) {}

  Header parse() {
    Header header;
    std::set<std::string_view> keys;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      if (!keys.insert(key).second) reject("has the key " + quoted(key) + " twice, expected it once");
      expect(':');
      value(key, header);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!rest_.empty()) reject("goes on with " + quoted(rest_) + ", expected its end");
    if (keys.size() != 3) reject("lacks a key, expected 'descr', 'fortran_order' and 'shape'");
    return header;
  }

 private:
  [[noreturn]] void reject(const std::string& problem) const {
    fail(path_, "the header " + quoted(text_) + " " + problem);
  }

  [[noreturn]] void reject_rest(const std::string& expected) const {
    reject("has " + quoted(rest_) + ", expected " + expected);
  }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size())); }

  bool accept(char wanted) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) reject_rest(quoted({&wanted, 1}));
  }

  bool accept_word(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void value(std::string_view key, Header& header) {
    if (key == "descr") {
      dtype(header);
    } else if (key == "fortran_order") {
      header.fortran_order = boolean();
    } else if (key == "shape") {
      header.shape = shape();
    } else {
      reject("has the key " + quoted(key) + ", expected 'descr', 'fortran_order' and 'shape'");
    }
  }

  /// A string in single or double quotes. The strings of a header hold no escapes.
  std::string_view string() {
    skip_blanks();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const std::size_t end = rest_.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == std::string_view::npos) reject_rest("a quoted string");
    const std::string_view content = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return content;
  }

  void dtype(Header& header) {
    skip_blanks();
    const std::string expected = "float16, float32 or float64 ('<f2', '<f4', '<f8' or with '>')";
    if (rest_.starts_with('[')) reject("has a structured dtype, expected " + expected);
    const std::string_view descr = string();
    const bool known = descr.size() == 3 && (descr[0] == '<' || descr[0] == '>') && descr[1] == 'f' &&
                       (descr[2] == '2' || descr[2] == '4' || descr[2] == '8');
    if (!known) fail(path_, "has the dtype " + quoted(descr) + ", expected " + expected);
    header.little_endian = descr[0] == '<';
    header.item_bytes = descr[2] - '0';
  }

  bool boolean() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    reject_rest("True or False");
  }

  /// A tuple of extents: (), (3,), (3, 4) or (3, 4, ). In Python (3) is a number.
  Shape shape() {
    Shape extents;
    expect('(');
    while (!accept(')')) {
      extents.push_back(extent());
      if (accept(',')) continue;
      if (extents.size() == 1) reject_rest("',' after the only extent of a shape");
      expect(')');
      break;
    }
    if (static_cast<Index>(extents.size()) > kMaxAxes) {
      fail(path_,
           "has " + std::to_string(extents.size()) + " axes, expected at most " + std::to_string(kMaxAxes));
    }
    return extents;
  }

  Index extent() {
    skip_blanks();
    Index number = 0;
    const char* const end = rest_.data() + rest_.size();
    const auto [stop, error] = std::from_chars(rest_.data(), end, number);
    const bool octal_looking = rest_.size() > 1 && rest_[0] == '0' && stop - rest_.data() > 1;
    if (error != std::errc() || rest_.front() == '-' || octal_looking) {
      reject_rest("an extent from 0 to " + std::to_string(std::numeric_limits<Index>::max()));
    }
    rest_.remove_prefix(stop - rest_.data());
    return number;
  }

  static constexpr std::string_view kBlanks = " \t\n\r";

  const fs::path& path_;
  std::string_view text_;
  std::string_view rest_;
};

/// Reads what comes before the data. `remaining` is the number of bytes left in the file, before and after.
Header read_header(File& file, Index& remaining) {
  std::array<unsigned char, 12> start{};  // magic, version (major, minor), header length in 2 or 4 bytes
  const Index magic_bytes = kMagic.size();
  const auto take = [&](unsigned char* bytes, Index count, const std::string& what) {
    if (count > remaining) {
      fail(file.path(), "ends inside its " + what + ", expected " + std::to_string(count) +
                            " more bytes where there are " + std::to_string(remaining));
    }
    file.read(bytes, count);
    remaining -= count;
  };
  take(start.data(), magic_bytes + 2, "first 8 bytes, which name the format");
  if (!std::equal(kMagic.begin(), kMagic.end(), start.begin(),
                  [](char a, unsigned char b) { return static_cast<unsigned char>(a) == b; })) {
    fail(file.path(), "is not a .npy file: it begins with " +
                          quoted({reinterpret_cast<const char*>(start.data()), kMagic.size()}) +
                          ", expected '\\x93NUMPY'");
  }
  const int major = start[6];
  const int minor = start[7];
  if (major < 1 || major > 3 || minor != 0) {
    fail(file.path(), "has the format version " + std::to_string(major) + "." + std::to_string(minor) +
                          ", expected 1.0, 2.0 or 3.0");
  }
  const Index length_bytes = major == 1 ? 2 : 4;
  take(start.data() + 8, length_bytes, "header length");
  Index header_bytes = 0;
  for (Index i = length_bytes - 1; i >= 0; --i) header_bytes = header_bytes << 8 | start[8 + i];
  if (header_bytes > kMaxHeaderBytes) {
    fail(file.path(), "has a header of " + std::to_string(header_bytes) + " bytes, expected at most " +
                          std::to_string(kMaxHeaderBytes));
  }
  std::string text(header_bytes, '\0');
  take(reinterpret_cast<unsigned char*>(text.data()), header_bytes, "header");
  return HeaderParser(file.path(), text).parse();
}

/// The number of values, after checking that exactly so many are in the file's `remaining` bytes. Nothing has
/// been allocated yet, so a header that promises too much costs nothing.
Index require_data_size(const fs::path& path, const Header& header, Index remaining) {
  const std::string data = dtype_name(header) + " " + to_string(header.shape);
  Index count = 0;
  try {
    count = element_count(header.shape);
  } catch (const std::invalid_argument& error) {
    fail(path, error.what());
  }
  // Divided, not multiplied: count * item_bytes may overflow.
  if (count > remaining / header.item_bytes) {
    fail(path, "is truncated: " + data + " needs " + std::to_string(count) + " values of " +
                   std::to_string(header.item_bytes) + " bytes, but only " + std::to_string(remaining) +
                   " bytes follow the header");
  }
  if (const Index surplus = remaining - count * header.item_bytes; surplus > 0) {
    fail(path, "is too long: " + std::to_string(surplus) + " bytes follow the " +
                   std::to_string(count * header.item_bytes) + " expected of " + data);
  }
  return count;
}

/// IEEE 754 binary16: 1 sign bit, 5 exponent bits (bias 15), 10 fraction bits. Every value is a double too.
double half_to_double(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  double magnitude = 0;
  if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);  // zero and subnormal numbers
  } else if (exponent < 0x1f) {
    magnitude = std::ldexp(1024 + fraction, exponent - 25);
  } else {
    magnitude =
        fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

double decode(const unsigned char* bytes, const Header& header) {
  std::uint64_t bits = 0;
  for (Index i = 0; i < header.item_bytes; ++i) {
    bits = bits << 8 | bytes[header.little_endian ? header.item_bytes - 1 - i : i];
  }
  switch (header.item_bytes) {
    case 2:
      return half_to_double(static_cast<std::uint16_t>(bits));
    case 4:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    default:
      return std::bit_cast<double>(bits);
  }
}

/// Where the value at place `column_major` of a Fortran-ordered array belongs in row-major order.
Index row_major_place(Index column_major, const Shape& shape, Index count) {
  Index place = 0;
  Index stride = count;
  for (const Index extent : shape) {
    stride /= extent;
    place += column_major % extent * stride;
    column_major /= extent;
  }
  return place;
}

/// The indices along each axis of the value at a row-major place, for messages: "[0, 17, 4]".
std::string index_text(Index place, const Shape& shape) {
  Shape index(shape.size());
  for (Index axis = static_cast<Index>(shape.size()) - 1; axis >= 0; --axis) {
    index[axis] = place % shape[axis];
    place /= shape[axis];
  }
  return to_string(index);
}

/// `value` as T. Throws when it is finite and out of T's range, which rounding would turn into infinity.
template <class T>
T narrow(double value, const fs::path& path, Index place, const Shape& shape) {
  constexpr double kLargest = std::numeric_limits<T>::max();
  if (std::isfinite(value) && std::abs(value) > kLargest) {
    fail(path, "has " + text_of(value) + " at " + index_text(place, shape) +
                   ", expected magnitudes up to float32's " + text_of(kLargest));
  }
  return static_cast<T>(value);
}

template <class T>
std::vector<T> read_values(File& file, const Header& header, Index count) {
  std::vector<T> values(count);
  std::vector<unsigned char> chunk(std::min(count, kChunkValues) * header.item_bytes);
  for (Index first = 0; first < count; first += kChunkValues) {
    const Index in_chunk = std::min(kChunkValues, count - first);
    file.read(chunk.data(), in_chunk * header.item_bytes);
    for (Index i = 0; i < in_chunk; ++i) {
      const Index place = header.fortran_order ? row_major_place(first + i, header.shape, count) : first + i;
      values[place] =
          narrow<T>(decode(chunk.data() + i * header.item_bytes, header), file.path(), place, header.shape);
    }
  }
  return values;
}

/// All that comes before the data in format 1.0, padded with blanks to a multiple of 64 bytes as NumPy does.
std::string header_text(Index item_bytes, const Shape& shape) {
  std::string extents;
  for (const Index extent : shape) extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  if (shape.size() == 1) extents += ",";
  std::string dictionary = "{'descr': '<f" + std::to_string(item_bytes) +
                           "', 'fortran_order': False, 'shape': (" + extents + "), }";
  constexpr std::size_t kAlignment = 64;
  const std::size_t prefix = kMagic.size() + 4;  // version and header length, two bytes each
  const std::size_t used = prefix + dictionary.size() + 1;
  dictionary.append((kAlignment - used % kAlignment) % kAlignment, ' ').append(1, '\n');
  const char low = static_cast<char>(dictionary.size() & 0xff);
  const char high = static_cast<char>(dictionary.size() >> 8);
  return std::string(kMagic) + std::string{1, 0, low, high} + dictionary;
}

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

template <class T>
TensorOf<T> read_npy(const std::filesystem::path& path) {
  File file(path, open_for_reading(path));
  Index remaining = regular_size(file);
  const Header header = read_header(file, remaining);
  const Index count = require_data_size(path, header, remaining);
  return {header.shape, read_values<T>(file, header, count)};
}

template <class T>
void write_npy(const std::filesystem::path& path, const TensorOf<T>& tensor) {
  if (tensor.rank() > kMaxAxes) {
    fail(path, "cannot be written: the tensor has " + std::to_string(tensor.rank()) +
                   " axes, expected at most " + std::to_string(kMaxAxes));
  }
  require_replaceable(path);
  TemporaryFile temporary(path);
  const std::string header = header_text(sizeof(T), tensor.shape());
  temporary.file().write(reinterpret_cast<const unsigned char*>(header.data()), header.size());
  std::vector<unsigned char> chunk;
  for (Index first = 0; first < tensor.size(); first += kChunkValues) {
    chunk.clear();
    for (Index i = first; i < std::min(first + kChunkValues, tensor.size()); ++i) {
      append_little_endian(tensor[i], chunk);
    }
    temporary.file().write(chunk.data(), chunk.size());
  }
  temporary.rename_to_target();
}

template <class T>
void require_finite(const std::filesystem::path& path, const TensorOf<T>& tensor) {
  const auto& values = tensor.values();
  const auto bad = std::find_if(values.begin(), values.end(), [](T value) { return !std::isfinite(value); });
  if (bad != values.end()) {
    fail(path, "has " + text_of(*bad) + " at " + index_text(bad - values.begin(), tensor.shape()) +
                   ", expected finite numbers");
  }
}

template TensorOf<float> read_npy(const std::filesystem::path&);
template TensorOf<double> read_npy(const std::filesystem::path&);
template void write_npy(const std::filesystem::path&, const TensorOf<float>&);
template void write_npy(const std::filesystem::path&, const TensorOf<double>&);
template void require_finite(const std::filesystem::path&, const TensorOf<float>&);
template void require_finite(const std::filesystem::path&, const TensorOf<double>&);

}  // namespace course
