#include "player/stage.hpp"

int main(int argc, char** argv) {
  course::Stage stage;
  return course::play(argc, argv, stage);
}
