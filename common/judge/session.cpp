#include "judge/session.hpp"

namespace course {

Session::Session(std::vector<GradedTest> tests, LauncherOptions options, std::uint64_t first_seed, int seeds)
    : tests_(std::move(tests)), options_(std::move(options)), first_seed_(first_seed), rounds_(seeds) {}

void Session::play() {
  for (int i = 0; i < seeds(); ++i) draw(rounds_[i], seed(i));
  take(Launcher(options_).play(cases()));
  for (Round& round : rounds_) judge_round(round);
}

void Session::draw(Round& round, std::uint64_t seed) const {
  for (const GradedTest& test : tests_) {
    Draw stream = Draw(seed).fork(test.name());
    round.examples.push_back(test.task->examples(stream, std::max(1, test.ranks)));
  }
}

std::vector<Case> Session::cases() const {
  std::vector<Case> all;
  for (const Round& round : rounds_) {
    for (std::size_t i = 0; i < tests_.size(); ++i) {
      const Task& task = *tests_[i].task;
      for (const Example& example : round.examples[i]) {
        all.push_back({tests_[i].name(), task.function, example.arguments, shards_of(task, example)});
      }
    }
  }
  return all;
}

/// Deals the outcomes out to the rounds and tests, in the order of cases().
void Session::take(std::vector<Outcome> outcomes) {
  auto next = outcomes.begin();
  for (Round& round : rounds_) {
    for (const std::vector<Example>& examples : round.examples) {
      const auto end = next + static_cast<std::ptrdiff_t>(examples.size());
      round.outcomes.emplace_back(std::make_move_iterator(next), std::make_move_iterator(end));
      next = end;
    }
  }
}

void Session::judge_round(Round& round) const {
  for (std::size_t i = 0; i < tests_.size(); ++i) {
    PlayedTest& played = round.played.emplace_back(PlayedTest{&tests_[i], {}});
    for (std::size_t j = 0; j < round.examples[i].size(); ++j) {
      played.examples.push_back(compare(*tests_[i].task, round.examples[i][j], round.outcomes[i][j]));
    }
  }
  round.verdicts = judge(round.played);
}

}  // namespace course
