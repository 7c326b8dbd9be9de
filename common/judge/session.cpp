#include "judge/session.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "judge/numbers/compare.hpp"
#include "judge/parallel.hpp"

namespace course {

namespace {

/// Inputs and outputs of so many seeds are held at once.
constexpr int rounds_at_once = 50;

using Tests = std::vector<const GradedTest*>;

/// Of the tests of one task, those of the world size that a later seed plays: a task's world sizes take
/// turns.
Tests of_one_world_size(const Tests& tests, int round) {
  if (tests.empty()) return {};
  std::set<int> sizes;
  for (const GradedTest* test : tests) sizes.insert(test->ranks);
  const int ranks = *std::next(sizes.begin(), round % std::ssize(sizes));
  Tests chosen;
  std::ranges::copy_if(tests, std::back_inserter(chosen), [&](auto* test) { return test->ranks == ranks; });
  return chosen;
}

std::vector<Example> draw_examples(const GradedTest& test, std::uint64_t seed) {
  InputGenerator stream = InputGenerator(seed).fork(test.name());
  const auto& draw = test.hidden ? test.task->hidden_examples : test.task->examples;
  return draw(stream, std::max(1, test.ranks));
}

Examples shared(std::vector<Example> examples) {
  Examples all;
  for (Example& example : examples) all.push_back(std::make_shared<const Example>(std::move(example)));
  return all;
}

}  // namespace

const Examples& SharedExamples::of(const GradedTest& test, std::uint64_t seed) {
  const auto [place, is_new] = drawn_.try_emplace({test.name(), seed});
  if (is_new) {
    std::vector<Example> examples = draw_examples(test, seed);
    for (Example& example : examples) example.worked.keep();
    place->second = shared(std::move(examples));
  }
  return place->second;
}

Session::Session(std::vector<GradedTest> tests, LauncherOptions options, Seeds seeds, SharedExamples* shared)
    : tests_(std::move(tests)), launcher_(std::move(options)), seeds_(std::move(seeds)), shared_(shared) {}

void Session::play() {
  judged_.resize(static_cast<std::size_t>(seeds_.count));
  play_rounds({0}, Inputs::All);
  for (int begin = 1; begin < seeds_.count; begin += rounds_at_once) {
    std::vector<int> indices(static_cast<std::size_t>(std::min(seeds_.count - begin, rounds_at_once)));
    std::iota(indices.begin(), indices.end(), begin);
    play_rounds(indices, Inputs::Few);
    if (!seeds_.tells) continue;
    std::erase_if(indices, [&](int i) { return seeds_.tells(judged_[static_cast<std::size_t>(i)]); });
    play_rounds(indices, Inputs::All);
  }
}

void Session::play_rounds(const std::vector<int>& indices, Inputs inputs) {
  std::vector<Round> rounds;
  for (const int i : indices) rounds.push_back(draw(choose(i), i, inputs));
  take(rounds, launcher_.play(cases(rounds)));
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    const auto index = static_cast<std::size_t>(indices[r]);
    judged_[index] = {seeds_.first + index, rounds[r].tests, judge_round(rounds[r])};
    if (index == 0) {
      first_round_ = std::move(rounds[r]);
    } else {
      for (TestVerdict& verdict : judged_[index].verdicts) verdict.witness = nullptr;
    }
  }
}

Tests Session::choose(int round) const {
  std::map<const Task*, Tests> by_task;
  for (const GradedTest& test : tests_) by_task[test.task].push_back(&test);
  Tests chosen;
  for (const auto& [task, tests] : by_task) {
    const Tests of_task = round == 0 ? tests : of_one_world_size(candidates(tests), round);
    chosen.insert(chosen.end(), of_task.begin(), of_task.end());
  }
  std::ranges::sort(chosen);  // which all lie in tests_: in its order
  return chosen;
}

