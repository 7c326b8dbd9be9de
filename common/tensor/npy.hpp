#pragma once

#include <filesystem>
#include <stdexcept>
#include <vector>

#include "tensor/tensor.hpp"

namespace course {

/// A file that is not what was asked for, or that cannot be written. what() is one line: the path, what is
/// wrong, what was expected.
struct NpyError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads a NumPy .npy file (format 1.0, 2.0 or 3.0) of float16, float32 or float64, in either byte order, C
/// or Fortran order; the result is row-major. The file's size must match its header exactly. The size is
/// compared with the header before anything is allocated, and a pipe is refused without waiting for it.
/// Throws NpyError for a file that is missing, a folder, a device, a pipe, truncated, too long, not .npy or
/// of another dtype, and for a finite value outside float32's range (with its index) when T is float. Source:
/// NumPy Enhancement Proposal 1.
template <class T>
TensorOf<T> read_npy(const std::filesystem::path& path);

/// The same from an open file, which is closed; `name` is what messages call it.
template <class T>
TensorOf<T> read_npy(const std::filesystem::path& name, int descriptor);

/// The shape that such a file's header says. Throws NpyError as read_npy does of headers.
Shape npy_shape(const std::filesystem::path& path);

/// A list of int32 or int64, as read_npy reads a tensor.
std::vector<Index> read_npy_whole_numbers(const std::filesystem::path& path);

/// Writes format 1.0, little endian, C order, under a temporary name beside `path` that is then renamed, so
/// that a reader sees the whole file or none; an older file of that name is replaced. Throws NpyError with
/// the path when that fails or `path` is a folder, a device or a pipe.
template <class T>
void write_npy(const std::filesystem::path& path, const TensorOf<T>& tensor);

/// Throws NpyError with the path, the value and its index at the first NaN or infinity.
template <class T>
void require_finite(const std::filesystem::path& path, const TensorOf<T>& tensor);

}  // namespace course
