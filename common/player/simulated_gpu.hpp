#pragma once

#include <algorithm>
#include <iterator>

#include "gpu/simulator/host/model_time.hpp"
#include "gpu/simulator/host/streams.hpp"
#include "gpu/simulator/simulator.hpp"
#include "player/stage.hpp"

namespace course {

/// A stage each of whose processes has a simulated GPU, which is watched as the rest is.
template <class Base>
class SimulatedGpu : public Base {
 public:
  void draw_from(std::uint64_t seed) override { seed_ = seed; }
  void count_kernels(bool counted) override { counted_ = counted; }

  void begin_watching(const void* communicator, Watching how, RankStatus& status,
                      const TensorAt& tensor_at) override {
    Base::begin_watching(communicator, how, status, tensor_at);
    gpu::begin(seed_, how == Watching::Graded || how == Watching::TimedAndChecked, counted_);
    in_model_ = how == Watching::Timed;
  }

  bool has_streams() const override { return true; }

  void settle() override { gpu::run_the_rest(); }

  std::vector<Span> end_watching(RankReport& report) override {
    report.device_peak_bytes = gpu::device_peak_of_ranges();
    report.kernels = gpu::counts_by_kernel();
    const std::vector<Span> of_streams = in_model_ ? gpu::spans_in_model() : std::vector<Span>{};
    const Facts seen = gpu::end(report.ending == "finished");
    Base::end_watching(report);
    std::ranges::copy_if(seen, std::back_inserter(report.facts), [known = report.facts](const auto& fact) {
      return std::ranges::count(known, fact) == 0;
    });
    return of_streams;
  }

 private:
  std::uint64_t seed_ = 1;
  bool counted_ = false;
  bool in_model_ = false;  ///< what the streams did is to be shown in a model's time
};

}  // namespace course
