#include "tensor/tensor.hpp"

#include <algorithm>
#include <limits>

namespace course {
namespace {

/// A shape seen from one axis: the axes before it and those after it are folded into one each.
struct Folded {
  Index outer;
  Index extent;
  Index inner;
};

Folded fold(const Shape& shape, Index axis) {
  if (axis < 0 || axis >= static_cast<Index>(shape.size())) {
    throw std::out_of_range("axis " + std::to_string(axis) + " of shape " + to_string(shape) +
                            ", which has " + std::to_string(shape.size()) + " axes");
  }
  const auto at = shape.begin() + axis;
  return {element_count({shape.begin(), at}), *at, element_count({at + 1, shape.end()})};
}

template <class T>
std::string shapes_of(const std::vector<TensorOf<T>>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : ", ") + to_string(part.shape());
  return text;
}

/// The shape of all parts one after another along `axis`.
template <class T>
Shape joined_shape(const std::vector<TensorOf<T>>& parts, Index axis) {
  if (parts.empty()) throw std::invalid_argument("cannot concatenate 0 tensors, expected at least 1");
  Shape joined = parts.front().shape();
  const Index own = fold(joined, axis).extent;
  Index total = 0;
  for (const auto& part : parts) {
    Shape other = part.shape();
    if (other.size() == joined.size()) {
      total += other[axis];
      other[axis] = own;
    }
    if (other != joined) {
      throw std::invalid_argument("cannot concatenate shapes " + shapes_of(parts) +
                                  ": expected them to agree in every axis but axis " + std::to_string(axis));
    }
  }
  joined[axis] = total;
  return joined;
}

}  // namespace

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    text += (axis == 0 ? "" : ", ") + std::to_string(shape[axis]);
  }
  return text + "]";
}

Index element_count(const Shape& shape) {
  for (const Index extent : shape) {
    if (extent < 0) {
      throw std::invalid_argument("shape " + to_string(shape) + " has the extent " + std::to_string(extent) +
                                  ", expected at least 0");
    }
  }
  // A zero anywhere makes the product 0, however large the other extents are.
  if (std::count(shape.begin(), shape.end(), 0) > 0) return 0;
  Index count = 1;
  for (const Index extent : shape) {
    if (count > std::numeric_limits<Index>::max() / extent) {
      throw std::invalid_argument("shape " + to_string(shape) + " has too many elements, expected at most " +
                                  std::to_string(std::numeric_limits<Index>::max()));
    }
    count *= extent;
  }
  return count;
}

template <class T>
TensorOf<T> slice(const TensorOf<T>& from, Index axis, Index first, Index count) {
  const Folded source = fold(from.shape(), axis);
  if (first < 0 || count < 0 || count > source.extent - first) {
    throw std::out_of_range("a slice of " + std::to_string(count) + " from " + std::to_string(first) +
                            " on is outside axis " + std::to_string(axis) + " of shape " +
                            to_string(from.shape()));
  }
  Shape shape = from.shape();
  shape[axis] = count;
  TensorOf<T> result(shape);
  const Index run = count * source.inner;  // what is contiguous in the source
  for (Index outer = 0; outer < source.outer; ++outer) {
    std::copy_n(from.data() + (outer * source.extent + first) * source.inner, run,
                result.data() + outer * run);
  }
  return result;
}

template <class T>
TensorOf<T> take(const TensorOf<T>& from, Index axis, std::span<const Index> indices) {
  const Folded source = fold(from.shape(), axis);
  for (const Index index : indices) {
    if (index >= 0 && index < source.extent) continue;
    throw std::out_of_range("there is no entry " + std::to_string(index) + " along axis " +
                            std::to_string(axis) + " of shape " + to_string(from.shape()));
  }
  Shape shape = from.shape();
  shape[axis] = std::ssize(indices);
  TensorOf<T> result(shape);
  T* to = result.data();
  for (Index outer = 0; outer < source.outer; ++outer) {
    for (const Index index : indices)
      to = std::copy_n(from.data() + (outer * source.extent + index) * source.inner, source.inner, to);
  }
  return result;
}

template <class T>
TensorOf<T> concatenate(const std::vector<TensorOf<T>>& parts, Index axis) {
  TensorOf<T> result(joined_shape(parts, axis));
  const Folded target = fold(result.shape(), axis);
  Index first = 0;
  for (const auto& part : parts) {
    const Index run = part.extent(axis) * target.inner;
    for (Index outer = 0; outer < target.outer; ++outer) {
      std::copy_n(part.data() + outer * run, run,
                  result.data() + (outer * target.extent + first) * target.inner);
    }
    first += part.extent(axis);
  }
  return result;
}

template TensorOf<float> slice(const TensorOf<float>&, Index, Index, Index);
template TensorOf<double> slice(const TensorOf<double>&, Index, Index, Index);
template TensorOf<float> take(const TensorOf<float>&, Index, std::span<const Index>);
template TensorOf<double> take(const TensorOf<double>&, Index, std::span<const Index>);
template TensorOf<float> concatenate(const std::vector<TensorOf<float>>&, Index);
template TensorOf<double> concatenate(const std::vector<TensorOf<double>>&, Index);

}  // namespace course
