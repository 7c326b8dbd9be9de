// Five answers of eight ranks to lesson 07, one of them right, and two tests that look at them. In the
// course's folder, once you have run a check:
//   cmake --build build --target loose_test
//   build/bin/loose_test absolute
//   build/bin/loose_test relative

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int ranks = 8;
constexpr int heads = 12;
constexpr int tokens = 512;
constexpr int head_dim = 32;
constexpr int shard = tokens / ranks;
constexpr int numbers = heads * tokens * head_dim;
constexpr double absolute_tolerance = 1e-2;
constexpr double relative_tolerance = 1e-5;

/// [heads, tokens, head_dim].
template <class T>
using Tensor = std::vector<T>;

template <class T>
struct Gradients {
  Tensor<T> dk = Tensor<T>(numbers);
  Tensor<T> dv = Tensor<T>(numbers);
};

int row_of(int head, int token) {
  return (head * tokens + token) * head_dim;
}

/// One of the course's own tensors, which are float32 files of format 1.0.
template <class T>
Tensor<T> read(const std::string& name) {
  const std::string path = "common/data/minilm/" + name + ".npy";
  std::ifstream file(path, std::ios::binary);
  std::vector<float> all(numbers);
  file.seekg(-static_cast<std::streamoff>(numbers * sizeof(float)), std::ios::end);
  file.read(reinterpret_cast<char*>(all.data()), numbers * sizeof(float));
  if (!file) throw std::runtime_error("cannot read " + path + ": start this in the course's folder");
  return {all.begin(), all.end()};
}

template <class T>
T dot(const T* a, const T* b) {
  T sum = 0;
  for (int c = 0; c < head_dim; ++c) sum += a[c] * b[c];
  return sum;
}

template <class T>
void add_scaled(T factor, const T* x, T* to) {
  for (int c = 0; c < head_dim; ++c) to[c] += factor * x[c];
}

/// For each rank its share: what its queries give to dk and dv of all keys (lesson 06).
template <class T>
std::vector<Gradients<T>> all_shares() {
  const Tensor<T> q = read<T>("q"), k = read<T>("k"), v = read<T>("v"), d_o = read<T>("do");
  const T scale = 1 / std::sqrt(T{head_dim});
  std::vector<Gradients<T>> shares(ranks);
  std::vector<T> p(tokens);
  for (int head = 0; head < heads; ++head) {
    for (int i = 0; i < tokens; ++i) {
      const T* q_i = &q[row_of(head, i)];
      const T* d_o_i = &d_o[row_of(head, i)];
      for (int j = 0; j < tokens; ++j) p[j] = scale * dot(q_i, &k[row_of(head, j)]);
      const T m = *std::max_element(p.begin(), p.end());
      T l = 0;
      for (T& weight : p) {
        weight = std::exp(weight - m);
        l += weight;
      }
      std::vector<T> o(head_dim);
      for (int j = 0; j < tokens; ++j) {
        p[j] /= l;
        add_scaled(p[j], &v[row_of(head, j)], o.data());
      }
      const T delta = dot(o.data(), d_o_i);
      Gradients<T>& share = shares[i / shard];
      for (int j = 0; j < tokens; ++j) {
        const T ds = p[j] * (dot(d_o_i, &v[row_of(head, j)]) - delta);
        add_scaled(scale * ds, q_i, &share.dk[row_of(head, j)]);
        add_scaled(p[j], d_o_i, &share.dv[row_of(head, j)]);
      }
    }
  }
  return shares;
}

/// The sum of all shares in a block, in the order of the ring: the owner's first.
template <class T>
Gradients<T> summed(const std::vector<Gradients<T>>& shares) {
  Gradients<T> sum;
  for (int head = 0; head < heads; ++head) {
    for (int j = 0; j < tokens; ++j) {
      for (int hop = 0; hop < ranks; ++hop) {
        const Gradients<T>& share = shares[(j / shard + hop) % ranks];
        add_scaled(T{1}, &share.dk[row_of(head, j)], &sum.dk[row_of(head, j)]);
        add_scaled(T{1}, &share.dv[row_of(head, j)], &sum.dv[row_of(head, j)]);
      }
    }
  }
  return sum;
}

