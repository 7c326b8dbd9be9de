#include <algorithm>
#include <limits>

#include "judge/attention/grouped/tasks.hpp"
#include "judge/attention/ring/ring_forward.hpp"
#include "judge/checks/communication_checks.hpp"

namespace course::grouped {

namespace {

Example in_blocks(Example example, int block) {
  example.what += ", in blocks of " + std::to_string(block);
  example.arguments["block"] = {static_cast<double>(block)};
  return example;
}

std::vector<Layout> lengths(InputGenerator& generator) {
  return {of_one_rank(generator.integer(9, 14)), of_one_rank(generator.integer(7, 11)), of_one_rank(8)};
}

/// 16 query heads share the one key head of 4096 keys: K and V repeated are 32 MiB.
Example large_block(InputGenerator& generator) {
  Example example = make_example(generator, "4096 keys of one head", of_one_rank(4096), {16, 1, 64, 64});
  example.inputs["q"] = slice(example.inputs.at("q"), 1, 0, 2);
  example.layout = {};
  example.arguments["block"] = {4096};
  example.large = true;
  return example;
}

/// Lesson 05's keys far below the others with values as much larger, and scores near 85. Only
/// the block computes weights in lesson 15, so only there can an answer drop small ones.
Example far_example(InputGenerator& generator) {
  const Layout layout = of_one_rank(9);
  Example far = ring_forward::far_example(generator, layout);
  Example example = make_example(generator, far.what, layout, {5, 5, 4, 4});
  for (const char* name : {"q", "k", "v"}) example.inputs[name] = std::move(far.inputs.at(name));
  example.arguments["scale"] = {0.5};  // as the scores were made for
  example.less_telling = true;
  return in_blocks(std::move(example), 4);
}

std::vector<Example> block_examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (Example& example : on_all_kinds_of_heads(generator, lengths(generator), false))
    all.push_back(in_blocks(std::move(example), generator.integer(3, 5)));
  all.push_back(in_blocks(make_example(generator, "no keys", of_one_rank(0), {4, 2, 3, 2}), 3));
  all.push_back(far_example(generator));
  for (Example& example : all) example.layout = {};
  all.push_back(large_block(generator));
  return all;
}

/// Queries that have seen no key of any block, though they could look at this one: they take no part.
Example with_queries_that_saw_nothing(Example example) {
  for (Index head = 0; head < example.inputs.at("q").extent(0); ++head) {
    example.inputs["lse"].matrix()(head, head % 3) = -std::numeric_limits<float>::infinity();
    std::ranges::fill(example.inputs["d_o"].heads().head(head).row(head % 3), 0.0f);
  }
  example.what += ", and queries with lse = -inf";
  return example;
}

std::vector<Example> block_backward_examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (Example& forward : on_all_kinds_of_heads(generator, lengths(generator), true)) {
    Example example = with_gradient(generator, in_blocks(std::move(forward), generator.integer(3, 5)));
    for (const auto& [before, of] : {std::pair{"before_dq", "q"}, {"before_dk", "k"}, {"before_dv", "v"}})
      example.inputs[before] = generator.normal(example.inputs.at(of).shape(), 0.1f);
    example.layout = {};
    all.push_back(std::move(example));
  }
  all.push_back(with_queries_that_saw_nothing(all.front()));
  return all;
}

std::int64_t four_mebibytes(const Example& example) {
  return example.large ? std::int64_t{4} << 20 : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

Task block_task(std::string id, std::string function) {
  Task task = forward_task(std::move(id), std::move(function));
  task.examples = block_examples;
  task.communication_checks = {checks::uses_memory_at_most(four_mebibytes, "")};
  return task;
}

Task block_backward_task(std::string id, std::string function) {
  Task task = backward_task(std::move(id), std::move(function));
  task.examples = block_backward_examples;
  return task;
}

}  // namespace course::grouped
