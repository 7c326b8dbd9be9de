#include "judge/session.hpp"

#include <algorithm>

namespace course {

namespace {

bool has_wrong_answer(const PlayedTest& test) {
  return std::ranges::any_of(test.examples, [](const Played& played) {
    return played.outcome->ending != Outcome::Ending::NotPlayed && !is_right(played);
  });
}

}  // namespace

Session::Session(std::vector<GradedTest> tests, LauncherOptions launcher, SessionOptions options)
    : tests_(std::move(tests)), launcher_(std::move(launcher)), options_(options) {}

Round Session::prepared() const {
  std::vector<const GradedTest*> tests;
  std::vector<Examples> examples;
  for (const GradedTest& test : tests_) {
    tests.push_back(&test);
    examples.push_back(options_.shared != nullptr ? options_.shared->of(test, options_.seed)
                                                  : examples_of(test, options_.seed));
  }
  return prepare(options_.seed, std::move(tests), std::move(examples));
}

void Session::play() {
  rounds_.push_back(prepared());
  Round& round = rounds_.front();
  const auto is_large = [](const Round& of, std::size_t test, std::size_t example) {
    return of.examples[test][example]->large;
  };
  if (!options_.spare_large) {
    course::play(
        rounds_, [](auto&&...) { return true; }, launcher_);
  } else {
    course::play(rounds_, std::not_fn(is_large), launcher_);
    compare(round, options_.must_be_sharp);
    const auto chosen = [&](const Round& of, std::size_t test, std::size_t example) {
      return is_large(of, test, example) && !has_wrong_answer(of.played[test]);
    };
    course::play(rounds_, chosen, launcher_);
  }
  compare(round, options_.must_be_sharp);
  round.verdicts = judge(round.played);
}

}  // namespace course
