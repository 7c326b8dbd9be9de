#include "judge/checks/kernel_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace course {

namespace {

/// With more, only their sum is shown.
constexpr std::size_t most_kernels_shown = 3;

/// Which fields are counts.
constexpr std::int64_t KernelCounts::*fields[] = {
    &KernelCounts::bytes_read,    &KernelCounts::bytes_written,   &KernelCounts::requests,
    &KernelCounts::sectors,       &KernelCounts::shared_requests, &KernelCounts::shared_passes,
    &KernelCounts::bank_conflicts};

CountsByKernel kernels_of(const Outcome& outcome) {
  return outcome.reports.empty() ? CountsByKernel{} : outcome.reports.front().kernels;
}

/// The example that is counted; nullptr: there is none.
const Played* counted_among(const std::vector<Played>& played) {
  const auto found = std::ranges::find_if(played, [](const Played& one) { return one.example->counted; });
  return found == played.end() ? nullptr : &*found;
}

std::string line(const std::string& name, const KernelCounts& counts) {
  return fmt::format("        {:28}{:>12}{:>12}{:>10}{:>12.1f}{:>15}{:>16}\n", name, counts.bytes_read,
                     counts.bytes_written, counts.sectors, counts.sectors_a_request(), counts.shared_passes,
                     counts.bank_conflicts);
}

bool is_near(std::int64_t count, std::int64_t of_solution) {
  return std::abs(count - of_solution) * 10 <= of_solution;
}

}  // namespace

Task counted(Task task, std::string example, KernelCounts solution) {
  task.solution_counts = std::move(solution);
  task.examples = [drawn = task.examples, name = std::move(example)](InputGenerator& generator, int ranks) {
    std::vector<Example> all = drawn(generator, ranks);
    const auto found = std::ranges::find(all, name, &Example::what);
    if (found == all.end()) throw std::logic_error("no example is called " + name);
    found->counted = true;
    return all;
  };
  return task;
}

KernelCounts together(const CountsByKernel& kernels) {
  KernelCounts sum;
  for (const KernelCounts& kernel : kernels) {
    for (const auto field : fields) sum.*field += kernel.*field;
  }
  return sum;
}

std::string costs_text(const Task& task, const std::vector<Played>& played) {
  const Played* const counted = counted_among(played);
  if (counted == nullptr) return "";
  const CountsByKernel kernels = kernels_of(*counted->outcome);
  if (kernels.empty()) return "";
  std::string text = fmt::format(
      "      what it costs on {}, simulated:\n        {:28}{:>12}{:>12}{:>10}{:>12}{:>15}{:>16}\n",
      counted->example->what, "", "bytes read", "written", "sectors", "a request", "shared passes",
      "bank conflicts");
  if (kernels.size() <= most_kernels_shown) {
    for (const KernelCounts& kernel : kernels) text += line(kernel.kernel, kernel);
  }
  if (kernels.size() > 1) text += line("together", together(kernels));
  return text + line("the solution", task.solution_counts);
}

std::string drift_from_solution(const Task& task, const std::vector<Played>& played) {
#ifdef __clang__
  return "";
#endif
  const Played* const counted = counted_among(played);
  if (counted == nullptr) return "";
  const KernelCounts now = together(kernels_of(*counted->outcome));
  const bool is_as_said = std::ranges::all_of(
      fields, [&](const auto field) { return is_near(now.*field, task.solution_counts.*field); });
  if (is_as_said) return "";
  return fmt::format(
      "the solution's counts of task {} are not those that the judge shows students; in judge.cpp they "
      "should "
      "be\n{{.bytes_read = {}, .bytes_written = {}, .requests = {}, .sectors = {}, .shared_requests = {}, "
      ".shared_passes = {}, .bank_conflicts = {}}}\n",
      task.id, now.bytes_read, now.bytes_written, now.requests, now.sectors, now.shared_requests,
      now.shared_passes, now.bank_conflicts);
}

checks::ByteLimit checks::four_times(const KernelCounts& solution) {
  return {4 * solution.bytes(), "four times as many as the course's solution"};
}

CommunicationCheck checks::moves_at_most(LimitOf limit, std::string mistake) {
  return [=](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    const std::int64_t bytes = together(kernels_of(outcome)).bytes();
    const auto [most, words] = limit(example);
    if (bytes <= most) return {};
    return {
        {mistake, fmt::format("the kernels read and write {} bytes of device memory, which is more than {} "
                              "bytes: {}",
                              bytes, most, words)}};
  };
}

CommunicationCheck checks::asks_in_full_warps(LimitOf limit, std::string mistake) {
  return [=](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    const KernelCounts counts = together(kernels_of(outcome));
    const auto [most, words] = limit(example);
    constexpr std::int64_t bytes_of_full_warp = 32 * sizeof(float);
    const std::int64_t most_requests = most / bytes_of_full_warp;
    if (counts.bytes() > most || counts.requests <= most_requests) return {};
    return {
        {mistake, fmt::format("the warps make {} requests to device memory, which is more than {}: that many "
                              "requests of full warps, a float a lane, move {} bytes, {}",
                              counts.requests, most_requests, most, words)}};
  };
}

}  // namespace course
