#include "judge/candidates/sweep.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

namespace course {

namespace {

/// Inputs and outputs of so many seeds are held at once.
constexpr int rounds_at_once = 50;

using Tests = std::vector<const GradedTest*>;

/// Of the tests of one task, those of the world size that a later seed plays: a task's world sizes take
/// turns.
Tests of_one_world_size(const Tests& tests, int index) {
  if (tests.empty()) return {};
  std::set<int> sizes;
  for (const GradedTest* test : tests) sizes.insert(test->ranks);
  const int ranks = *std::next(sizes.begin(), index % std::ssize(sizes));
  Tests chosen;
  std::ranges::copy_if(tests, std::back_inserter(chosen), [&](auto* test) { return test->ranks == ranks; });
  return chosen;
}

bool has_failed(const TestVerdict& verdict) {
  return verdict.status == TestVerdict::Status::Failed;
}

}  // namespace

std::vector<JudgedRound> Sweep::judged(int seeds) {
  std::vector<JudgedRound> judged(static_cast<std::size_t>(seeds));
  judged.front() = session_.round();
  for (int begin = 1; begin < seeds; begin += rounds_at_once) {
    std::vector<int> indices(static_cast<std::size_t>(std::min(seeds - begin, rounds_at_once)));
    std::iota(indices.begin(), indices.end(), begin);
    play(indices, Inputs::Few, judged);
    if (!tells_) continue;
    std::erase_if(indices, [&](int i) { return tells_(judged[static_cast<std::size_t>(i)]); });
    play(indices, Inputs::All, judged);
  }
  return judged;
}

void Sweep::play(const std::vector<int>& indices, Inputs inputs, std::vector<JudgedRound>& judged) {
  std::vector<Round> rounds;
  for (const int i : indices) rounds.push_back(prepared(i, inputs));
  course::play(
      rounds, [](auto&&...) { return true; }, session_.launcher());
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    compare(rounds[r], session_.options().must_be_sharp);
    JudgedRound& round = judged[static_cast<std::size_t>(indices[r])];
    round = {rounds[r].seed, rounds[r].tests, judge(rounds[r].played)};
    for (TestVerdict& verdict : round.verdicts) verdict.witness = nullptr;
  }
}

Round Sweep::prepared(int index, Inputs inputs) const {
  Tests tests = choose(index);
  std::vector<Examples> examples;
  for (const GradedTest* test : tests) examples.push_back(inputs_of(*test, index, inputs));
  return prepare(seed(index), std::move(tests), std::move(examples));
}

Tests Sweep::choose(int index) const {
  std::map<const Task*, Tests> by_task;
  for (const GradedTest& test : session_.tests()) by_task[test.task].push_back(&test);
  Tests chosen;
  for (const auto& [task, tests] : by_task) {
    const Tests of_task = of_one_world_size(worth_playing(tests), index);
    chosen.insert(chosen.end(), of_task.begin(), of_task.end());
  }
  std::ranges::sort(chosen);  // which all lie in the session's tests: in its order
  return chosen;
}

Tests Sweep::worth_playing(const Tests& tests) const {
  if (!tells_ || std::ranges::none_of(session_.verdicts(), has_failed)) return tests;
  Tests failed;
  for (const GradedTest* test : tests) {
    if (has_failed(verdict_on(*test))) failed.push_back(test);
  }
  if (failed.empty()) return {};
  std::ranges::stable_sort(failed, {}, &GradedTest::ranks);
  failed.erase(failed.begin(), failed.begin() + std::ssize(failed) / 2);
  const int largest = failed.back()->ranks;
  if (failed.front()->ranks < largest)
    std::erase_if(failed, [&](const GradedTest* test) { return test->ranks == largest; });
  return failed;
}

Examples Sweep::inputs_of(const GradedTest& test, int index, Inputs inputs) const {
  const Examples all = examples_of(test, seed(index));
  std::vector<std::size_t> places = playable(test, all);
  const bool one = inputs == Inputs::Few && (test.ranks > 0 || tells_);
  if (one && !places.empty()) {
    std::vector<std::size_t> wrong;
    std::ranges::copy_if(places, std::back_inserter(wrong), [&](auto i) { return was_wrong(test, i); });
    const std::vector<std::size_t>& from = wrong.empty() ? places : wrong;
    const int last = static_cast<int>(from.size()) - 1;
    places = {from[InputGenerator(seed(index)).fork(test.name() + ", which input").integer(0, last)]};
  }
  Examples chosen;
  for (const std::size_t i : places) chosen.push_back(all[i]);
  return chosen;
}

std::vector<std::size_t> Sweep::playable(const GradedTest& test, const Examples& examples) const {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (!examples[i]->large || fails_on_large_alone(test)) all.push_back(i);
  }
  return all;
}

bool Sweep::was_wrong(const GradedTest& test, std::size_t example) const {
  const std::vector<Played>& played = session_.round().played[place_of(test)].examples;
  return example < played.size() && played[example].outcome->ending != Outcome::Ending::NotPlayed &&
         !is_right(played[example]);
}

/// The first seed's verdict speaks of the first example that failed.
bool Sweep::fails_on_large_alone(const GradedTest& test) const {
  const Played* witness = verdict_on(test).witness;
  return witness != nullptr && witness->example->large;
}

std::size_t Sweep::place_of(const GradedTest& test) const {
  return static_cast<std::size_t>(&test - session_.tests().data());
}

}  // namespace course
