#include <algorithm>

#include "judge/attention/forward.hpp"
#include "judge/attention/layouts/parts.hpp"
#include "judge/exact_task.hpp"
#include "judge/refusal.hpp"
#include "judge/training/training.hpp"

namespace course::training {

namespace {

std::vector<std::uint8_t> text_of(const Example& example) {
  const std::vector<float>& numbers = example.inputs.at("text").values();
  return {numbers.begin(), numbers.end()};
}

Example window_example(InputGenerator& generator, std::string what, Index bytes, Index context,
                       std::vector<double> steps, std::vector<double> positions) {
  Tensor text({bytes});
  for (float& byte : text.values()) byte = static_cast<float>(generator.integer(0, 255));
  return {std::move(what),
          {{"text", std::move(text)}},
          {{"context", {static_cast<double>(context)}},
           {"seed", {static_cast<double>(generator.integer(1, 1 << 30))}},
           {"steps", std::move(steps)},
           {"positions", std::move(positions)}}};
}

std::vector<Example> windows(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](const char* what, auto... numbers) {
    all.push_back(window_example(generator, what, numbers...));
  };
  using Numbers = std::vector<double>;
  add("rank 1 of 2, contiguous", 60, 8, Numbers{0, 1, 2}, Numbers{4, 5, 6, 7});
  add("rank 1 of 3, zigzag: two chunks", 200, 12, Numbers{0, 1, 7}, Numbers{2, 3, 8, 9});
  add("every third token", 300, 11, Numbers{3, 1000000}, Numbers{0, 3, 6, 9});
  add("one rank", 40, 7, Numbers{0, 1, 2, 3}, Numbers{0, 1, 2, 3, 4, 5, 6});
  add("one window fits", 10, 9, Numbers{0, 1, 2}, Numbers{5, 6, 7, 8});
  add("two windows fit", 11, 9, Numbers{0, 1, 2, 3, 4, 5}, Numbers{0, 8});
  add("a rank without tokens", 30, 2, Numbers{0, 1}, Numbers{});
  add("a text as long as the context", 9, 9, Numbers{0}, Numbers{0, 1});
  all.back() = refusal::refusing(std::move(all.back()), {9});
  add("a text of 5 bytes, a context of 12", 5, 12, Numbers{0}, Numbers{0, 1});
  all.back() = refusal::refusing(std::move(all.back()), {5, 12});
  return all;
}

Answer windows_answer(const Example& example) {
  const std::vector<std::uint8_t> text = text_of(example);
  const std::vector<double>&steps = example.arguments.at("steps"), &rows = example.arguments.at("positions");
  const Index places = std::ssize(text) - integer(example, "context");
  Tensor64 begin({std::ssize(steps)}), tokens({std::ssize(steps), std::ssize(rows)}), labels(tokens.shape());
  for (Index i = 0; i < begin.size() && places > 0; ++i) {
    const std::uint64_t drawn = draw(static_cast<std::uint64_t>(example.arguments.at("seed").front()),
                                     static_cast<Index>(steps[static_cast<std::size_t>(i)]));
    begin[i] = static_cast<double>(drawn % static_cast<std::uint64_t>(places));
    for (Index row = 0; row < std::ssize(rows); ++row) {
      const double place = begin[i] + rows[static_cast<std::size_t>(row)];
      tokens.matrix()(i, row) = text.at(static_cast<std::size_t>(place));
      labels.matrix()(i, row) = text.at(static_cast<std::size_t>(place + 1));
    }
  }
  return {{"begin", begin}, {"tokens", tokens}, {"labels", labels}};
}

struct AdamInput {
  double step;
  float gradients, moments, weights;  ///< how large these are
  AdamOptions options;
};

Example adam_example(InputGenerator& generator, std::string what, const AdamInput& input) {
  constexpr Index count = 12;
  const auto positive = [&](float scale) {
    Tensor x = generator.normal({count}, scale);
    for (float& value : x.values()) value = std::abs(value) * scale;
    return x;
  };
  Tensor decays({count});
  for (Index i = 0; i < count; ++i) decays[i] = static_cast<float>(i % 3 != 1);
  Example example{std::move(what),
                  {{"weights", generator.normal({count}, input.weights)},
                   {"gradients", generator.normal({count}, input.gradients)},
                   {"m", generator.normal({count}, input.moments)},
                   {"v", positive(input.moments)},
                   {"decays", std::move(decays)}},
                  arguments_of(input.options)};
  example.arguments["step"] = {input.step};
  example.arguments["rate"] = {0.125};
  return example;
}

std::vector<Example> adam_examples(InputGenerator& generator, int) {
  const AdamOptions loose{.clip = 100}, tight{.clip = 0.5f};
  std::vector<Example> all;
  const auto add = [&](const char* what, const AdamInput& input) {
    all.push_back(adam_example(generator, what, input));
  };
  add("the first step, not clipped", {0, 1, 0, 1, loose});
  add("the first step, clipped", {0, 1, 0, 1, tight});
  add("step 1, with moments", {1, 1, 0.5f, 1, loose});
  add("step 2, clipped, another decay and other betas",
      {2, 2, 0.5f, 1, {.beta1 = 0.75f, .beta2 = 0.875f, .decay = 0.5f, .clip = 1}});
  add("step 50, not clipped", {50, 1, 0.5f, 1, loose});
  add("gradients near 1e-12, below epsilon", {0, 1e-12f, 0, 0, loose});
  add("a large epsilon", {3, 0.5f, 0.5f, 1, {.epsilon = 0.5f, .clip = 100}});
  add("gradients near 1e25, whose squares no float holds", {0, 1e25f, 0, 1, tight});
  add("every other gradient 0", {0, 1, 0, 1, loose});
  Tensor& gradients = all.back().inputs.at("gradients");
  for (Index i = 0; i < gradients.size(); i += 2) gradients[i] = 0.0f;
  add("no gradient at all", {0, 0, 0, 1, tight});
  return all;
}

template <class T>
Answer adam_answer(const Example& example) {
  reference::RunState<T> state{integer(example, "step"), input<T>(example, "weights"), input<T>(example, "m"),
                               input<T>(example, "v")};
  const std::vector<float>& numbers = example.inputs.at("decays").values();
  const std::vector<std::uint8_t> decays(numbers.begin(), numbers.end());
  const T norm = reference::adamw(state, input<T>(example, "gradients"), adam_options_of(example),
                                  static_cast<float>(example.arguments.at("rate").front()), decays);
  const auto row = [&](const TensorOf<T>& x) { return on_each_rank(example, cast<double>(x).values()); };
  return {{"norm", Tensor64({1}, static_cast<double>(norm))},
          {"steps_made", Tensor64({1}, static_cast<double>(state.step))},
          {"weights_after", row(state.weights)},
          {"m_after", row(state.m)},
          {"v_after", row(state.v)}};
}

/// Every entry may be off by some roundings of its own: what the baseline shows is one draw.
Answer adam_rounding(const Example& example) {
  Answer rounding = adam_answer<double>(example);
  for (auto& [name, tensor] : rounding)
    for (double& value : tensor.values()) value = name == "steps_made" ? 0 : std::abs(value) * 0x1p-22;
  return rounding;
}

Example checkpoint_example(InputGenerator& generator, std::string what, double older, double step) {
  constexpr Index count = 30;
  return {std::move(what),
          {{"weights", generator.normal({count})},
           {"m", generator.normal({count})},
           {"v", generator.normal({count})}},
          {{"older", {older}}, {"step", {step}}}};
}

std::vector<Example> checkpoint_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all{checkpoint_example(generator, "step 20 after step 10", 10, 20),
                           checkpoint_example(generator, "step 1000 after step 0", 0, 1000),
                           checkpoint_example(generator, "step 1000000 after step 999999", 999999, 1000000)};
  for (Example& example : all) example.layout = Layout(std::vector<int>(ranks, 1));
  return all;
}

