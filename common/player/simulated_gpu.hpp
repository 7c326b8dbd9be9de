#pragma once

#include "gpu/simulator/simulator.hpp"
#include "player/stage.hpp"

namespace course {

/// A stage each of whose processes has a simulated GPU, which is watched as the rest is.
template <class Base>
class SimulatedGpu : public Base {
 public:
  void draw_from(std::uint64_t seed) override { seed_ = seed; }

  void begin_watching(const void* communicator, Watching how, RankStatus& status,
                      const TensorAt& tensor_at) override {
    Base::begin_watching(communicator, how, status, tensor_at);
    gpu::begin(seed_, how == Watching::Graded);
  }

  std::vector<Span> end_watching(RankReport& report) override {
    std::vector<Span> spans = Base::end_watching(report);
    const Facts seen = gpu::end(report.ending == "finished");
    report.facts.insert(report.facts.end(), seen.begin(), seen.end());
    return spans;
  }

 private:
  std::uint64_t seed_ = 1;
};

}  // namespace course
