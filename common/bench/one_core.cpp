#include <Eigen/Core>
#include <algorithm>

#include "bench/contender.hpp"
#include "bench/entry.hpp"
#include "demo/loading.hpp"

namespace course::bench {

namespace {

constexpr Index key_block = 256;

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Product {
  static constexpr Index size = 1024;
  Matrix a = Matrix::Random(size, size);
  Matrix b = Matrix::Random(size, size);
  Matrix c{size, size};
  void run() { c.noalias() = a * b; }
};

/// A contender of which `State` has run() and error().
template <class State>
Contender contender(std::string name, double operations, std::shared_ptr<State> state) {
  return {std::move(name), operations, [state] { return seconds_of([&] { state->run(); }); },
          [state] {
            state->run();
            return state->error();
          }};
}

struct Forward {
  decltype(&course_bench_forward) call;
  std::shared_ptr<const Problem> problem;
  Tensor o{problem->o.shape()};
  Tensor lse{problem->lse.shape()};

  void run() {
    call(problem->q.heads(), problem->k.heads(), problem->v.heads(), key_block, o.heads(), lse.matrix());
  }
  double error() const { return relative_error(o.heads(), problem->o.heads()); }
};

struct Backward {
  decltype(&course_bench_backward) call;
  std::shared_ptr<const Problem> problem;
  Tensor d_lse{problem->lse.shape()};
  std::vector<Index> visible = std::vector<Index>(problem->extents.tokens, problem->extents.tokens);
  Tensor dq{problem->q.shape()};
  Tensor dk{problem->k.shape()};
  Tensor dv{problem->v.shape()};

  void run() {
    call(problem->q.heads(), problem->k.heads(), problem->v.heads(), problem->o.heads(),
         problem->lse.matrix(), problem->d_o.heads(), d_lse.matrix(), visible, key_block, dq.heads(),
         dk.heads(), dv.heads());
  }
  double error() const {
    return std::max({relative_error(dq.heads(), problem->dq.heads()),
                     relative_error(dk.heads(), problem->dk.heads()),
                     relative_error(dv.heads(), problem->dv.heads())});
  }
};

}  // namespace

Contender eigen_product(std::string name) {
  const auto product = std::make_shared<Product>();
  const double size = Product::size;
  return {std::move(name), 2 * size * size * size, [product] { return seconds_of([&] { product->run(); }); },
          [] { return 0.0; }};
}

Contender forward(std::string name, const std::filesystem::path& library,
                  std::shared_ptr<const Problem> problem) {
  const auto call = demo::require_entry<decltype(course_bench_forward)>(library, "course_bench_forward");
  return contender(std::move(name), forward_operations(problem->extents),
                   std::make_shared<Forward>(Forward{call, problem}));
}

Contender backward(std::string name, const std::filesystem::path& library,
                   std::shared_ptr<const Problem> problem) {
  const auto call = demo::require_entry<decltype(course_bench_backward)>(library, "course_bench_backward");
  return contender(std::move(name), backward_operations(problem->extents),
                   std::make_shared<Backward>(Backward{call, problem}));
}

}  // namespace course::bench
