// What Eigen's vectorised exp makes of -inf. For this machine's own vector width, in the course's folder:
//   cmake --build build --target eigen_exp && build/bin/eigen_exp
// For others, in lessons/01_safe_softmax, with -msse2, -mavx2 -mfma or -march=native:
//   g++ -std=c++20 -O2 -msse2 -I/usr/include/eigen3 eigen_exp.cpp && ./a.out

#include <Eigen/Core>
#include <cstdio>
#include <limits>

namespace {

/// exp of `size` masked scores, entry by entry.
template <class T>
void print_exp_of_masked(const char* type, int size) {
  using Array = Eigen::Array<T, Eigen::Dynamic, 1>;
  const Array weights = Array::Constant(size, -std::numeric_limits<T>::infinity()).exp();
  std::printf("%s, %2d entries:", type, size);
  for (const T weight : weights) std::printf(" %.1e", static_cast<double>(weight));
  std::printf("\n");
}

}  // namespace

int main() {
  std::printf("%s\n", Eigen::SimdInstructionSetsInUse());
  print_exp_of_masked<float>("float", 16);
  print_exp_of_masked<float>("float", 5);
  print_exp_of_masked<double>("double", 8);
}
