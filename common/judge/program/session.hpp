#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "judge/diagnosis/verdict.hpp"
#include "runner/launcher.hpp"

namespace course {

/// Some tests with one seed.
struct Round {
  std::uint64_t seed = 0;
  std::vector<PlayedTest> tests = {};
};

/// How a player is to call the task's function on an example.
FunctionCall call_of(const Task& task, const Example& example);

/// The examples that a test has with a seed: those that its task draws, and one of them once more, to be
/// played after calls with other numbers. `kept`: what is worked out of them is.
Examples examples_of(const GradedTest& test, std::uint64_t seed, bool kept = false);

/// Works out the expected answers; nothing is played yet.
void prepare(std::vector<Round>& rounds);

/// Which examples to play: those for which this says so of a test and an example's index.
using Chosen = std::function<bool(const PlayedTest&, std::size_t example)>;

/// Plays the chosen examples of all these rounds in as few launches as possible, and compares what was played
/// so far with what is expected.
/// @param must_be_sharp throws where a task may allow too much: require_sharp()
void play(std::vector<Round>& rounds, const Chosen& chosen, Launcher& launcher, bool must_be_sharp);

struct SessionOptions {
  std::uint64_t seed = 1;
  /// Whether an example on which a task may allow too much ends all. So the course tests itself; elsewhere a
  /// seed that drew such an example is no reason to judge nothing, since the others are as sharp as ever.
  bool must_be_sharp = false;
  /// Whether large examples are played only where no test fails without them. A person is shown all that is
  /// wrong.
  bool spare_large = false;
  /// By test's name, examples to play in place of newly drawn ones; those that are not there are added.
  std::map<std::string, Examples>* shared = nullptr;
};

/// Some tests of a lesson with a submission: played with the first seed, and after that by sweep() with more.
struct Session {
  std::vector<GradedTest> tests;
  Launcher launcher;
  SessionOptions options;
  Round first = {};

  /// Plays and judges the first seed. Of a task that fails, and whose mistakes' outcomes are recorded, the
  /// seed of the record is played, too: names come from that seed's answers alone.
  void play();

  /// Plays and judges one example of the only test by itself.
  void play_alone(std::shared_ptr<const Example> example);
};

/// Of a submission with a mistake: whether what came of a later seed tells what it should. Empty for others.
using Tells = std::function<bool(const Round&)>;

/// The verdicts of `seeds` seeds in all on a session that was played, whose own come first; of the others the
/// verdicts alone are kept. With these the course tests its own submissions.
///
/// With a later seed a task of several ranks is played at one of its world sizes, which take turns, and on
/// one of its inputs, which is drawn; large examples are left out (Example::large). Of a submission with a
/// mistake, only the tasks are played that it failed with the first seed, at one of the world sizes at which
/// it was named, or failed where none was named: of the larger half, but the largest only where it is the
/// only one. Some mistakes take an odd ring to show, most show in a large one, and the largest takes longer
/// than the others together. The input is then drawn, with one rank as well, from those that came out wrong
/// with the first seed; a seed for which that does not tell is played again on all.
std::vector<Round> sweep(Session& session, int seeds, const Tells& tells);

}  // namespace course
