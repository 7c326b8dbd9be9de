#include "reference/training.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "training/memory_disk.hpp"

namespace course::reference {
namespace {

using training::ModelShape;

const ModelShape kShape{.vocabulary = 7, .hidden = 4, .heads = 2, .layers = 2, .ffn = 5};
const std::vector<Index> kTokens{0, 4, 4, 2, 6, 1}, kLabels{4, 4, 2, 6, 1, 0};

/// Numbers of no structure, so that no gradient is 0 by chance; token 3 and 5 do not come up.
Tensor64 random_weights() {
  std::mt19937 random(26);
  std::normal_distribution<double> distribution(0.1, 0.6);
  Tensor64 weights({training::weight_count(kShape)});
  for (double& value : weights.values()) value = distribution(random);
  return weights;
}

/// A text of the vocabulary's bytes with words in it.
std::vector<std::uint8_t> some_text(std::size_t bytes) {
  std::vector<std::uint8_t> text(bytes);
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<std::uint8_t>((i * i / 3 + i) % 7);
  return text;
}

TEST(ReferenceTraining, GradientsAreCentralDifferencesOfTheLoss) {
  Tensor64 weights = random_weights();
  const ModelLoss<double> given = model_loss(kShape, weights, kTokens, kLabels);
  EXPECT_EQ(given.loss, loss_of_model(kShape, weights, kTokens, kLabels));
  const double step = 1e-5;
  for (Index i = 0; i < weights.size(); ++i) {
    const double middle = weights[i];
    weights[i] = middle + step;
    const double above = loss_of_model(kShape, weights, kTokens, kLabels);
    weights[i] = middle - step;
    const double below = loss_of_model(kShape, weights, kTokens, kLabels);
    weights[i] = middle;
    EXPECT_NEAR(given.gradients[i], (above - below) / (2 * step), 2e-8) << "weight " << i;
  }
}

TEST(ReferenceTraining, TheFirstLossIsTheLogarithmOfTheVocabulary) {
  const training::TrainOptions options{.shape = kShape, .context = 5, .evaluate = 2};
  const training::TrainState begun = training::initial_state(options);
  const auto whole = [](const std::vector<float>& x) {
    return Tensor64({std::ssize(x)}, std::vector<double>(x.begin(), x.end()));
  };
  RunState<double> state{0, whole(begun.weights), whole(begun.m), whole(begun.v)};
  const std::vector<RunStep<double>> steps = run(options, some_text(200), state, 3);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_NEAR(steps[0].loss, std::log(7.0), 1e-12);
  EXPECT_NE(steps[1].loss, steps[0].loss);
  EXPECT_FALSE(steps[0].held_out);
  EXPECT_TRUE(steps[1].held_out);
  EXPECT_EQ(state.step, 3);
}

/// Three steps by hand on two weights, the first of which decays.
TEST(ReferenceTraining, AdamwIsTheFormula) {
  const training::AdamOptions options{
      .beta1 = 0.5f, .beta2 = 0.75f, .epsilon = 0.125f, .decay = 0.5f, .clip = 5};
  RunState<double> state{0, Tensor64({2}, {1.0, -2.0}), Tensor64({2}), Tensor64({2})};
  const std::vector<std::uint8_t> decays{1, 0};
  EXPECT_EQ(adamw(state, Tensor64({2}, {6.0, 8.0}), options, 0.5, decays), 10.0);  // clipped to 3 and 4
  EXPECT_NEAR(state.weights[0], 1.0 - 0.5 * (3 / 3.125 + 0.5), 1e-15);
  EXPECT_NEAR(state.weights[1], -2.0 - 0.5 * 4 / 4.125, 1e-15);
  const double before = state.weights[1];
  EXPECT_EQ(adamw(state, Tensor64({2}, {0.0, 1.0}), options, 0.5, decays), 1.0);
  const double m = (0.25 * 4 + 0.5 * 1) / 0.75, v = (0.1875 * 16 + 0.25 * 1) / (1 - 0.5625);
  EXPECT_NEAR(state.weights[1], before - 0.5 * m / (std::sqrt(v) + 0.125), 1e-14);
}

TEST(ModelView, NamesEveryWeightOnce) {
  std::vector<float> weights(static_cast<std::size_t>(training::weight_count(kShape)));
  const training::ModelView<float> model(kShape, weights);
  const auto count = [](float* first, Index size) {
    for (Index i = 0; i < size; ++i) first[i] += 1;
  };
  count(model.embedding().data(), model.embedding().size());
  for (Index number = 0; number < kShape.layers; ++number) {
    const auto layer = model.layer(number);
    for (const auto& gain : {layer.norm1, layer.norm2}) count(gain.data(), std::ssize(gain));
    for (const auto& heads : {layer.wq, layer.wk, layer.wv, layer.wo}) count(heads.data(), heads.size());
    for (const auto& matrix : {layer.w_up, layer.w_down}) count(matrix.data(), matrix.size());
  }
  count(model.final_norm().data(), std::ssize(model.final_norm()));
  count(model.head().data(), model.head().size());
  EXPECT_EQ(weights, std::vector<float>(weights.size(), 1));
  EXPECT_THROW(model.layer(2), std::out_of_range);
  EXPECT_THROW(training::ModelView<float>(kShape, std::span(weights).first(3)), std::invalid_argument);
}

TEST(InitialWeights, HaveTheScaleThatTheyAreDrawnWith) {
  const ModelShape shape{.vocabulary = 256, .hidden = 64, .heads = 4, .layers = 1, .ffn = 256};
  std::vector<float> weights = training::initial_weights(shape, 3);
  EXPECT_EQ(weights, training::initial_weights(shape, 3));
  EXPECT_NE(weights, training::initial_weights(shape, 4));
  const training::ModelView<float> model(shape, weights);
  double sum = 0, squares = 0;
  for (Index i = 0; i < model.embedding().size(); ++i) {
    sum += model.embedding().data()[i];
    squares += std::pow(model.embedding().data()[i], 2);
  }
  const double n = static_cast<double>(model.embedding().size());
  EXPECT_NEAR(sum / n, 0, 0.5 * 4 / std::sqrt(n));
  EXPECT_NEAR(std::sqrt(squares / n), 0.5, 0.01);
  EXPECT_EQ(model.head()(255, 63), 0);
  EXPECT_EQ(model.layer(0).norm2[5], 1);
}

TEST(Schedule, RisesOverTheWarmUpAndFallsToATenth) {
  const training::TrainOptions options{.steps = 100, .warm_up = 4, .rate = 1};
  EXPECT_FLOAT_EQ(training::schedule(options, 0), 0.25f);
  EXPECT_NEAR(training::schedule(options, 3), 0.55 + 0.45 * std::cos(0.03 * M_PI), 1e-6);
  EXPECT_FLOAT_EQ(training::schedule(options, 100), 0.1f);
  EXPECT_FLOAT_EQ(training::schedule(options, 1000), 0.1f);
}

TEST(TrainingBytes, AreNineTenths) {
  for (Index bytes = 0; bytes < 45; ++bytes) EXPECT_EQ(training::training_bytes(bytes), bytes * 9 / 10);
}

TEST(MemoryDisk, IsDeadFromTheChangeOnAtWhichItDies) {
  training::MemoryDisk disk;
  const training::Files files = disk.files();
  const std::vector<float> numbers{1, 2};
  disk.die_after(3);
  files.make_folder("run/a");
  files.write_numbers("run/a/w.npy", numbers);
  EXPECT_FALSE(disk.is_dead());
  EXPECT_THROW(files.write_numbers("run/a/m.npy", numbers), std::runtime_error);
  EXPECT_TRUE(disk.is_dead());
  EXPECT_THROW(files.rename("run/a", "run/b"), std::runtime_error);
  EXPECT_EQ(files.read_numbers("run/a/w.npy"), numbers);
  EXPECT_THROW(files.read_numbers("run/a/m.npy"), std::runtime_error) << "it is cut short";
}

TEST(MemoryDisk, RenamesFoldersButOntoNoneWithFiles) {
  training::MemoryDisk disk;
  const training::Files files = disk.files();
  for (const char* folder : {"run/a", "run/b"}) {
    files.make_folder(folder);
    files.write_facts(std::string(folder) + "/state.json", {{"step", 3}});
  }
  EXPECT_THROW(files.rename("run/a", "run/b"), std::runtime_error);
  files.remove("run/b");
  files.rename("run/a", "run/b");
  EXPECT_EQ(files.names_in("run"), std::vector<std::string>{"b"});
  EXPECT_EQ(files.read_facts("run/b/state.json").at("step"), 3u);
  EXPECT_THROW(files.rename("run/a", "run/c"), std::runtime_error) << "there is no such folder";
  EXPECT_TRUE(files.names_in("elsewhere").empty());
}

}  // namespace
}  // namespace course::reference
