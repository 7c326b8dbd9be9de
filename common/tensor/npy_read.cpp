#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>

#include "tensor/npy_header.hpp"

namespace course {

namespace npy {

namespace {

template <class T>
std::string text_of(T value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

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

std::string index_text(Index place, const Shape& shape) {
  Shape index(shape.size());
  for (Index axis = static_cast<Index>(shape.size()) - 1; axis >= 0; --axis) {
    index[axis] = place % shape[axis];
    place /= shape[axis];
  }
  return to_string(index);
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

}  // namespace

}  // namespace npy

template <class T>
TensorOf<T> read_npy(const std::filesystem::path& name, int descriptor) {
  npy::File file(name, descriptor);
  Index remaining = npy::regular_size(file);
  const npy::Header header = npy::read_header(file, remaining);
  const Index count = npy::require_data_size(name, header, remaining);
  return {header.shape, npy::read_values<T>(file, header, count)};
}

template <class T>
TensorOf<T> read_npy(const std::filesystem::path& path) {
  return read_npy<T>(path, npy::open_for_reading(path));
}

template <class T>
void require_finite(const std::filesystem::path& path, const TensorOf<T>& tensor) {
  const auto& values = tensor.values();
  const auto bad = std::find_if(values.begin(), values.end(), [](T value) { return !std::isfinite(value); });
  if (bad != values.end()) {
    npy::fail(path, "has " + npy::text_of(*bad) + " at " +
                        npy::index_text(bad - values.begin(), tensor.shape()) + ", expected finite numbers");
  }
}

template TensorOf<float> read_npy(const std::filesystem::path&, int);
template TensorOf<float> read_npy(const std::filesystem::path&);
template TensorOf<double> read_npy(const std::filesystem::path&);
template void require_finite(const std::filesystem::path&, const TensorOf<float>&);
template void require_finite(const std::filesystem::path&, const TensorOf<double>&);

}  // namespace course
