#pragma once

#include "tensor/view.hpp"

/// The mean of each row of x [rows, cols] into mean [rows], weighed by w [cols] in `weighted`.
void means(course::MatrixView<const float> x, std::span<float> mean);
void weighted_means(course::MatrixView<const float> x, std::span<const float> w, std::span<float> mean);
