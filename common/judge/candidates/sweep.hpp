#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "judge/session.hpp"

namespace course {

/// Later seeds of a session that was played: what the course tests its own submissions with.
///
/// With a later seed a task of several ranks is played at one of its world sizes, which take turns, and on
/// one of its inputs, which is drawn; large examples are left out (Example::large). Of a submission with a
/// mistake, only the tasks are played that it failed with the first seed, at one of the world sizes at which
/// it failed: of the larger half, but the largest only where it is the only one. Some mistakes take an odd
/// ring to show, most show in a large one, and the largest takes longer than the others together. The input
/// is then drawn, with one rank as well, from those that came out wrong with the first seed; a seed for which
/// that does not tell is played again on all.
class Sweep {
 public:
  /// Of a submission with a mistake: whether what came of a later seed tells what it should. Empty for
  /// others.
  using Tells = std::function<bool(const JudgedRound&)>;

  /// @param session which was played; must live as long
  Sweep(Session& session, Tells tells) : session_(session), tells_(std::move(tells)) {}

  /// The verdicts of `seeds` seeds in all, the session's first.
  std::vector<JudgedRound> judged(int seeds);

 private:
  enum class Inputs { All, Few };

  /// Plays and judges the seeds with these indices.
  void play(const std::vector<int>& indices, Inputs inputs, std::vector<JudgedRound>& judged);
  Round prepared(int index, Inputs inputs) const;
  std::vector<const GradedTest*> choose(int index) const;
  /// Of one task's tests, those that a later seed may play.
  std::vector<const GradedTest*> worth_playing(const std::vector<const GradedTest*>& tests) const;
  Examples inputs_of(const GradedTest& test, int index, Inputs inputs) const;
  /// Of a later seed's examples, which may be played: by index.
  std::vector<std::size_t> playable(const GradedTest& test, const Examples& examples) const;
  bool was_wrong(const GradedTest& test, std::size_t example) const;  ///< with the first seed
  bool fails_on_large_alone(const GradedTest& test) const;            ///< with the first seed
  std::size_t place_of(const GradedTest& test) const;
  const TestVerdict& verdict_on(const GradedTest& test) const {  ///< with the first seed
    return session_.verdicts()[place_of(test)];
  }
  std::uint64_t seed(int index) const { return session_.options().seed + static_cast<std::uint64_t>(index); }

  Session& session_;
  Tells tells_;
};

}  // namespace course
