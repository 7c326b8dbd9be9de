#pragma once

/// CUDA's small vectors, of the sizes and alignments that it gives them. Source: CUDA C++ Programming Guide
/// 13, built-in types.
#define COURSE_VECTORS(T, name)                                     \
  struct alignas(2 * sizeof(T)) name##2 {                           \
    T x, y;                                                         \
  };                                                                \
  struct name##3 {                                                  \
    T x, y, z;                                                      \
  };                                                                \
  struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) name##4 { \
    T x, y, z, w;                                                   \
  };                                                                \
  inline name##2 make_##name##2(T x, T y) {                         \
    return {x, y};                                                  \
  }                                                                 \
  inline name##3 make_##name##3(T x, T y, T z) {                    \
    return {x, y, z};                                               \
  }                                                                 \
  inline name##4 make_##name##4(T x, T y, T z, T w) {               \
    return {x, y, z, w};                                            \
  }

COURSE_VECTORS(float, float)
COURSE_VECTORS(double, double)
COURSE_VECTORS(int, int)

#undef COURSE_VECTORS
