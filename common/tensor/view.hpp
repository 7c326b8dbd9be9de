#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace course {

/// Signed, as in Eigen: sizes and positions are subtracted, and `rank - 1` must be able to be -1.
using Index = std::ptrdiff_t;

#ifdef COURSE_CHECK_BOUNDS
inline constexpr bool check_bounds = true;
#else
inline constexpr bool check_bounds = false;
#endif

/// Where a call stands. As a default argument, where the function is called that has it: what
/// std::source_location is in compilers that have it.
struct Caller {
  const char* file;  ///< its path as the compiler was given it
  int line;

  static constexpr Caller here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// "attention_backward.cpp, line 41"
inline std::string to_string(Caller caller) {
  const std::string path = caller.file;
  return path.substr(path.rfind('/') + 1) + ", line " + std::to_string(caller.line);
}

/// Thrown by a view that was asked for what it does not have. Who knows whose numbers it shows can say so.
class OutsideView : public std::out_of_range {
 public:
  OutsideView(const std::string& what, const void* data, Caller caller, const char* axis = "",
              Index extent = -1)
      : std::out_of_range(what + " (" + to_string(caller) + ")"), data_(data), axis_(axis), extent_(extent) {}

  /// Where the view begins.
  const void* data() const { return data_; }
  /// Of an index: "row", "col" or "head", and how many of these the view has; else "" and -1.
  const std::string& axis() const { return axis_; }
  Index extent() const { return extent_; }

 private:
  const void* data_;
  std::string axis_;  // outlives the answer, whose text it may be
  Index extent_;
};

/// Throws OutsideView naming `index` and `size`. Apart from the check, which the compiler then puts where it
/// is called.
[[noreturn, gnu::noinline]] inline void throw_outside(const char* what, Index index, Index size,
                                                      const void* data, Caller caller) {
  const std::string name = std::string(what) + " " + std::to_string(index);
  throw OutsideView(
      size == 0 ? name + " of a view that has none" : name + " is outside 0.." + std::to_string(size - 1),
      data, caller, what, size);
}

/// Throws OutsideView naming `index` and `size` unless 0 <= index < size. Free in unchecked builds.
inline void require_index([[maybe_unused]] const char* what, [[maybe_unused]] Index index,
                          [[maybe_unused]] Index size, [[maybe_unused]] const void* data,
                          [[maybe_unused]] Caller caller) {
  if constexpr (check_bounds) {
    if (index < 0 || index >= size) throw_outside(what, index, size, data, caller);
  }
}

/// Throws OutsideView unless 0 <= count <= cols, in every build: views are cut seldom.
inline void require_columns(Index count, Index cols, const void* data, Caller caller) {
  if (0 <= count && count <= cols) return;
  throw OutsideView(
      "the first " + std::to_string(count) + " columns of a view of " + std::to_string(cols) + " columns",
      data, caller);
}

/// A row-major matrix [rows, cols] that somebody else owns. Copying the view does not copy the numbers. Row i
/// begins at data() + i * row_stride(); rows follow each other without a gap unless somebody has taken a part
/// of the columns (first_columns).
template <class T>
class MatrixView {
 public:
  MatrixView(T* data, Index rows, Index cols) : MatrixView(data, rows, cols, cols) {}
  MatrixView(T* data, Index rows, Index cols, Index row_stride)
      : data_(data), rows_(rows), cols_(cols), row_stride_(row_stride) {}

  /// A view that may write is also a view that may read.
  template <class U>
  requires(std::is_same_v<T, const U>) MatrixView(MatrixView<U> other)
      : MatrixView(other.data(), other.rows(), other.cols(), other.row_stride()) {}

  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  Index row_stride() const { return row_stride_; }
  Index size() const { return rows_ * cols_; }
  T* data() const { return data_; }

  T& operator()(Index row, Index col, Caller caller = Caller::here()) const {
    require_index("row", row, rows_, data_, caller);
    require_index("col", col, cols_, data_, caller);
    return data_[row * row_stride_ + col];
  }

  /// Row `row` as a span of `cols()` numbers.
  std::span<T> row(Index row, Caller caller = Caller::here()) const {
    require_index("row", row, rows_, data_, caller);
    return {data_ + row * row_stride_, static_cast<std::size_t>(cols_)};
  }

  /// Rows first .. first + count - 1 as a view of their own. An empty range is allowed.
  MatrixView rows(Index first, Index count, Caller caller = Caller::here()) const {
    if (first < 0 || count < 0 || first + count > rows_) {
      throw OutsideView("rows " + std::to_string(first) + " to " + std::to_string(first + count - 1) +
                            " are outside a view of " + std::to_string(rows_) + " rows",
                        data_, caller);
    }
    return {data_ + first * row_stride_, count, cols_, row_stride_};
  }

  /// The first `count` columns of every row as a view of their own, whose rows have gaps between them.
  MatrixView first_columns(Index count, Caller caller = Caller::here()) const {
    require_columns(count, cols_, data_, caller);
    return {data_, rows_, count, row_stride_};
  }

 private:
  T* data_;
  Index rows_;
  Index cols_;
  Index row_stride_;
};

/// A row-major tensor [heads, seq, head_dim] that somebody else owns; a batch is folded into heads. Without
/// gaps, but where somebody has taken a part of the columns (first_columns).
template <class T>
class HeadsView {
 public:
  HeadsView(T* data, Index heads, Index seq, Index head_dim)
      : HeadsView(data, heads, seq, head_dim, head_dim) {}
  HeadsView(T* data, Index heads, Index seq, Index head_dim, Index row_stride)
      : data_(data), heads_(heads), seq_(seq), head_dim_(head_dim), row_stride_(row_stride) {}

  template <class U>
  requires(std::is_same_v<T, const U>) HeadsView(HeadsView<U> other)
      : HeadsView(other.data(), other.heads(), other.seq(), other.head_dim(), other.row_stride()) {}

  Index heads() const { return heads_; }
  Index seq() const { return seq_; }
  Index head_dim() const { return head_dim_; }
  Index row_stride() const { return row_stride_; }
  /// How many numbers it shows; where rows have gaps between them, it reaches further than so many from
  /// data().
  Index size() const { return heads_ * seq_ * head_dim_; }
  bool is_contiguous() const { return row_stride_ == head_dim_; }
  /// From its first number to behind its last.
  Index extent() const { return size() == 0 ? 0 : (heads_ * seq_ - 1) * row_stride_ + head_dim_; }
  T* data() const { return data_; }

  /// One head as a matrix [seq, head_dim].
  MatrixView<T> head(Index head, Caller caller = Caller::here()) const {
    require_index("head", head, heads_, data_, caller);
    return {data_ + head * seq_ * row_stride_, seq_, head_dim_, row_stride_};
  }

  /// The first `count` columns of every row, as MatrixView::first_columns.
  HeadsView first_columns(Index count, Caller caller = Caller::here()) const {
    require_columns(count, head_dim_, data_, caller);
    return {data_, heads_, seq_, count, row_stride_};
  }

  T& operator()(Index head, Index row, Index col, Caller caller = Caller::here()) const {
    return this->head(head, caller)(row, col, caller);
  }

 private:
  T* data_;
  Index heads_;
  Index seq_;
  Index head_dim_;
  Index row_stride_;
};

}  // namespace course
