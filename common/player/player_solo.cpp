#include "player/stage.hpp"

namespace {

class SoloStage : public course::Stage {
 public:
  int world_rank() const override { return 0; }
  int world_size() const override { return 1; }
  void barrier() override {}
  std::shared_ptr<const void> enter(int, bool) override { return nullptr; }
  void begin_watching(const void*, course::Watching, course::RankStatus&) override {}
  course::ComputeObserver& compute_observer() override { return nobody_; }
  std::vector<course::Span> end_watching(course::RankReport&) override { return {}; }
  double clock_offset_s() override { return 0; }
  void connect_neighbours(const void*) override {}
  void start_together(const void*) override {}
  std::vector<double> largest(std::vector<double> numbers, const void*) override { return numbers; }

 private:
  course::ComputeObserver nobody_;
};

}  // namespace

int main(int argc, char** argv) {
  SoloStage stage;
  return course::play(argc, argv, stage);
}
