#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "judge/attention/exchange/examples.hpp"
#include "judge/attention/forward.hpp"
#include "judge/attention/layouts/layouts.hpp"
#include "judge/diagnosis/diagnose.hpp"
#include "judge/layer/layer.hpp"
#include "judge/refusal.hpp"
#include "judge/training/training.hpp"

namespace course::training {

namespace {

constexpr std::int64_t bytes_of_number = sizeof(float);
/// What is reduced beside gradients: how many labels there are, and the sum of their losses.
constexpr std::int64_t bytes_of_few_numbers = 64;

Example loss_example(InputGenerator& generator, std::string what, const Layout& layout,
                     const ModelShape& shape) {
  const Tensor text = words(generator, layout.tokens() + 1, shape.vocabulary);
  Example example{std::move(what),
                  {{"weights", any_weights(generator, shape)},
                   {"tokens", slice(text, 0, 0, layout.tokens())},
                   {"labels", slice(text, 0, 1, layout.tokens())}},
                  layouts::arguments_of(layout)};
  example.arguments.merge(arguments_of(shape));
  example.arguments["filled"] = {0.5};
  example.layout = layout;
  return example;
}

std::vector<Example> losses(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  const auto add = [&](const char* what, const Layout& layout, const ModelShape& shape) {
    all.push_back(loss_example(generator, what, layout, shape));
  };
  add("equal shards, two layers", Layout(std::vector<int>(ranks, 3)), {11, 4, 2, 2, 6});
  add("zigzag, chunks that do not come out even", Layout::named("zigzag", 4 * ranks + 3, ranks),
      {9, 6, 1, 1, 5});
  add("any layout, three layers", exchange::any_layout(generator, ranks), {13, 8, 4, 3, 7});
  add("fewer tokens than chunks", Layout::named("zigzag", ranks + 1, ranks), {7, 4, 1, 2, 3});
  add("one byte all along", Layout::named("striped", 2 * ranks + 1, ranks), {6, 4, 2, 2, 8});
  for (const char* name : {"tokens", "labels"}) std::ranges::fill(all.back().inputs.at(name).values(), 3.0f);
  all.back().less_telling = true;
  return all;
}

template <class T>
Answer loss_answer(const Example& example) {
  const auto of = [&](const char* name) { return whole_numbers(example.inputs.at(name)); };
  const reference::ModelLoss<T> right =
      reference::model_loss(shape_of(example), input<T>(example, "weights"), of("tokens"), of("labels"));
  return {{"loss", Tensor64({example.ranks()}, static_cast<double>(right.loss))},
          {"gradients", on_each_rank(example, cast<double>(right.gradients).values())}};
}

/// Both passes' rings, the sum of all gradients, and some numbers.
std::int64_t bytes_of_loss(const Example& example, int) {
  return bytes_of_attention(example, 1, 1) +
         (example.ranks() - 1) *
             (bytes_of_number * example.inputs.at("weights").size() + bytes_of_few_numbers);
}

double loss_in_float64(const Example& example, const std::map<std::string, Tensor64>& x) {
  return reference::loss_of_model(shape_of(example), x.at("weights"),
                                  whole_numbers(cast<float>(x.at("tokens"))),
                                  whole_numbers(cast<float>(x.at("labels"))));
}

std::string parts_of_gradients(const Played& played) {
  const std::string parts = wrong_parts(shape_of(*played.example), played.answer.at("gradients"),
                                        played.expected.at("gradients"), played.tolerance.at("gradients"));
  return parts.empty() ? "" : "gradients are off " + parts;
}

struct RunInput {
  Layout layout;
  ModelShape shape;
  TrainOptions options;  ///< but for shape and context
  Index first, last;
};

/// A run of `text`, from given weights with moments, or from the beginning.
Example run_example(InputGenerator& generator, std::string what, Tensor text, const RunInput& run) {
  const ModelShape& shape = run.shape;
  const std::uint64_t seed = static_cast<std::uint64_t>(generator.integer(1, 1 << 20));
  const Shape row{weight_count(shape)};
  Example example{std::move(what),
                  {{"text", std::move(text)},
                   {"weights", Tensor(row, initial_weights(shape, seed))},
                   {"m", Tensor(row)},
                   {"v", Tensor(row)}},
                  layouts::arguments_of(run.layout)};
  if (run.first > 0) {
    example.inputs["weights"] = any_weights(generator, shape);
    example.inputs["m"] = generator.normal(row, 0.02f);
    Tensor& v = example.inputs["v"] = generator.normal(row, 0.02f);
    for (float& value : v.values()) value *= value;
  }
  Arguments& arguments = example.arguments;
  arguments.merge(arguments_of(shape));
  arguments.merge(arguments_of(run.options.adam));
  const auto set = [&](const char* name, auto value) { arguments[name] = {static_cast<double>(value)}; };
  set("context", run.layout.tokens());
  set("seed", seed);
  set("schedule", run.options.steps);
  set("warm_up", run.options.warm_up);
  set("rate", run.options.rate);
  set("evaluate", run.options.evaluate);
  set("step", run.first);
  set("last", run.last);
  example.layout = run.layout;
  example.limit_s = 20;
  return example;
}

TrainOptions options_of(const Example& example) {
  TrainOptions options;
  options.shape = shape_of(example);
  options.context = integer(example, "context");
  options.seed = static_cast<std::uint64_t>(example.arguments.at("seed").front());
  options.steps = integer(example, "schedule");
  options.warm_up = integer(example, "warm_up");
  options.rate = static_cast<float>(example.arguments.at("rate").front());
  options.adam = adam_options_of(example);
  options.evaluate = integer(example, "evaluate");
  return options;
}

/// How many bytes a text has of which so many are trained on, and the others held out.
Index bytes_with(Index training) {
  Index bytes = training;
  while (training_bytes(bytes) < training) ++bytes;
  return bytes;
}

std::vector<Example> runs(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  const ModelShape tiny{12, 4, 2, 2, 6}, small{16, 8, 2, 2, 12}, usual{48, 16, 4, 2, 32};
  const auto add = [&](const char* what, Tensor text, const RunInput& run) {
    all.push_back(run_example(generator, what, std::move(text), run));
  };
  const auto options = [](Index steps, float rate, Index evaluate, float clip) {
    return TrainOptions{
        .steps = steps, .warm_up = 3, .rate = rate, .adam = {.clip = clip}, .evaluate = evaluate};
  };
  const auto zigzag = [&](int tokens) { return Layout::named("zigzag", tokens, ranks); };
  add("four steps", words(generator, 80, 12),
      {Layout(std::vector<int>(ranks, 3)), tiny, options(4, 0.02f, 0, 1), 0, 4});
  add("20 steps of 97 tokens, zigzag, held-out windows", words(generator, 3000, 48),
      {zigzag(97), usual, options(20, 0.01f, 5, 1), 0, 20});
  add("steps 7 to 10, with moments, never clipped", words(generator, 200, 16),
      {exchange::any_layout(generator, ranks), small, options(12, 0.01f, 4, 1e30f), 7, 11});
  add("always clipped, a decay of a half", words(generator, 90, 16),
      {zigzag(2 * ranks + 1), small,
       TrainOptions{
           .steps = 9, .warm_up = 2, .rate = 0.03f, .adam = {.decay = 0.5f, .clip = 0.01f}, .evaluate = 0},
       0, 6});
  add("fewer tokens than chunks, one window fits", words(generator, bytes_with(ranks + 2), 12),
      {zigzag(ranks + 1), tiny, options(3, 0.02f, 1, 1), 0, 3});
  add("one byte all along", Tensor({300}, 5.0f), {zigzag(4 * ranks), small, options(8, 0.03f, 4, 1), 0, 8});
  all.back().less_telling = true;
  Tensor noise({300});
  for (float& byte : noise.values()) byte = static_cast<float>(generator.integer(0, 15));
  add("bytes without any order", std::move(noise), {zigzag(3 * ranks), small, options(5, 0.02f, 5, 1), 0, 5});
  const Index tokens = 20;
  add("a training part as long as the context", words(generator, bytes_with(tokens), 12),
      {zigzag(static_cast<int>(tokens)), tiny, options(3, 0.02f, 0, 1), 0, 2});
  all.back() = refusal::refusing(std::move(all.back()), {static_cast<double>(tokens)});
  add("a gain that is infinite, so that the loss of step 5 is no number", words(generator, 90, 12),
      {zigzag(2 * ranks), tiny, options(9, 0.02f, 0, 1), 5, 7});
  const ModelView<float> model(tiny, all.back().inputs.at("weights").values());
  std::ranges::fill(model.final_norm(), std::numeric_limits<float>::infinity());
  all.back() = refusal::refusing(std::move(all.back()), {5});
  return all;
}

template <class T>
Answer run_answer(const Example& example) {
  reference::RunState<T> state{integer(example, "step"), input<T>(example, "weights"), input<T>(example, "m"),
                               input<T>(example, "v")};
  const Index last = integer(example, "last"), count = last - state.step;
  const std::vector<float>& numbers = example.inputs.at("text").values();
  const std::vector<std::uint8_t> text(numbers.begin(), numbers.end());
  std::vector<reference::RunStep<T>> steps(static_cast<std::size_t>(count));
  if (!refusal::is_refused(example)) steps = reference::run(options_of(example), text, state, last);
  std::map<std::string, std::vector<double>> rows;
  for (const reference::RunStep<T>& step : steps) {
    rows["loss"].push_back(static_cast<double>(step.loss));
    rows["norm"].push_back(static_cast<double>(step.norm));
    rows["rate"].push_back(step.rate);
    rows["held_out"].push_back(step.held_out ? static_cast<double>(*step.held_out) : -1.0);
  }
  Answer answer{{"steps_made", Tensor64({example.ranks()}, static_cast<double>(state.step))}};
  for (const auto& [name, row] : rows) answer[name] = on_each_rank(example, row);
  answer["weights_after"] = on_each_rank(example, cast<double>(state.weights).values());
  answer["m_after"] = on_each_rank(example, cast<double>(state.m).values());
  answer["v_after"] = on_each_rank(example, cast<double>(state.v).values());
  return answer;
}

/// What P ranks may be off by in float32, as parts of what is expected: measured over 20 steps they
/// are a fiftieth of it at most. Adam makes a step of the sign of rounding where a gradient is near 0, as
/// those of wq and wk are where all tokens are alike.
Answer run_rounding(const Example& example) {
  const std::map<std::string, double> allowed{{"loss", 2e-6},    {"norm", 1e-4},    {"weights_after", 1e-4},
                                              {"m_after", 1e-4}, {"v_after", 1e-4}, {"held_out", 2e-6}};
  Answer rounding = run_answer<double>(example);
  constexpr double deviations_allowed = 6;
  for (auto& [name, tensor] : rounding) {
    const auto found = allowed.find(name);
    const double part = found == allowed.end() ? 0 : found->second / deviations_allowed;
    for (double& value : tensor.values()) value = std::abs(value) * part;
  }
  return rounding;
}

/// How the first of some numbers is off that is off by more than this part of the right one.
std::string first_off(const Played& played, const char* name, double allowed, const char* words) {
  const Tensor64 &given = played.answer.at(name), &right = played.expected.at(name);
  for (Index i = 0; i < given.extent(1); ++i) {
    const double off = std::abs(given[i] - right[i]) / std::abs(right[i]);
    if (off <= allowed) continue;  // NaN is not
    return fmt::format("; {} of step {} is {:.2g} off, {:.2g} of the right one", words,
                       i + integer(*played.example, "step"), given[i] - right[i], off);
  }
  return "";
}

/// What a loss curve does not show.
std::string against_one_rank(const Played& played) {
  return arguments_in_words(*played.example, {"context", "shard_tokens", "step", "last", "clip"}) +
         first_off(played, "loss", 1e-6, "the loss") + first_off(played, "norm", 1e-5, "the norm");
}

/// Of each step the rings, the sum of gradients and some numbers, and as much forward of each held-out
/// window.
std::int64_t bytes_of_run(const Example& example, int) {
  const Index first = integer(example, "step"), last = integer(example, "last"),
              every = integer(example, "evaluate"), bytes = example.inputs.at("text").size();
  const Index evaluations = every == 0 ? 0 : last / every - first / every;
  const Index windows = (bytes - training_bytes(bytes) - 1) / integer(example, "context");
  const std::int64_t numbers =
      (last - first) * (bytes_of_number * example.inputs.at("weights").size() + bytes_of_few_numbers) +
      evaluations * windows * bytes_of_few_numbers;
  return bytes_of_attention(example, last - first + evaluations * windows, last - first) +
         (example.ranks() - 1) * numbers;
}

}  // namespace

Task loss_task(std::string id, std::string function) {
  Task task{.id = std::move(id),
            .function = std::move(function),
            .outputs = {{"loss", {"rank"}}, {"gradients", {"rank", "weight"}}},
            .examples = losses,
            .expected = loss_answer<double>,
            .baseline = loss_answer<float>,
            .rounding = layers::drawn_rounding(loss_answer<float>, loss_answer<double>),
            .split_axis = {{"tokens", 0}, {"labels", 0}},
            .largest_tolerance = 1e-3};
  task.explain = parts_of_gradients;
  const auto first_row = [](const Example&, const Answer& answer) {
    const Tensor64 row = slice(answer.at("gradients"), 0, 0, 1);
    return Tensor64({row.size()}, row.values());
  };
  task.answer_checks = {
      layers::agrees_with_differences({{"weights", first_row, "gradients"}}, loss_in_float64),
      is_the_same_on_all_ranks({"loss", "gradients"})};
  task.communication_checks = sends_at_most(bytes_of_loss);
  return task;
}

Task run_task(std::string id, std::string function) {
  Task task{.id = std::move(id),
            .function = std::move(function),
            .outputs = {{"loss", {"rank", "step"}},
                        {"norm", {"rank", "step"}},
                        {"rate", {"rank", "step"}},
                        {"held_out", {"rank", "step"}},
                        {.name = "steps_made", .axes = {"rank"}, .called = "the count of steps"},
                        {.name = "weights_after", .axes = {"rank", "weight"}, .called = "weights"},
                        {.name = "m_after", .axes = {"rank", "weight"}, .called = "m"},
                        {.name = "v_after", .axes = {"rank", "weight"}, .called = "v"}},
            .examples = runs,
            .expected = run_answer<double>,
            .baseline = run_answer<float>,
            .rounding = run_rounding,
            .largest_tolerance = 1e-2};
  task.explain = against_one_rank;
  task.answer_checks = {
      is_the_same_on_all_ranks({"loss", "norm", "rate", "held_out", "weights_after", "m_after", "v_after"})};
  task.communication_checks = sends_at_most(bytes_of_run);
  return refusal::with_refusals_of_ranks(std::move(task));
}

std::vector<Example> hidden_losses(InputGenerator& generator, int ranks) {
  return {loss_example(generator, "any model, striped",
                       Layout::named("striped", generator.integer(3 * ranks, 5 * ranks), ranks),
                       {10, 12, 3, 2, generator.integer(5, 20)})};
}

std::vector<Example> hidden_runs(InputGenerator& generator, int ranks) {
  return {run_example(generator, "another text, striped", words(generator, 400, 20),
                      {Layout::named("striped", generator.integer(3 * ranks, 5 * ranks), ranks),
                       {20, 8, 1, 2, 10},
                       TrainOptions{.steps = 8, .warm_up = 4, .rate = 0.01f, .evaluate = 3},
                       0,
                       8})};
}

}  // namespace course::training
