#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sched.h>

#include <Eigen/Core>
#include <cerrno>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "bench/contender.hpp"
#include "course/terminal/terminal.hpp"
#include "runner/subprocess.hpp"

namespace course::bench {

namespace {

constexpr double most_error = 1e-3;

constexpr Eigen::Index size = 1024;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Product {
  Matrix a = Matrix::Random(size, size);
  Matrix b = Matrix::Random(size, size);
  Matrix c{size, size};
};

#ifdef __AVX512F__
constexpr std::size_t vector_bytes = 64;
#else
constexpr std::size_t vector_bytes = 32;
#endif
using Vector [[gnu::vector_size(vector_bytes)]] = float;
constexpr int sums = 10;
constexpr int additions = 1 << 20;  ///< to each sum, of each lane

/// Each sum is the last one times a factor, and a number: one multiply-add a lane.
void add_up() {
  Vector sum[sums] = {};
  for (int i = 0; i < sums; ++i) sum[i] += static_cast<float>(i);
  for (int i = 0; i < additions; ++i) {
#pragma GCC unroll sums
    for (int j = 0; j < sums; ++j) sum[j] = sum[j] * 0.999f + 0.001f;
  }
  benchmark::DoNotOptimize(sum);
}

/// Keeps the thread that calls it on one core.
void stay_on_core(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot stay on core " + std::to_string(core));
}

/// Something that this process does itself, on that core.
Contender own(std::string name, double operations, int core, std::function<void()> work) {
  const auto seconds = [core, work = std::move(work)](int calls) {
    std::chrono::duration<double> all{};
    // In a thread, so that this process may leave that core to the players.
    std::thread([&] {
      stay_on_core(core);
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i) work();
      all = std::chrono::steady_clock::now() - begin;
    }).join();
    return all.count() / calls;
  };
  return {std::move(name), operations, seconds, [] { return 0.0; }};
}

/// Keeps the medians, in seconds a call, and prints nothing.
class Medians : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const bool alone = run.run_type == Run::RT_Iteration && run.repetitions == 1;
      if (!alone && run.aggregate_name != "median") continue;
      seconds[run.run_name.function_name] =
          run.GetAdjustedRealTime() / benchmark::GetTimeUnitMultiplier(run.time_unit);
    }
  }
  std::map<std::string, double> seconds;
};

/// Random order, so that what changes over time, such as the clock's frequency, comes to all alike.
void shuffle_repetitions() {
  std::string program = "bench";
  std::string option = "--benchmark_enable_random_interleaving=true";
  char* arguments[] = {program.data(), option.data(), nullptr};
  int count = 2;
  benchmark::Initialize(&count, arguments);
}

void require_right(const Contender& contender) {
  const double error = contender.error();
  if (error <= most_error) return;
  throw std::runtime_error(fmt::format("{}: the answer's relative error is {:.2g}, expected {} at most",
                                       contender.name, error, most_error));
}

}  // namespace

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot ask for this process's cores");
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

Contender eigen_product(std::string name, int core) {
  const auto product = std::make_shared<Product>();
  return own(std::move(name), 2.0 * size * size * size, core,
             [product] { product->c.noalias() = product->a * product->b; });
}

Contender multiply_adds(std::string name, int core) {
  constexpr double lanes = vector_bytes / sizeof(float);
  return own(std::move(name), 2.0 * lanes * sums * additions, core, add_up);
}

std::map<std::string, double> measure(const std::vector<Contender>& contenders, int repetitions,
                                      double min_seconds) {
  program::ProgressLine progress;
  const auto say = [&](const std::string& text) {
    progress.show(fmt::format("{}, {:.0f} s", text, progress.seconds()));
  };
  for (const Contender& contender : contenders) {
    say("checking " + contender.name);
    require_right(contender);
  }
  shuffle_repetitions();
  for (const Contender& contender : contenders) {
    benchmark::RegisterBenchmark(contender.name.c_str(),
                                 [&](benchmark::State& state) {
                                   stop_if_interrupted();
                                   say("timing " + contender.name);
                                   const double each =
                                       contender.seconds(static_cast<int>(state.max_iterations));
                                   for ([[maybe_unused]] auto iteration : state) state.SetIterationTime(each);
                                 })
        ->UseManualTime()
        ->MinTime(min_seconds)
        ->Repetitions(repetitions);
  }
  Medians medians;
  benchmark::RunSpecifiedBenchmarks(&medians);
  benchmark::ClearRegisteredBenchmarks();
  std::map<std::string, double> rates;
  for (const Contender& contender : contenders)
    rates[contender.name] = contender.operations / medians.seconds.at(contender.name) / 1e9;
  return rates;
}

}  // namespace course::bench
