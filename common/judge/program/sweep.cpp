#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "judge/program/session.hpp"

namespace course {

namespace {

/// Inputs and outputs of so many seeds are held at once.
constexpr int rounds_at_once = 50;

/// What came of some tests with the first seed.
using Tests = std::vector<const PlayedTest*>;

int ranks_of(const PlayedTest* test) {
  return test->test->ranks;
}

/// Of the tests of one task, those of the world size that a later seed plays: a task's world sizes take
/// turns.
Tests of_one_world_size(Tests tests, int index) {
  std::set<int> sizes;
  for (const PlayedTest* test : tests) sizes.insert(ranks_of(test));
  if (sizes.empty()) return {};
  const int ranks = *std::next(sizes.begin(), index % std::ssize(sizes));
  std::erase_if(tests, [&](const PlayedTest* test) { return ranks_of(test) != ranks; });
  return tests;
}

bool names_a_mistake(const PlayedTest* test) {
  return !test->verdict.mistakes.empty();
}

/// Of the tests of one task, those that show a mistake.
Tests showing(Tests tests) {
  std::erase_if(tests, std::not_fn(&PlayedTest::failed));
  if (tests.empty()) return {};
  // Some mistakes can be named in large worlds alone.
  if (std::ranges::any_of(tests, names_a_mistake)) std::erase_if(tests, std::not_fn(names_a_mistake));
  std::ranges::stable_sort(tests, {}, ranks_of);
  const auto smaller_half = std::ssize(tests) / 2;
  const int largest = ranks_of(tests.back());
  if (ranks_of(tests.front()) < largest)
    std::erase_if(tests, [&](const PlayedTest* test) { return ranks_of(test) == largest; });
  tests.erase(tests.begin(), tests.begin() + std::min(smaller_half, std::ssize(tests) - 1));
  return tests;
}

bool was_wrong(const PlayedTest& test, std::size_t example) {
  return example < test.played.size() && test.outcomes[example].ending != Outcome::Ending::NotPlayed &&
         !is_right(test.played[example]);
}

/// Large examples are played once all others have passed.
bool fails_on_large_alone(const PlayedTest& test) {
  return test.verdict.witness != nullptr && test.verdict.witness->example->large;
}

/// A later seed's examples that may be played, or `one` of them: that was wrong with the first seed, where
/// there is such a one.
Examples inputs_of(const PlayedTest& first, std::uint64_t seed, bool one) {
  const Examples drawn = examples_of(*first.test, seed);
  Examples all, wrong;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    if (drawn[i]->large && !fails_on_large_alone(first)) continue;
    all.push_back(drawn[i]);
    if (was_wrong(first, i)) wrong.push_back(drawn[i]);
  }
  if (!one || all.empty()) return all;
  const Examples& from = wrong.empty() ? all : wrong;
  InputGenerator generator = InputGenerator(seed).fork(first.test->name() + ", which input");
  return {from[generator.integer(0, static_cast<int>(from.size()) - 1)]};
}

/// The tests that the seed with this index plays, in the session's order.
Tests choose(const Round& first, int index, bool has_mistake) {
  std::map<const Task*, Tests> by_task;
  bool any_failed = false;
  for (const PlayedTest& test : first.tests) {
    by_task[test.test->task].push_back(&test);
    any_failed |= test.failed();
  }
  Tests chosen;
  for (auto& [task, tests] : by_task) {
    if (has_mistake && any_failed) tests = showing(std::move(tests));
    std::ranges::copy(of_one_world_size(std::move(tests), index), std::back_inserter(chosen));
  }
  std::ranges::sort(chosen);
  return chosen;
}

Round verdicts_of(const Round& round) {
  Round verdicts{round.seed};
  for (const PlayedTest& test : round.tests) {
    verdicts.tests.push_back({.test = test.test, .verdict = test.verdict});
    verdicts.tests.back().verdict.witness = nullptr;
  }
  return verdicts;
}

/// Plays and judges the seeds with these indices: on few inputs or on all.
void play(Session& session, const std::vector<int>& indices, bool few, bool has_mistake,
          std::vector<Round>& judged) {
  std::vector<Round> rounds;
  for (const int index : indices) {
    Round& round = rounds.emplace_back(Round{session.options.seed + static_cast<std::uint64_t>(index)});
    for (const PlayedTest* first : choose(session.first, index, has_mistake)) {
      const bool one = few && (ranks_of(first) > 0 || has_mistake);
      round.tests.push_back({.test = first->test, .examples = inputs_of(*first, round.seed, one)});
    }
  }
  prepare(rounds);
  course::play(
      rounds, [](auto&&...) { return true; }, session.launcher, session.options.must_be_sharp);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    judge(rounds[i].tests);
    judged[static_cast<std::size_t>(indices[i])] = verdicts_of(rounds[i]);
  }
}

}  // namespace

std::vector<Round> sweep(Session& session, int seeds, const Tells& tells) {
  std::vector<Round> judged(static_cast<std::size_t>(seeds));
  for (int begin = 1; begin < seeds; begin += rounds_at_once) {
    std::vector<int> indices(static_cast<std::size_t>(std::min(seeds - begin, rounds_at_once)));
    std::iota(indices.begin(), indices.end(), begin);
    play(session, indices, true, tells != nullptr, judged);
    if (tells == nullptr) continue;
    std::erase_if(indices, [&](int i) { return tells(judged[static_cast<std::size_t>(i)]); });
    play(session, indices, false, true, judged);
  }
  judged.front() = verdicts_of(session.first);
  return judged;
}

}  // namespace course
