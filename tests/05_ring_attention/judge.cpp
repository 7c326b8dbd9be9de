#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/ring/ring_forward.hpp"
#include "judge/task.hpp"

using namespace course;

namespace {

/// owner(rank, hop) over all ranks and hops of a world.
std::function<Answer(const Example&)> owners(int (*owner)(int rank, int hop, int world_size)) {
  return [owner](const Example& example) -> Answer {
    const int world_size = static_cast<int>(example.arguments.at("world_size").at(0));
    Tensor64 all({world_size, world_size});
    for (int rank = 0; rank < world_size; ++rank) {
      for (int hop = 0; hop < world_size; ++hop) all.matrix()(rank, hop) = owner(rank, hop, world_size);
    }
    return {{"owner", all}};
  };
}

int after_the_sign_of_cpp(int rank, int hop, int world_size) {
  return (rank - hop) % world_size;
}

int forward(int rank, int hop, int world_size) {
  return (rank + hop) % world_size;
}

std::vector<Example> worlds(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (const int world_size : {1, 2, 3, 4, 5, 8, generator.integer(9, 40)}) {
    all.push_back({"a world of " + std::to_string(world_size),
                   {},
                   {{"world_size", {static_cast<double>(world_size)}}}});
  }
  return all;
}

Task block_owner_task() {
  return {.id = "1",
          .function = "block_owner",
          .outputs = {{"owner", {"holder", "hop"}}},
          .examples = worlds,
          .expected = owners(log_reading::holder),
          .baseline = owners(log_reading::holder),
          .mistakes = {{"negative_modulo", owners(after_the_sign_of_cpp)}, {"owner_off", owners(forward)}}};
}

}  // namespace

LessonJudge course::lesson_judge() {
  Task ring = ring_forward::task("2", "ring_attention");
  ring.uses = "1";
  ring.communication_checks = ring_forward::blocking_checks();
  return {"05", {block_owner_task(), ring}};
}
