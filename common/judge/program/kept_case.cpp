#include "judge/program/kept_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "judge/program/session.hpp"
#include "tensor/npy.hpp"
#include "text/text_file.hpp"

namespace course {

namespace {

constexpr const char* diagnosis_file = "diagnosis.txt";

}  // namespace

void keep_case(const std::filesystem::path& folder, const Task& task, const Played& played,
               const DrawnCase& drawn) {
  const Example& example = *played.example;
  const Outcome& outcome = *played.outcome;
  Launcher::write_case(folder, {call_of(task, example), "", task.id, shards_of(task, example)},
                       outcome.world_ranks);
  write_drawn(folder, drawn);
  for (int rank = 0; rank < std::ssize(outcome.reports); ++rank) {
    const std::filesystem::path out = output_folder(folder, rank);
    std::filesystem::create_directories(out);
    write_report(out, outcome.reports[rank]);
    if (outcome.outputs.empty()) continue;
    for (const auto& [name, tensor] : outcome.outputs[rank]) write_npy(out / (name + ".npy"), tensor);
  }
  std::filesystem::create_directories(folder / "expected");
  for (const auto& [name, tensor] : played.expected) write_npy(folder / "expected" / (name + ".npy"), tensor);
}

void keep_diagnosis(const std::filesystem::path& folder, const std::string& text) {
  write_text(folder / diagnosis_file, text);
}

std::string kept_diagnosis(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / diagnosis_file) ? read_text(folder / diagnosis_file) : "";
}

void require_inputs_of(const Example& example, const Task& task, const std::filesystem::path& folder) {
  const std::vector<std::map<std::string, Tensor>> shards = shards_of(task, example);
  for (int rank = 0; rank < std::ssize(shards); ++rank) {
    for (const auto& [name, drawn] : shards[rank]) {
      const Tensor kept = read_npy<float>(input_folder(folder, rank) / (name + ".npy"));
      if (kept.shape() == drawn.shape() && kept.values() == drawn.values()) continue;
      throw std::runtime_error(folder.string() + " has other inputs than the course draws now: check again");
    }
  }
}

void write_largest_case(const std::filesystem::path& folder, const Task& task, int ranks,
                        std::uint64_t seed) {
  InputGenerator generator(seed);
  const std::vector<Example> examples = task.examples(generator, ranks);
  const Example& largest =
      *std::max_element(examples.begin(), examples.end(),
                        [](const Example& a, const Example& b) { return a.numbers() < b.numbers(); });
  if (largest.ranks() != ranks) {
    throw std::invalid_argument(fmt::format("--ranks {}: task {} draws its inputs for {}", ranks, task.id,
                                            largest.ranks() == 1 ? "one rank" : "another number of ranks"));
  }
  std::vector<int> world_ranks(ranks);
  std::iota(world_ranks.begin(), world_ranks.end(), 0);
  Launcher::write_case(folder, {{task.function, largest.arguments}, "", task.id, shards_of(task, largest)},
                       world_ranks);
}

}  // namespace course
