#include <cmath>

#include "judge/attention/forward.hpp"
#include "judge/attention/grouped/tasks.hpp"
#include "judge/exact_task.hpp"
#include "judge/refusal.hpp"

namespace course::grouped {

namespace {

/// Every number of heads that a rule may be right for by chance is beside one for which it is wrong.
std::vector<Example> numbers_of_heads(InputGenerator& generator, int) {
  const int group = generator.integer(2, 5), kv = generator.integer(2, 4);
  const auto add = [](const char* what, std::vector<double> heads, std::vector<double> kv_heads) {
    return Example{what, {}, {{"heads", std::move(heads)}, {"kv_heads", std::move(kv_heads)}}};
  };
  const auto unfit = [&](const char* what, double heads, double kv_heads) {
    return refusal::refusing(add(what, {heads}, {kv_heads}), {heads, kv_heads});
  };
  return {add("6 query heads, 2 key heads", {6}, {2}),
          add("6 query heads, 3 key heads", {6}, {3}),
          add("8/2, 5/1, 7/7 and 14/2 heads", {8, 5, 7, 14}, {2, 1, 7, 2}),
          add("heads of any number", {static_cast<double>(group * kv)}, {static_cast<double>(kv)}),
          unfit("3 query heads, 2 key heads", 3, 2),
          unfit("4 query heads, no key heads", 4, 0),
          unfit("4 query heads, -2 key heads", 4, -2)};
}

Answer key_heads(const Example& example) {
  const std::vector<double>&heads = example.arguments.at("heads"), &kv = example.arguments.at("kv_heads");
  std::vector<double> all;
  for (std::size_t i = 0; i < heads.size() && !refusal::is_refused(example); ++i)
    for (int head = 0; head < heads[i]; ++head) all.push_back(std::floor(head * kv[i] / heads[i]));
  const Index count = std::ssize(all);
  return {{"kv_head", Tensor64({count}, std::move(all))}};
}

}  // namespace

Task head_map_task(std::string id, std::string function) {
  Task task = exact_task(std::move(id), std::move(function), {{"kv_head", {"query head"}}}, numbers_of_heads,
                         key_heads);
  task.explain = telling_arguments({"heads", "kv_heads"});
  return refusal::with_refusals(std::move(task));
}

}  // namespace course::grouped