Answer checkpoint_answer(const Example& example) {
  const double step = example.arguments.at("step").front();
  const auto row = [&](const char* name) { return on_each_rank(example, input(example, name).values()); };
  const auto each = [&](double value) { return Tensor64({example.ranks()}, value); };
  Tensor64 used = each(0), left = each(1);
  used[0] = 1;
  return {{"lost_at", each(0)},
          {"silent", each(0)},
          {"steps_made", each(step)},
          {"weights_after", row("weights")},
          {"m_after", row("m")},
          {"v_after", row("v")},
          {"used", used},
          {"left", left},
          {"newest", each(step)},
          {"complaints", on_each_rank(example, {1, 1, 1, 1})}};
}

}  // namespace

Task window_task(std::string id, std::string function) {
  Task task = exact_task(std::move(id), std::move(function),
                         {{"begin", {"step"}}, {"tokens", {"step", "row"}}, {"labels", {"step", "row"}}},
                         windows, windows_answer);
  task.explain = telling_arguments({"context", "seed", "steps", "positions"});
  return refusal::with_refusals(std::move(task));
}

Task adamw_task(std::string id, std::string function) {
  Task task{.id = std::move(id),
            .function = std::move(function),
            .outputs = {{"norm", {""}},
                        {.name = "steps_made", .axes = {""}, .called = "the count of steps"},
                        {.name = "weights_after", .axes = {"", "weight"}, .called = "weights"},
                        {.name = "m_after", .axes = {"", "weight"}, .called = "m"},
                        {.name = "v_after", .axes = {"", "weight"}, .called = "v"}},
            .examples = adam_examples,
            .expected = adam_answer<double>,
            .baseline = adam_answer<float>,
            .rounding = adam_rounding};
  task.explain = telling_arguments({"step", "clip", "epsilon"});
  return task;
}

Task checkpoint_task(std::string id, std::string function) {
  Task task = exact_task(
      std::move(id), std::move(function),
      {{.name = "lost_at",
        .axes = {"rank"},
        .called = "the change whose failure leaves no whole checkpoint (0: none)"},
       {.name = "silent", .axes = {"rank"}, .called = "silence about a disk that fails"},
       {.name = "steps_made", .axes = {"rank"}, .called = "the step loaded"},
       {.name = "weights_after", .axes = {"rank", "weight"}, .called = "weights"},
       {.name = "m_after", .axes = {"rank", "weight"}, .called = "m"},
       {.name = "v_after", .axes = {"rank", "weight"}, .called = "v"},
       {.name = "used", .axes = {"rank"}, .called = "use of files"},
       {.name = "left", .axes = {"rank"}, .called = "the number of checkpoints left"},
       {.name = "newest", .axes = {"rank"}, .called = "the step loaded of two"},
       {.name = "complaints",
        .axes = {"rank", "case"},
        .called =
            "what is said of no checkpoint, another shape, another text, a file cut short (1: names it)"}},
      checkpoint_examples, checkpoint_answer);
  task.explain = telling_arguments({"older", "step"});
  task.communication_checks = sends_at_most([](const Example& example, int) {
    constexpr std::int64_t saves = 48;  // of all deaths, each with a load
    return (example.ranks() - 1) * saves * (3 * 4 * example.inputs.at("weights").size() + 1024);
  });
  return task;
}

}  // namespace course::training
