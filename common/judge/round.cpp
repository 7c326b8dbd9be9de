#include "judge/round.hpp"

#include <algorithm>

#include "judge/parallel.hpp"

namespace course {

namespace {

std::vector<Example> generate(const GradedTest& test, std::uint64_t seed) {
  InputGenerator stream = InputGenerator(seed).fork(test.name());
  const auto& examples = test.hidden ? test.task->hidden_examples : test.task->examples;
  return examples(stream, std::max(1, test.ranks));
}

Examples shared(std::vector<Example> examples) {
  Examples all;
  for (Example& example : examples) all.push_back(std::make_shared<const Example>(std::move(example)));
  return all;
}

/// How many examples each test of a round has.
std::vector<std::size_t> counts(const Round& round) {
  std::vector<std::size_t> all;
  for (const Examples& examples : round.examples) all.push_back(examples.size());
  return all;
}

Case case_of(const Round& round, std::size_t test, std::size_t example) {
  const Task& task = *round.tests[test]->task;
  const Example& input = *round.examples[test][example];
  return {{task.function, input.arguments},
          round.tests[test]->name(),
          task.id,
          shards_of(task, input),
          wanted_outputs(task, round.expected[test][example])};
}

}  // namespace

Examples examples_of(const GradedTest& test, std::uint64_t seed) {
  return shared(generate(test, seed));
}

const Examples& SharedExamples::of(const GradedTest& test, std::uint64_t seed) {
  const auto [place, is_new] = all_.try_emplace({test.name(), seed});
  if (is_new) {
    std::vector<Example> examples = generate(test, seed);
    for (Example& example : examples) example.worked.keep();
    place->second = shared(std::move(examples));
  }
  return place->second;
}

Round prepare(std::uint64_t seed, std::vector<const GradedTest*> tests, std::vector<Examples> examples) {
  Round round;
  round.seed = seed;
  round.tests = std::move(tests);
  round.examples = std::move(examples);
  for (const std::size_t count : counts(round)) {
    round.expected.emplace_back(count);
    round.outcomes.emplace_back(count);
  }
  for_each_in_parallel(counts(round), [&round](std::size_t i, std::size_t j) {
    round.expected[i][j] = round.tests[i]->task->expected(*round.examples[i][j]);
  });
  return round;
}

void play(std::vector<Round>& rounds, const Chosen& chosen, Launcher& launcher) {
  std::vector<Case> cases;
  std::vector<Outcome*> places;
  for (Round& round : rounds) {
    for (std::size_t i = 0; i < round.tests.size(); ++i) {
      for (std::size_t j = 0; j < round.examples[i].size(); ++j) {
        if (!chosen(round, i, j)) continue;
        cases.push_back(case_of(round, i, j));
        places.push_back(&round.outcomes[i][j]);
      }
    }
  }
  std::vector<Outcome> outcomes = launcher.play(cases);
  for (std::size_t i = 0; i < outcomes.size(); ++i) *places[i] = std::move(outcomes[i]);
}

void compare(Round& round, bool must_be_sharp) {
  round.played.clear();
  for (std::size_t i = 0; i < round.tests.size(); ++i)
    round.played.push_back({round.tests[i], std::vector<Played>(round.examples[i].size())});
  for_each_in_parallel(counts(round), [&](std::size_t i, std::size_t j) {
    const Task& task = *round.tests[i]->task;
    Played& played = round.played[i].examples[j];
    played = compare(task, *round.examples[i][j], round.expected[i][j], round.outcomes[i][j]);
    if (must_be_sharp) require_sharp(task, played);
  });
}

}  // namespace course
