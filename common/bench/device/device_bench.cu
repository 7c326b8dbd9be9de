#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

#include "bench/device/options.hpp"
#include "bench/device/stopwatch.hpp"
#include "bench/device/timings.hpp"
#include "lesson/not_implemented.hpp"
#include "protocol/errors.hpp"

namespace course::bench::device {

namespace {

/// Does one part of the bench. What it throws is told, and the other parts come all the same.
class Parts {
 public:
  void run(const std::string& name, const std::function<void()>& part) {
    try {
      part();
    } catch (const NotImplemented& missing) {
      std::fprintf(stderr, "%s is left out: %s\n", name.c_str(), missing.what());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s is left out: %s\n", name.c_str(), error.what());
      all_right_ = false;
    }
  }
  bool all_right() const { return all_right_; }

 private:
  bool all_right_ = true;
};

int run(const Options& options) {
  const auto facts = about(options.sizes);
  const Sizes& sizes = options.sizes;
  Timings timings(options.rows, facts, is_simulated);
  Parts parts;
  parts.run("softmax", [&] { time_softmax(timings, sizes); });
  parts.run(multiply_adds_row, [&] { time_multiply_adds(timings, sizes); });
  for (const bool backward : {false, true}) {
    for (const int head_dim : sizes.head_dims)
      parts.run((backward ? "backward, d = " : "forward, d = ") + std::to_string(head_dim),
                [&] { time_attention(timings, sizes, head_dim, backward); });
  }
  parts.run("two streams", [&] { time_two_streams(timings, sizes); });
  std::printf("%s%s", heading(facts).c_str(), table_text(timings.rows()).c_str());
  return parts.all_right() ? succeeded : failed;
}

}  // namespace

}  // namespace course::bench::device

/// Times the kernels of lessons 09 to 11 on the first device.
int main(int argc, char** argv) {
  using namespace course;
  try {
    return bench::device::run(bench::device::parse_options(argc, argv));
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "device_bench: %s\n", error.what());
    return wrong_usage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "device_bench: %s\n", error.what());
    return unavailable;
  }
}
