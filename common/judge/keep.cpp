#include "judge/keep.hpp"

#include "tensor/npy.hpp"

namespace course {

void keep_case(const std::filesystem::path& folder, const Task& task, const Played& played) {
  const Example& example = *played.example;
  std::vector<int> world_ranks(example.ranks());
  std::iota(world_ranks.begin(), world_ranks.end(), 0);
  Launcher::write_case(folder, {"", task.function, example.arguments, shards_of(task, example)}, world_ranks);
  for (std::size_t rank = 0; rank < played.outcome->outputs.size(); ++rank) {
    const std::filesystem::path out = output_folder(folder, static_cast<int>(rank));
    std::filesystem::create_directories(out);
    for (const auto& [name, tensor] : played.outcome->outputs[rank]) write_npy(out / (name + ".npy"), tensor);
  }
  std::filesystem::create_directories(folder / "expected");
  for (const auto& [name, tensor] : played.truth) write_npy(folder / "expected" / (name + ".npy"), tensor);
}

}  // namespace course
