#include "judge/attention/grids/grids.hpp"

using namespace course;

LessonJudge course::lesson_judge() {
  Task grid = grids::usp_task("2", "usp_attention");
  Task gather_backward = grids::gather_backward_task("4", "gather_backward");
  Task double_ring = grids::double_ring_task("6", "double_ring_attention");
  grid.uses = "1";
  gather_backward.uses = "3";
  double_ring.uses = "5";
  return {"18",
          {grids::places_task("1", "places"), std::move(grid), grids::gather_task("3", "gather_attention"),
           std::move(gather_backward), grids::owner_task("5", "double_ring_owner"), std::move(double_ring)}};
}
