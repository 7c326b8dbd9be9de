#include "tensor/npy.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace course {

namespace fs = std::filesystem;

namespace {

constexpr Index most_axes = 64;            // NumPy's own limit
constexpr Index longest_header = 2048;     // a plain array's takes about 100 bytes, 64 long axes 1400
constexpr Index values_at_once = 1 << 14;  // converted, so that a file is never held twice
constexpr std::string_view magic = "\x93NUMPY";

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// `text` with every control character replaced, so that a message stays on its line.
std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return text;
}

/// `text` in quotes, cut to a length that fits a message.
std::string quoted(const std::string& text) {
  constexpr std::size_t longest = 60;
  return "'" + printable(text.substr(0, longest)) + (text.size() > longest ? "..." : "") + "'";
}

[[noreturn]] void fail(const fs::path& path, const std::string& problem) {
  throw NpyError(printable(path.string()) + ": " + problem);
}

[[noreturn]] void fail_with_errno(const fs::path& path, const std::string& problem) {
  fail(path, problem + ": " + std::generic_category().message(errno));
}

void require_few_axes(const fs::path& path, const std::string& what, const Shape& shape) {
  if (std::ssize(shape) > most_axes) {
    fail(path, what + std::to_string(shape.size()) + " axes, expected at most " + std::to_string(most_axes));
  }
}

template <class T>
std::string text_of(T value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

/// The indices along each axis of the value at a row-major place: "[0, 17, 4]".
std::string index_text(Index place, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = place % shape[axis];
    place /= shape[axis];
  }
  return to_string(index);
}

struct Header {
  bool little_endian;
  Index item_bytes;  ///< 2, 4 or 8
  bool fortran_order;
  Shape shape;
};

Shape parse_shape(const fs::path& path, const std::string& tuple) {
  static const std::regex number("[0-9]+");
  Shape shape;
  for (std::sregex_iterator one(tuple.begin(), tuple.end(), number), end; one != end; ++one) {
    errno = 0;
    shape.push_back(std::strtoll(one->str().c_str(), nullptr, 10));
    if (errno != 0) {
      fail(path, "has the shape " + quoted(tuple) + ", expected extents from 0 to " +
                     std::to_string(std::numeric_limits<Index>::max()));
    }
  }
  require_few_axes(path, "has ", shape);
  return shape;
}

/// NumPy knows no bfloat16: it is saved as two bytes without a meaning, or its bits as an integer.
constexpr const char* bfloat16_hint =
    ". Is it bfloat16? Save x.astype(numpy.float32); of a tensor of PyTorch, x.float().numpy()";

/// The numbers that a reader takes.
enum class Numbers { Real, Whole };

