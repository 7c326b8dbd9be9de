#include "judge/program/session.hpp"

#include <algorithm>
#include <set>

#include "judge/outcomes/recorded.hpp"
#include "judge/parallel.hpp"

namespace course {

namespace {

/// Calls work for every example of every test, in parallel.
void for_each_example(Round& round, const std::function<void(PlayedTest&, std::size_t example)>& work) {
  std::vector<std::size_t> counts;
  for (const PlayedTest& test : round.tests) counts.push_back(test.examples.size());
  for_each_in_parallel(counts, [&](std::size_t i, std::size_t j) { work(round.tests[i], j); });
}

Case case_of(const PlayedTest& test, std::size_t example) {
  const Task& task = *test.test->task;
  const Example& input = *test.examples[example];
  Case made{call_of(task, input), test.test->name(), task.id, shards_of(task, input),
            wanted_outputs(task, test.played[example].expected)};
  made.limit_s = input.limit_s;
  return made;
}

/// Whether other numbers make another answer: there are some between the first and the last of each input.
bool can_be_changed(const Example& example) {
  return !example.large && !example.less_telling && !example.inputs.empty() &&
         std::ranges::all_of(example.inputs, [](const auto& input) { return input.second.size() > 2; });
}

/// The first that can be changed, once more: what a function keeps from one call to the next is wrong on it,
/// and on no other example.
void add_called_before(std::vector<Example>& examples) {
  const auto found = std::ranges::find_if(examples, can_be_changed);
  if (found == examples.end()) return;
  Example again = *found;
  again.what += ", after calls with other numbers in the same memory";
  again.counted = false;
  again.less_telling = again.called_before = true;
  examples.push_back(std::move(again));
}

}  // namespace

FunctionCall call_of(const Task& task, const Example& example) {
  return {.function = task.function,
          .arguments = example.arguments,
          .counted = example.counted,
          .called_before = example.called_before};
}

Examples examples_of(const GradedTest& test, std::uint64_t seed, bool kept) {
  InputGenerator stream = InputGenerator(seed).fork(test.name());
  const auto& draw = test.hidden ? test.task->hidden_examples : test.task->examples;
  std::vector<Example> drawn = draw(stream, std::max(1, test.ranks));
  add_called_before(drawn);
  Examples all;
  for (Example& example : drawn) {
    if (test.task->direction != 1) example.topology = Topology::ring(test.task->direction);
    if (!test.hidden && !example.large && !example.far_out)
      example.fingerprint = fingerprint(*test.task, example);
    if (kept) example.worked = std::make_shared<WorkedOut>();
    all.push_back(std::make_shared<const Example>(std::move(example)));
  }
  return all;
}

void prepare(std::vector<Round>& rounds) {
  for (Round& round : rounds) {
    for (PlayedTest& test : round.tests) {
      test.outcomes.resize(test.examples.size());
      test.played.resize(test.examples.size());
    }
    for_each_example(round, [](PlayedTest& test, std::size_t i) {
      test.played[i].expected = test.test->task->expected(*test.examples[i]);
    });
  }
}

void play(std::vector<Round>& rounds, const Chosen& chosen, Launcher& launcher, bool must_be_sharp) {
  std::vector<Case> cases;
  std::vector<Outcome*> places;
  for (Round& round : rounds) {
    for (PlayedTest& test : round.tests) {
      for (std::size_t i = 0; i < test.examples.size(); ++i) {
        if (!chosen(test, i)) continue;
        cases.push_back(case_of(test, i));
        places.push_back(&test.outcomes[i]);
      }
    }
  }
  std::vector<Outcome> outcomes = launcher.play(cases);
  for (std::size_t i = 0; i < outcomes.size(); ++i) *places[i] = std::move(outcomes[i]);
  for (Round& round : rounds) {
    for_each_example(round, [&](PlayedTest& test, std::size_t i) {
      test.played[i] =
          compare(*test.test->task, *test.examples[i], std::move(test.played[i].expected), test.outcomes[i]);
      if (must_be_sharp) require_sharp(*test.test->task, test.played[i]);
    });
  }
}

namespace {

/// Plays the public tests of failed tasks with the seed that outcomes are recorded of, and judges the
/// session's own seed anew, with the names that those answers earn.
void take_recorded_names(Session& session) {
  std::vector<Round> rounds{{recorded_seed}};
  std::set<const Task*> failed;
  for (const PlayedTest& test : session.first.tests) {
    if (test.failed() && test.test->task->named_by_outcomes) failed.insert(test.test->task);
  }
  for (const GradedTest& test : session.tests) {
    if (!test.hidden && failed.contains(test.task))
      rounds[0].tests.push_back({.test = &test, .examples = examples_of(test, recorded_seed)});
  }
  if (rounds[0].tests.empty()) return;
  prepare(rounds);
  const auto is_small = [](const PlayedTest& test, std::size_t i) { return !test.examples[i]->large; };
  play(rounds, is_small, session.launcher, session.options.must_be_sharp);
  std::map<const Task*, std::vector<const Played*>> answers;
  for (const PlayedTest& test : rounds[0].tests) {
    for (const Played& played : test.played) answers[test.test->task].push_back(&played);
  }
  std::map<const Task*, std::vector<std::string>> explaining;
  for (const auto& [task, of_task] : answers) explaining[task] = explaining_mistakes(*task, of_task);
  judge(session.first.tests, false, explaining);
}

}  // namespace

void Session::play() {
  std::vector<Round> rounds{{options.seed}};
  for (const GradedTest& test : tests) {
    Examples examples;
    if (options.shared == nullptr) {
      examples = examples_of(test, options.seed);
    } else {
      Examples& shared = (*options.shared)[test.name()];
      if (shared.empty()) shared = examples_of(test, options.seed, true);
      examples = shared;
    }
    rounds[0].tests.push_back({.test = &test, .examples = std::move(examples)});
  }
  prepare(rounds);
  const auto is_spared = [&](const PlayedTest& test, std::size_t example) {
    return options.spare_large && test.examples[example]->large;
  };
  course::play(rounds, std::not_fn(is_spared), launcher, options.must_be_sharp);
  judge(rounds[0].tests);
  if (options.spare_large && std::ranges::none_of(rounds[0].tests, &PlayedTest::failed)) {
    course::play(rounds, is_spared, launcher, options.must_be_sharp);
    judge(rounds[0].tests);
  }
  first = std::move(rounds[0]);
  if (options.seed != recorded_seed) take_recorded_names(*this);
}

void Session::play_alone(std::shared_ptr<const Example> example) {
  std::vector<Round> rounds{{options.seed}};
  rounds[0].tests.push_back({.test = &tests.at(0), .examples = {std::move(example)}});
  prepare(rounds);
  course::play(
      rounds, [](auto&&...) { return true; }, launcher, options.must_be_sharp);
  judge(rounds[0].tests, true);
  first = std::move(rounds[0]);
}

}  // namespace course
