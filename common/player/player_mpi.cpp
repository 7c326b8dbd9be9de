#include "player/mpi_stage.hpp"

int main(int argc, char** argv) {
  return course::play_under_mpi(argc, argv, [] { return std::make_unique<course::MpiStage>(); });
}
