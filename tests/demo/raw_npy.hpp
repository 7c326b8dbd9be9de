#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace course {

/// How the numbers of a .npy file are laid out, beyond what the course itself writes.
struct RawFormat {
  int bytes = 4;  ///< 2, 4 or 8: float16, float32, float64
  bool big_endian = false;
  bool fortran_order = false;
};

/// A value that float16 holds exactly, not 0 and not subnormal. Source: IEEE 754 binary16.
inline std::uint16_t half_bits(double value) {
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);  // in [1/2, 1)
  const int sign = value < 0 ? 0x8000 : 0;
  return static_cast<std::uint16_t>(sign | (exponent + 14) << 10 |
                                    (static_cast<int>(fraction * 2048) & 0x3ff));
}

inline std::string raw_value(double value, RawFormat format) {
  std::uint64_t bits = half_bits(value);
  if (format.bytes == 4) bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (format.bytes == 8) bits = std::bit_cast<std::uint64_t>(value);
  std::string text;
  for (int i = 0; i < format.bytes; ++i) {
    const int byte = format.big_endian ? format.bytes - 1 - i : i;
    text += static_cast<char>(bits >> (8 * byte) & 0xff);
  }
  return text;
}

/// The indices of a row-major array in the order in which a Fortran-ordered file stores them.
inline std::vector<Index> fortran_sequence(const Shape& shape) {
  std::vector<Index> places{0};
  Index stride = element_count(shape);
  for (const Index extent : shape) {  // the first axis runs fastest
    stride /= extent;
    std::vector<Index> longer;
    for (Index i = 0; i < extent; ++i) {
      for (const Index place : places) longer.push_back(place + i * stride);
    }
    places = std::move(longer);
  }
  return places;
}

/// "('<f4', False, (3, 4))" as a version 1.0 header, unpadded, which NumPy reads as well.
inline std::string raw_header(const std::string& descr, bool fortran_order, const Shape& shape) {
  std::string extents;
  for (const Index extent : shape) extents += std::to_string(extent) + ",";
  const std::string dictionary = "{'descr': '" + descr +
                                 "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                                 ", 'shape': (" + extents + ")}\n";
  const char length[] = {static_cast<char>(dictionary.size() & 0xff),
                         static_cast<char>(dictionary.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + std::string(length, 2) + dictionary;
}

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline void write_raw_npy(const std::filesystem::path& path, const Tensor& tensor, RawFormat format) {
  const std::string descr = (format.big_endian ? ">f" : "<f") + std::to_string(format.bytes);
  std::string bytes = raw_header(descr, format.fortran_order, tensor.shape());
  if (format.fortran_order) {
    for (const Index place : fortran_sequence(tensor.shape())) bytes += raw_value(tensor[place], format);
  } else {
    for (const float value : tensor.values()) bytes += raw_value(value, format);
  }
  write_bytes(path, bytes);
}

}  // namespace course
