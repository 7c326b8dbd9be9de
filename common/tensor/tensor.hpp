#pragma once

#include <initializer_list>
#include <numeric>
#include <string>
#include <vector>

#include "tensor/view.hpp"

namespace course {

using Shape = std::vector<Index>;

/// "[12, 512, 32]".
std::string to_string(const Shape& shape);

/// The product of the extents; 1 for a scalar's empty shape. Throws std::invalid_argument with the shape for
/// a negative extent and for a product that no Index holds.
Index element_count(const Shape& shape);

/// A row-major tensor that owns its numbers.
template <class T>
class TensorOf {
 public:
  TensorOf() = default;
  explicit TensorOf(Shape shape, T fill = T{0})
      : shape_(std::move(shape)), values_(element_count(shape_), fill) {}
  /// Throws std::invalid_argument with both counts when `values` does not fill `shape`.
  TensorOf(Shape shape, std::vector<T> values) : shape_(std::move(shape)), values_(std::move(values)) {
    if (static_cast<Index>(values_.size()) != element_count(shape_)) {
      throw std::invalid_argument("a tensor of shape " + to_string(shape_) + " needs " +
                                  std::to_string(element_count(shape_)) + " values, not " +
                                  std::to_string(values_.size()));
    }
  }

  const Shape& shape() const { return shape_; }
  Index rank() const { return static_cast<Index>(shape_.size()); }
  Index extent(Index axis) const { return shape_.at(axis); }
  Index size() const { return static_cast<Index>(values_.size()); }
  T* data() { return values_.data(); }
  const T* data() const { return values_.data(); }
  std::vector<T>& values() { return values_; }
  const std::vector<T>& values() const { return values_; }
  T& operator[](Index i) { return values_[i]; }
  const T& operator[](Index i) const { return values_[i]; }

  /// A vector's one axis as a span. Throws std::invalid_argument with the shape for any other rank.
  std::span<T> flat() { return require(1), std::span<T>(values_); }
  std::span<const T> flat() const { return require(1), std::span<const T>(values_); }
  /// [rows, cols]. Throws std::invalid_argument with the shape for any other rank.
  MatrixView<T> matrix() { return require(2), MatrixView<T>(data(), shape_[0], shape_[1]); }
  MatrixView<const T> matrix() const { return require(2), MatrixView<const T>(data(), shape_[0], shape_[1]); }
  /// [heads, seq, head_dim]. Throws std::invalid_argument with the shape for any other rank.
  HeadsView<T> heads() { return require(3), HeadsView<T>(data(), shape_[0], shape_[1], shape_[2]); }
  HeadsView<const T> heads() const {
    return require(3), HeadsView<const T>(data(), shape_[0], shape_[1], shape_[2]);
  }

 private:
  void require(Index rank) const {
    if (this->rank() != rank) {
      throw std::invalid_argument("a tensor of shape " + to_string(shape_) + " has " +
                                  std::to_string(this->rank()) + " axes, expected " + std::to_string(rank));
    }
  }

  Shape shape_{0};
  std::vector<T> values_;
};

/// Course data: float32.
using Tensor = TensorOf<float>;
/// What the reference computes: float64.
using Tensor64 = TensorOf<double>;

template <class To, class From>
TensorOf<To> cast(const TensorOf<From>& from) {
  return {from.shape(), std::vector<To>(from.values().begin(), from.values().end())};
}

/// Entries first .. first + count - 1 along axis `axis`, copied; count may be 0. Throws std::out_of_range
/// with the shape when there is no such axis or no such range.
template <class T>
TensorOf<T> slice(const TensorOf<T>& from, Index axis, Index first, Index count);

/// Entries indices[0], indices[1] ... along axis `axis`, copied, as NumPy's take. Throws std::out_of_range
/// with the shape when there is no such axis or no such entry.
template <class T>
TensorOf<T> take(const TensorOf<T>& from, Index axis, std::span<const Index> indices);

/// Joins tensors, at least one, that agree in every axis but `axis`. Throws std::invalid_argument with the
/// shapes when they do not agree, std::out_of_range when there is no such axis.
template <class T>
TensorOf<T> concatenate(const std::vector<TensorOf<T>>& parts, Index axis);

}  // namespace course
