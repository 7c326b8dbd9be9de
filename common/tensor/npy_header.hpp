#pragma once

#include <string>

#include "tensor/npy_file.hpp"

namespace course::npy {

struct Header {
  bool little_endian = true;
  Index item_bytes = 0;  ///< 2, 4 or 8
  bool fortran_order = false;
  Shape shape;
};

std::string dtype_name(const Header& header);

/// Reads what comes before the data. `remaining` is the number of bytes left in the file, before and after.
Header read_header(File& file, Index& remaining);

/// All that comes before the data in format 1.0, padded with blanks to a multiple of 64 bytes as NumPy does.
std::string header_text(Index item_bytes, const Shape& shape);

}  // namespace course::npy
