#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "bench/contest.hpp"
#include "course/terminal/terminal.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/input_generator.hpp"
#include "player/blocks.hpp"
#include "tensor/lanes.hpp"

namespace course::bench {

namespace {

// ---- the yardstick ----

/// Sums that do not wait for each other: enough for two units of four clocks, as many as registers hold.
constexpr int chains = lanes == 16 ? 24 : 12;

/// Multiply-adds of a core at their fastest, without memory.
[[gnu::noinline]] float multiply_and_add(int times) {
  Lanes sums[chains];
  for (int i = 0; i < chains; ++i) sums[i] = splat(static_cast<float>(i));
  const Lanes factor = hidden(0.999f), term = hidden(1e-3f);
  for (int t = 0; t < times; ++t) {
#pragma GCC unroll 24
    for (int i = 0; i < chains; ++i) sums[i] = sums[i] * factor + term;
  }
  Lanes all{};
  for (const Lanes& sum : sums) all += sum;
  return all[0];
}

/// What a run took of its core, and of the clock, which is more where something else had the core meanwhile.
struct Took {
  double core_s, clock_s;
};

Took time_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  const double core_begin_s = thread_cpu_s();
  work();
  return {thread_cpu_s() - core_begin_s,
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
}

/// Multiply-adds a second, now.
double multiply_adds_now() {
  constexpr int times = lanes == 16 ? 20000 : 40000;
  static volatile float kept = 0;
  const Took took = time_of([] { kept = kept + multiply_and_add(times); });
  return static_cast<double>(chains) * lanes * times / took.core_s;
}

/// What work reaches of the yardstick that is timed just before and just after it: the median, over those
/// runs that nothing interrupted, and on both sides of which the yardstick is the same within 2 %. Nothing
/// where these are too few.
std::optional<double> share_of_peak(double multiply_adds, const std::function<void()>& work) {
  constexpr int rounds = 60;
  constexpr std::size_t fewest = 20;
  std::vector<double> shares;
  double before = multiply_adds_now();
  for (int round = 0; round < rounds; ++round) {
    const Took took = time_of(work);
    const double after = multiply_adds_now();
    if (std::abs(before / after - 1) < 0.02 && took.clock_s < 1.02 * took.core_s)
      shares.push_back(multiply_adds / took.core_s / (0.5 * (before + after)));
    before = after;
  }
  if (shares.size() < fewest) return std::nullopt;
  std::ranges::nth_element(shares, shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2));
  return shares[shares.size() / 2];
}

// ---- the problem ----

/// One head; a few tiles of queries against keys that do not fit in the first cache.
struct OneHead {
  static constexpr Index queries = 12 * lanes, keys = 1536;

  explicit OneHead(Index d)
      : q(generator.normal({1, queries, d})),
        k(generator.normal({1, keys, d})),
        v(generator.normal({1, keys, d})),
        d_o(generator.normal({1, queries, d})),
        o(q.shape()),
        lse({1, queries}),
        delta({1, queries}),
        dq(q.shape()),
        dk(k.shape()),
        dv(v.shape()),
        state(1, queries, d) {}

  BlockRequest request() const {
    return {q.heads(), k.heads(), v.heads(), 0, 1 / std::sqrt(static_cast<float>(q.extent(2)))};
  }
  /// What is computed once from a state that has seen nothing, or from gradients of 0.
  std::vector<Tensor> answers(const LessonBlocks& blocks, bool is_backward) {
    if (!is_backward) {
      forward(blocks);
      return {o, lse};
    }
    for (Tensor* tensor : {&dq, &dk, &dv}) std::ranges::fill(tensor->values(), 0.0f);
    backward(blocks);
    return {dq, dk, dv};
  }

  void forward(const LessonBlocks& blocks) {
    state = AttentionState(1, queries, q.extent(2));
    blocks.forward.accumulate(request(), state);
    blocks.forward.finish(state, o.heads(), lse.matrix());
  }
  void backward(const LessonBlocks& blocks) {
    blocks.backward.accumulate(request(), d_o.heads(), lse.matrix(), delta.matrix(), dq.heads(), dk.heads(),
                               dv.heads());
  }

  InputGenerator generator = InputGenerator(1);
  Tensor q, k, v, d_o;
  Tensor o, lse, delta, dq, dk, dv;
  AttentionState state;
};

void require_same(const std::string& what, const std::vector<Tensor>& answers,
                  const std::vector<Tensor>& others) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const double off = relative_error(cast<double>(answers[i]), cast<double>(others[i]));
    if (off <= 1e-4) continue;
    throw std::runtime_error(
        fmt::format("{}: the two lessons' answers differ by {:.2g}, expected 1e-4 at most", what, off));
  }
}

/// Of a vector of scores 2 d multiply-adds forward and 14 instructions more, and d / 128 to shrink O;
/// backward 5 d and 12: what is left to multiply-adds where all share their ports.
double bound(bool backward, double d) {
  return backward ? 5 * d / (5 * d + 12) : 2 * d / (2 * d + 14 + d / 128);
}

/// A lesson's block computations. They stay loaded.
const LessonBlocks& blocks_of(const std::filesystem::path& library) {
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const found = loaded == nullptr ? nullptr : dlsym(loaded, "course_blocks");
  if (found == nullptr) throw std::runtime_error(dlerror());
  return reinterpret_cast<decltype(course_blocks)*>(found)();
}

constexpr const char* the_core = "the core's multiply-adds";
constexpr double levels[] = {0.76, 0.84, 0.90};

}  // namespace

RegistersReport hold_registers(const Contest& contest) {
  const auto blocks = [&](Role role) {
    const auto found = contest.lessons.find(role);
    return found == contest.lessons.end() ? nullptr : &blocks_of(found->second.library);
  };
  const LessonBlocks &subject = *blocks(Role::BlockRegisters), *const products = blocks(Role::Block),
                     *const products_backward = blocks(Role::BlockBackward);
  RegistersReport report;
  double least = 1;
  program::ProgressLine progress;
  for (const int d : contest.head_dims) {
    OneHead problem(d);
    for (const bool backward : {false, true}) {
      const std::string name = fmt::format("{}, d = {}", backward ? "backward" : "forward", d);
      progress.show(name);
      const LessonBlocks* const other = backward ? products_backward : products;
      const double work = (backward ? 5.0 : 2.0) * OneHead::queries * OneHead::keys * d;
      const auto run = [&](const LessonBlocks& of) { backward ? problem.backward(of) : problem.forward(of); };
      if (other != nullptr)
        require_same(name, problem.answers(subject, backward), problem.answers(*other, backward));
      const std::optional<double> share = share_of_peak(work, [&] { run(subject); });
      const std::optional<double> of_products =
          other == nullptr ? std::nullopt : share_of_peak(work, [&] { run(*other); });
      const double most = bound(backward, d);
      report.rows.push_back({.name = name,
                             .against = the_core,
                             .bound = most,
                             .unit = "% of the bound",
                             .rate = share ? 100 * *share / most : 0,
                             .ratio = share});
      if (of_products)
        report.rows.push_back({.name = fmt::format("{}, by lesson {}", name, backward ? "06" : "04"),
                               .against = the_core,
                               .unit = "% of the bound",
                               .rate = 100 * *of_products / most,
                               .ratio = of_products});
      if (!share) report.noisy = true;
      if (share) least = std::min(least, *share / most);
    }
  }
  progress.clear();
  report.level =
      static_cast<int>(std::ranges::count_if(levels, [&](double level) { return least >= level; }));
  report.lanes = lanes;
  return report;
}

}  // namespace course::bench