Tests Session::candidates(const Tests& tests) const {
  const auto has_failed = [](const TestVerdict& verdict) {
    return verdict.status == TestVerdict::Status::Failed;
  };
  if (!seeds_.tells || std::ranges::none_of(verdicts(), has_failed)) return tests;
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

/// How many examples each test of a round has.
std::vector<std::size_t> Session::counts(const Round& round) {
  std::vector<std::size_t> all;
  for (const Examples& examples : round.examples) all.push_back(examples.size());
  return all;
}

/// With the first seed, whose verdict speaks of the first example that failed.
bool Session::fails_on_large_alone(const GradedTest& test) const {
  const Played* witness = verdict_on(test).witness;
  return witness != nullptr && witness->example->large;
}

const TestVerdict& Session::verdict_on(const GradedTest& test) const {
  return verdicts()[place_of(test)];
}

std::size_t Session::place_of(const GradedTest& test) const {
  return static_cast<std::size_t>(&test - tests_.data());
}

bool Session::was_wrong(const GradedTest& test, std::size_t example) const {
  const std::vector<Played>& played = first_round_.played[place_of(test)].examples;
  return example < played.size() && played[example].outcome->ending != Outcome::Ending::NotPlayed &&
         !is_right(played[example]);
}

std::vector<std::size_t> Session::playable(const GradedTest& test, const Examples& examples) const {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (!examples[i]->large || fails_on_large_alone(test)) all.push_back(i);
  }
  return all;
}

Examples Session::inputs_of(const GradedTest& test, int index, Inputs inputs) const {
  const std::uint64_t seed = seeds_.first + static_cast<std::uint64_t>(index);
  if (index == 0 && shared_ != nullptr) return shared_->of(test, seed);
  const Examples all = shared(draw_examples(test, seed));
  if (index == 0) return all;
  std::vector<std::size_t> places = playable(test, all);
  const bool one = inputs == Inputs::Few && (test.ranks > 0 || seeds_.tells);
  if (one && !places.empty()) {
    std::vector<std::size_t> wrong;
    std::ranges::copy_if(places, std::back_inserter(wrong), [&](auto i) { return was_wrong(test, i); });
    const std::vector<std::size_t>& from = wrong.empty() ? places : wrong;
    const int last = static_cast<int>(from.size()) - 1;
    places = {from[InputGenerator(seed).fork(test.name() + ", which input").integer(0, last)]};
  }
  Examples chosen;
  for (const std::size_t i : places) chosen.push_back(all[i]);
  return chosen;
}

Session::Round Session::draw(Tests tests, int index, Inputs inputs) const {
  Round round;
  for (const GradedTest* test : tests) {
    Examples all = inputs_of(*test, index, inputs);
    round.truths.emplace_back(all.size());
    round.examples.push_back(std::move(all));
  }
  round.tests = std::move(tests);
  for_each_in_parallel(counts(round), [&round](std::size_t i, std::size_t j) {
    round.truths[i][j] = round.tests[i]->task->expected(*round.examples[i][j]);
  });
  return round;
}

std::vector<Case> Session::cases(const std::vector<Round>& rounds) {
  std::vector<Case> all;
  for (const Round& round : rounds) {
    for (std::size_t i = 0; i < round.tests.size(); ++i) {
      const Task& task = *round.tests[i]->task;
      for (std::size_t j = 0; j < round.examples[i].size(); ++j) {
        const Example& example = *round.examples[i][j];
        all.push_back({round.tests[i]->name(), task.id, task.function, example.arguments,
                       shards_of(task, example), wanted_outputs(task, round.truths[i][j])});
      }
    }
  }
  return all;
}

/// Deals the outcomes out to the rounds and tests, in the order of cases().
void Session::take(std::vector<Round>& rounds, std::vector<Outcome> outcomes) {
  auto next = outcomes.begin();
  for (Round& round : rounds) {
    for (const Examples& examples : round.examples) {
      const auto end = next + static_cast<std::ptrdiff_t>(examples.size());
      round.outcomes.emplace_back(std::make_move_iterator(next), std::make_move_iterator(end));
      next = end;
    }
  }
}

std::vector<TestVerdict> Session::judge_round(Round& round) const {
  for (std::size_t i = 0; i < round.tests.size(); ++i)
    round.played.push_back({round.tests[i], std::vector<Played>(round.examples[i].size())});
  for_each_in_parallel(counts(round), [&](std::size_t i, std::size_t j) {
    const Task& task = *round.tests[i]->task;
    Played& played = round.played[i].examples[j];
    played = compare(task, *round.examples[i][j], round.truths[i][j], round.outcomes[i][j]);
    if (seeds_.must_be_sharp) require_sharp(task, played);
  });
  return judge(round.played);
}

}  // namespace course
