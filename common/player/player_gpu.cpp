#include "player/simulated_gpu.hpp"

int main(int argc, char** argv) {
  course::SimulatedGpu<course::Stage> stage;
  return course::play(argc, argv, stage);
}
