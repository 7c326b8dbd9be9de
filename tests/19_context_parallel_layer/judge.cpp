#include "judge/layer/layer.hpp"

using namespace course;

LessonJudge course::lesson_judge() {
  Task forward = layers::forward_task("3", "layer_forward");
  Task backward = layers::backward_task("4", "layer_backward");
  Task grid = layers::grid_task("6", "tensor_layer");
  forward.uses = "2";
  backward.uses = "1";
  grid.uses = "4";
  return {
      "19",
      {layers::norm_task("1", "norm_and_rotation"), layers::feed_forward_task("2", "feed_forward"),
       std::move(forward), std::move(backward), layers::loss_task("5", "loss_and_sums"), std::move(grid)}};
}
