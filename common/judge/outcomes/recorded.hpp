#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/diagnosis/diagnose.hpp"
#include "judge/outcomes/projections.hpp"
#include "judge/task.hpp"

namespace course {

/// The seed of the examples on which outcomes are recorded.
inline constexpr std::uint64_t recorded_seed = 1;

/// What a mistake's form and a right answer sent on an example, all ranks together (bytes_sent()). The sum is
/// one number for any number of ranks, and the same whether shards are gathered or sent round.
struct SentBytes {
  std::int64_t by_form = 0, by_right = 0;
};

/// How a call of a known mistake came out.
struct RecordedOutcome {
  std::string ending;                               ///< as ending_kind() has it
  std::map<std::string, Projections> outputs = {};  ///< the wrong ones, by name; empty unless it returned
  std::optional<SentBytes> sent = {};               ///< where it returned and sent other than a right answer
};

/// What the forms of a lesson's mistakes make of the examples of seed 1, as tests/NN_name/outcomes.tsv has
/// it; the course's test command writes it where it is to record. An answer is named by it:
/// name_by_outcomes().
struct RecordedOutcomes {
  /// An example with a fingerprint.
  struct Known {
    std::string test, what;  ///< for who reads the file
    Grain grain = Grain::Whole;
    /// By form, "v_left_behind.2"; a form that is not here is right on the example and sends what a right
    /// answer does. nullopt: the form comes out in one way as mutants are compiled and in another as a
    /// student's file is, or was not played.
    std::map<std::string, std::optional<RecordedOutcome>> by_form;
  };

  std::vector<std::string> forms;  ///< all that were recorded
  /// By task, and by fingerprint().
  std::map<std::string, std::map<std::string, Known>> examples;
};

/// What tells an example of a task from every other: a few digits that its inputs, arguments and layout make.
std::string fingerprint(const Task& task, const Example& example);

/// The kind of an ending, never its text: "returned" where there is an answer to compare, "threw
/// std::invalid_argument", or "threw" where the type is not known.
std::string ending_kind(const Played& played);

/// By messages and collectives, of MPI's and NCCL's, and of all ranks together; of a collective of NCCL's,
/// what it brought. 0 unless every rank reported.
std::int64_t bytes_sent(const Outcome& outcome);

/// Throws std::runtime_error with the path, the line and what is wrong with it.
RecordedOutcomes read_outcomes(const std::filesystem::path& path);
/// Writes the file whole or not at all. Throws std::runtime_error where it would be larger than 200 KB.
void write_outcomes(const std::filesystem::path& path, const RecordedOutcomes& outcomes);

/// Whether a form that was played comes out as is recorded of it. Throws std::out_of_range where nothing is
/// recorded of the task.
bool is_as_recorded(const Task& task, const std::string& form, const RecordedOutcomes& outcomes,
                    const Played& played);

/// Gives tasks the recorded forms as their mistakes, in place of those that they compute, and removes their
/// readings.
/// @param outcomes are referred to by the tasks, unless they are empty
void name_by_outcomes(LessonJudge& judge, const RecordedOutcomes& outcomes);

}  // namespace course
