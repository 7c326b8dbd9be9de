#pragma once

#include "gpu/simulator.hpp"
#include "player/stage.hpp"

namespace course {

/// A stage each of whose processes has a simulated GPU, which is watched as the rest is.
template <class Base>
class SimulatedGpu : public Base {
 public:
  void begin_watching(const void* communicator, Watching how, RankStatus& status,
                      const TensorAt& tensor_at) override {
    Base::begin_watching(communicator, how, status, tensor_at);
    gpu::begin(1);  // a case that is played again has the same orders
  }

  std::vector<Span> end_watching(RankReport& report) override {
    std::vector<Span> spans = Base::end_watching(report);
    const Facts seen = gpu::end(report.ending == "finished");
    report.facts.insert(report.facts.end(), seen.begin(), seen.end());
    return spans;
  }
};

}  // namespace course
