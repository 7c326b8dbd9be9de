#include "means.hpp"

void means(course::MatrixView<const float> x, std::span<float> mean) {
  for (course::Index row = 0; row < x.rows(); ++row) {
    float sum = 0;
    for (course::Index col = 0; col < x.cols(); ++col) sum += x(row, col);
    mean[row] = sum / static_cast<float>(x.cols());
  }
}

void weighted_means(course::MatrixView<const float> x, std::span<const float> w, std::span<float> mean) {
  for (course::Index row = 0; row < x.rows(); ++row) {
    float sum = 0;
    float weights = 0;
    for (course::Index col = 0; col < x.cols(); ++col) {
      sum += w[col] * x(row, col);
      weights += w[col];
    }
    mean[row] = sum / weights;
  }
}
