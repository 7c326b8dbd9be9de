#include <Eigen/Core>
#include <chrono>
#include <memory>
#include <thread>

#include "bench/contender.hpp"
#include "bench/cores.hpp"

namespace course::bench {

namespace {

constexpr Eigen::Index size = 1024;

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Product {
  Matrix a = Matrix::Random(size, size);
  Matrix b = Matrix::Random(size, size);
  Matrix c{size, size};

  double seconds(int calls) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) c.noalias() = a * b;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls;
  }
};

}  // namespace

Contender eigen_product(std::string name, int core) {
  const auto product = std::make_shared<Product>();
  const auto seconds = [product, core](int calls) {
    double each = 0;
    // In a thread, so that this process may leave that core to the players.
    std::thread([&] {
      stay_on_core(core);
      each = product->seconds(calls);
    }).join();
    return each;
  };
  return {std::move(name), 2.0 * size * size * size, seconds, [] { return 0.0; }};
}

}  // namespace course::bench