/// Each rank adds up what it computes, whatever block it belongs to.
Gradients<float> left_behind(const std::vector<Gradients<float>>& shares) {
  Gradients<float> sum;
  for (int head = 0; head < heads; ++head) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (int j = 0; j < tokens; ++j) {
        const int here = row_of(head, rank * shard + j % shard);
        add_scaled(1.0f, &shares[rank].dk[row_of(head, j)], &sum.dk[here]);
        add_scaled(1.0f, &shares[rank].dv[row_of(head, j)], &sum.dv[here]);
      }
    }
  }
  return sum;
}

/// What each rank's right-hand neighbour should have.
Tensor<float> of_next_rank(const Tensor<float>& x) {
  Tensor<float> moved = x;
  for (int head = 0; head < heads; ++head) {
    const auto first = moved.begin() + row_of(head, 0);
    std::rotate(first, first + shard * head_dim, first + tokens * head_dim);
  }
  return moved;
}

Tensor<float> plus(Tensor<float> x, const Tensor<float>& y) {
  std::transform(x.begin(), x.end(), y.begin(), x.begin(), std::plus<float>());
  return x;
}

double largest_error(const Tensor<float>& x, const Tensor<double>& truth) {
  double largest = 0;
  for (int i = 0; i < numbers; ++i) largest = std::max(largest, std::abs(x[i] - truth[i]));
  return largest;
}

/// The norm of the error over that of the truth, in the worst head.
double relative_error(const Tensor<float>& x, const Tensor<double>& truth) {
  double worst = 0;
  for (int head = 0; head < heads; ++head) {
    double error = 0;
    double norm = 0;
    for (int i = row_of(head, 0); i < row_of(head + 1, 0); ++i) {
      error += (x[i] - truth[i]) * (x[i] - truth[i]);
      norm += truth[i] * truth[i];
    }
    worst = std::max(worst, std::sqrt(error / norm));
  }
  return worst;
}

struct Answer {
  const char* name;
  Gradients<float> gradients;
};

void absolute(const std::vector<Answer>& answers, const Gradients<double>& truth) {
  std::printf("test: no entry is off by more than %.0e\n\n", absolute_tolerance);
  std::printf("%-42s%12s%12s\n", "", "dk off by", "dv off by");
  for (const auto& [name, gradients] : answers) {
    const double dk = largest_error(gradients.dk, truth.dk);
    const double dv = largest_error(gradients.dv, truth.dv);
    std::printf("%-42s%12.1e%12.1e   %s\n", name, dk, dv,
                std::max(dk, dv) <= absolute_tolerance ? "PASS" : "FAIL");
  }
}

void relative(const std::vector<Answer>& answers, const Gradients<double>& truth) {
  std::printf("test: in each head the error's norm is below %.0e of the gradient's\n\n", relative_tolerance);
  std::printf("%-42s%12s%12s\n", "", "dk off by", "dv off by");
  for (const auto& [name, gradients] : answers) {
    const double dk = relative_error(gradients.dk, truth.dk);
    const double dv = relative_error(gradients.dv, truth.dv);
    std::printf("%-42s%12.1e%12.1e   %s\n", name, dk, dv,
                std::max(dk, dv) <= relative_tolerance ? "PASS" : "FAIL");
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view test = count == 2 ? arguments[1] : "";
  if (test != "absolute" && test != "relative") {
    std::fprintf(stderr, "usage: loose_test absolute|relative\n");
    return 2;
  }
  try {
    const Gradients<double> truth = summed(all_shares<double>());
    const std::vector<Gradients<float>> shares = all_shares<float>();
    const Gradients<float> right = summed(shares);
    const Tensor<float> both = plus(right.dk, right.dv);
    const std::vector<Answer> answers{
        {"right, in float32", right},
        {"left where they were computed", left_behind(shares)},
        {"one hop short of home", {of_next_rank(right.dk), of_next_rank(right.dv)}},
        {"(received, sent) taken for (dk, dv)", {both, of_next_rank(both)}},
        {"zeros", {}},
    };
    std::printf("%d ranks, %d tokens each, %d heads of %d; real q, k, v and d_o\n", ranks, shard, heads,
                head_dim);
    (test == "absolute" ? absolute : relative)(answers, truth);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