/// Parses the header's Python dictionary.
Header parse_header(const fs::path& path, const std::string& text, Numbers numbers) {
  static const std::regex dictionary(R"(\s*\{([^{}]*)\}\s*)"), real("[<>]f[248]"), whole("[<>]i[48]"),
      two_bytes("[<>|=]?[Viu]2|bfloat16");
  static const std::string extent = R"((?:0|[1-9]\d*)\s*)";
  static const std::string tuple =
      R"(\(\s*(?:(?:)" + extent + ",\\s*)+(?:" + extent + R"()?)?\))";  // not (3)
  static const std::regex entry(R"(\s*['"](\w+)['"]\s*:\s*('[^']*'|"[^"]*"|True|False|)" + tuple +
                                R"()\s*(?:,\s*|$))");
  const auto reject = [&] {
    fail(path, "the header " + quoted(text) + " is not that of a plain array, expected one like " +
                   "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  };
  std::smatch inside;
  if (!std::regex_match(text, inside, dictionary)) reject();
  const std::string entries = inside[1];
  std::map<std::string, std::string> values;
  auto rest = entries.begin();
  const auto next = std::regex_constants::match_continuous;
  for (std::smatch one; std::regex_search(rest, entries.end(), one, entry, next); rest = one[0].second) {
    if (!values.emplace(one[1], one[2]).second) reject();
  }
  const std::string descr = values["descr"], order = values["fortran_order"], shape = values["shape"];
  const bool is_text = descr.starts_with('\'') || descr.starts_with('"');
  const bool is_bool = order == "True" || order == "False";
  if (rest != entries.end() || values.size() != 3 || !is_text || !is_bool || !shape.starts_with('('))
    reject();
  const std::string dtype = descr.substr(1, descr.size() - 2);
  if (numbers == Numbers::Whole && !std::regex_match(dtype, whole))
    fail(path, "has the dtype " + quoted(dtype) + ", expected int32 or int64 ('<i4', '<i8' or with '>')");
  if (numbers == Numbers::Real && !std::regex_match(dtype, real)) {
    fail(path, "has the dtype " + quoted(dtype) +
                   ", expected float16, float32 or float64 ('<f2', '<f4', '<f8' or with '>')" +
                   (std::regex_match(dtype, two_bytes) ? bfloat16_hint : ""));
  }
  return {dtype[0] == '<', dtype[2] - '0', order == "True", parse_shape(path, shape)};
}

/// Reads a file from its beginning, which may be no .npy file at all.
class Reader {
 public:
  Reader(const fs::path& path, int descriptor) : path_(path), file_(fdopen(descriptor, "rb"), std::fclose) {
    struct stat status {};
    if (!file_ || ::fstat(descriptor, &status) != 0) fail_with_errno(path, "cannot be examined");
    if (S_ISDIR(status.st_mode)) fail(path, "is a folder, expected a .npy file");
    if (!S_ISREG(status.st_mode)) fail(path, "is a device or a pipe, expected a .npy file");
    remaining_ = status.st_size;
  }

  /// Throws NpyError that names `what` where the file does not hold so many bytes more.
  std::string take(Index count, const std::string& what) {
    if (count > remaining_) {
      fail(path_, "ends inside its " + what + ", expected " + std::to_string(count) +
                      " more bytes where there are " + std::to_string(remaining_));
    }
    std::string bytes(count, '\0');
    if (std::fread(bytes.data(), 1, count, file_.get()) != bytes.size()) {
      if (std::ferror(file_.get()) != 0) fail_with_errno(path_, "cannot be read");
      fail(path_, "became shorter while being read, expected it to stay as it was");
    }
    remaining_ -= count;
    return bytes;
  }

  Index remaining() const { return remaining_; }

 private:
  const fs::path& path_;
  File file_;
  Index remaining_ = 0;
};

/// The number that the bytes are, the lowest first.
std::uint64_t number_in(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

Header read_header(const fs::path& path, Reader& file, Numbers numbers) {
  const std::string start = file.take(magic.size() + 2, "first 8 bytes, which name the format");
  if (!start.starts_with(magic)) {
    fail(path, "is not a .npy file: it begins with " + quoted(start.substr(0, magic.size())) +
                   ", expected '\\x93NUMPY'");
  }
  const int major = start[6], minor = start[7];
  if (major < 1 || major > 3 || minor != 0) {
    fail(path, "has the format version " + std::to_string(major) + "." + std::to_string(minor) +
                   ", expected 1.0, 2.0 or 3.0");
  }
  const auto bytes = static_cast<Index>(number_in(file.take(major == 1 ? 2 : 4, "header length")));
  if (bytes > longest_header) {
    fail(path, "has a header of " + std::to_string(bytes) + " bytes, expected at most " +
                   std::to_string(longest_header));
  }
  return parse_header(path, file.take(bytes, "header"), numbers);
}

/// The number of values, after checking that exactly so many are in the file's `remaining` bytes. Nothing has
/// been allocated yet, so a header that promises too much costs nothing.
Index require_data_size(const fs::path& path, const Header& header, Index remaining) {
  const std::string data = "float" + std::to_string(8 * header.item_bytes) + " " + to_string(header.shape);
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
double half_to_double(std::uint64_t bits) {
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

std::uint64_t bits_of(char* item, const Header& header) {
  if (!header.little_endian) std::reverse(item, item + header.item_bytes);
  return number_in({item, static_cast<std::size_t>(header.item_bytes)});
}

double decode(std::uint64_t bits, const Header& header) {
  if (header.item_bytes == 2) return half_to_double(bits);
  return header.item_bytes == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                                : std::bit_cast<double>(bits);
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

template <class T>
std::vector<T> read_values(const fs::path& path, Reader& file, const Header& header, Index count) {
  constexpr double largest = std::numeric_limits<T>::max();
  std::vector<T> values(count);
  for (Index first = 0; first < count; first += values_at_once) {
    const Index in_chunk = std::min(values_at_once, count - first);
    std::string chunk = file.take(in_chunk * header.item_bytes, "data");
    for (Index i = 0; i < in_chunk; ++i) {
      const Index place = header.fortran_order ? row_major_place(first + i, header.shape, count) : first + i;
      const std::uint64_t bits = bits_of(chunk.data() + i * header.item_bytes, header);
      if constexpr (sizeof(T) == 4) {
        if (header.item_bytes == 4) {  // as it is: a conversion would take a NaN's payload away
          values[place] = std::bit_cast<T>(static_cast<std::uint32_t>(bits));
          continue;
        }
      }
      const double value = decode(bits, header);
      // Rounding would turn it into infinity.
      if (std::isfinite(value) && std::abs(value) > largest) {
        fail(path, "has " + text_of(value) + " at " + index_text(place, header.shape) +
                       ", expected magnitudes up to float32's " + text_of(largest));
      }
      values[place] = static_cast<T>(value);
    }
  }
  return values;
}

/// All that comes before the data in format 1.0, padded with blanks to a multiple of 64 bytes as NumPy does.
std::string header_text(Index item_bytes, const Shape& shape) {
  std::string extents = to_string(shape).substr(1);
  extents.back() = shape.size() == 1 ? ',' : ')';
  if (shape.size() == 1) extents += ')';
  std::string dictionary = "{'descr': '<f" + std::to_string(item_bytes) +
                           "', 'fortran_order': False, 'shape': (" + extents + ", }";
  const std::size_t prefix = magic.size() + 4;  // version and header length, two bytes each
  dictionary.append((128 - (prefix + dictionary.size() + 1) % 64) % 64, ' ').append(1, '\n');
  const char low = static_cast<char>(dictionary.size() & 0xff);
  const char high = static_cast<char>(dictionary.size() >> 8);
  return std::string(magic) + std::string{1, 0, low, high} + dictionary;
}

/// Opens a new file beside `target` under the first name that nobody has: other ranks and threads may be
/// writing into the same folder.
std::pair<fs::path, File> new_file_beside(const fs::path& target) {
  for (int attempt = 0;; ++attempt) {
    const fs::path name = target.parent_path() /
                          (".npy-" + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".tmp");
    if (std::FILE* file = std::fopen(name.c_str(), "wbxe")) return {name, File(file, std::fclose)};
    if (errno != EEXIST) fail_with_errno(target, "cannot be written");
  }
}

/// Writes all parts or leaves what was there.
void replace_file(const fs::path& target, std::initializer_list<std::string_view> parts) {
  auto [name, file] = new_file_beside(target);
  bool written = true;
  for (const std::string_view part : parts) {
    // The data of an empty part may be null, which fwrite must not be given.
    if (!part.empty()) written &= std::fwrite(part.data(), 1, part.size(), file.get()) == part.size();
  }
  // Some file systems report a full disk only when a file is closed.
  if (std::fclose(file.release()) == 0 && written && ::rename(name.c_str(), target.c_str()) == 0) return;
  const int reason = errno;
  ::unlink(name.c_str());
  errno = reason;
  fail_with_errno(target, "cannot be written");
}

/// Renaming would silently replace a device such as /dev/null by a file.
void require_replaceable(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status) || fs::is_regular_file(status)) return;
  fail(path, std::string("cannot be written: it is ") +
                 (fs::is_directory(status) ? "a folder" : "a device or a pipe") +
                 ", expected a file or a free name");
}

/// Without waiting, so that a FIFO nobody writes to does not hold up its reader.
int open_to_read(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) fail_with_errno(path, "cannot be opened, expected a .npy file");
  return descriptor;
}

}  // namespace

template <class T>
TensorOf<T> read_npy(const fs::path& name, int descriptor) {
  Reader file(name, descriptor);
  const Header header = read_header(name, file, Numbers::Real);
  const Index count = require_data_size(name, header, file.remaining());
  return {header.shape, read_values<T>(name, file, header, count)};
}

template <class T>
TensorOf<T> read_npy(const fs::path& path) {
  return read_npy<T>(path, open_to_read(path));
}

Shape npy_shape(const fs::path& path) {
  Reader file(path, open_to_read(path));
  return read_header(path, file, Numbers::Real).shape;
}

std::vector<Index> read_npy_whole_numbers(const fs::path& path) {
  Reader file(path, open_to_read(path));
  const Header header = read_header(path, file, Numbers::Whole);
  if (header.shape.size() != 1)
    fail(path, "has " + std::to_string(header.shape.size()) + " axes, expected a list of numbers");
  std::vector<Index> numbers(require_data_size(path, header, file.remaining()));
  for (Index& number : numbers) {
    std::string item = file.take(header.item_bytes, "data");
    const std::uint64_t bits = bits_of(item.data(), header);
    number = header.item_bytes == 4 ? std::bit_cast<std::int32_t>(static_cast<std::uint32_t>(bits))
                                    : std::bit_cast<std::int64_t>(bits);
  }
  return numbers;
}

template <class T>
void require_finite(const fs::path& path, const TensorOf<T>& tensor) {
  const auto& values = tensor.values();
  const auto bad = std::ranges::find_if_not(values, [](T value) { return std::isfinite(value); });
  if (bad == values.end()) return;
  fail(path, "has " + text_of(*bad) + " at " + index_text(bad - values.begin(), tensor.shape()) +
                 ", expected finite numbers");
}

template <class T>
void write_npy(const fs::path& path, const TensorOf<T>& tensor) {
  static_assert(std::endian::native == std::endian::little);
  require_few_axes(path, "cannot be written: the tensor has ", tensor.shape());
  require_replaceable(path);
  const std::string header = header_text(sizeof(T), tensor.shape());
  const std::size_t bytes = tensor.values().size() * sizeof(T);
  replace_file(path, {header, {reinterpret_cast<const char*>(tensor.data()), bytes}});
}

template Tensor read_npy(const fs::path&, int);
template Tensor read_npy(const fs::path&);
template Tensor64 read_npy(const fs::path&);
template void require_finite(const fs::path&, const Tensor&);
template void write_npy(const fs::path&, const Tensor&);
template void write_npy(const fs::path&, const Tensor64&);

}  // namespace course
