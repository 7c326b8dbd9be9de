#pragma once

#include <algorithm>
#include <any>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "judge/numbers/input_generator.hpp"
#include "judge/topology.hpp"
#include "protocol/kernel_counts.hpp"
#include "registry/registry.hpp"
#include "ring/layout.hpp"
#include "runner/launcher.hpp"
#include "tensor/tensor.hpp"

namespace course {

/// A function's outputs by name, whole.
using Answer = std::map<std::string, Tensor64>;

/// What has been worked out of one example, by who asks, kept for all who ask again.
struct WorkedOut {
  std::mutex mutex;
  std::map<int, std::any> answers;
};

/// One input of a task, whole: the judge cuts it into the ranks' shards.
struct Example {
  std::string what;  ///< "a row maximum that arrives in the last block", for the diagnosis
  std::map<std::string, Tensor> inputs;
  Arguments arguments = {};
  Layout layout = {};  ///< which rows each rank owns; without ranks for a lesson on one rank
  /// So large that an instrument sees memory. Played with the first seed, and with later ones only by a
  /// submission that nothing else finds wrong.
  bool large = false;
  /// Of a wrong answer without a name shown after all others: a ring whose tokens are all on one rank makes
  /// every mistake a 0 or a multiple.
  bool less_telling = false;
  /// Numbers so far out that it is not known what a mistake makes of them, since some of what it computes
  /// leaves float32's range: wrong is wrong, and no evidence for a name or against one. Answer checks are not
  /// made of it.
  bool far_out = false;
  bool counted = false;  ///< on a simulated GPU, what kernels ask of memory; of one example a task
  /// The function is called before, in the same memory with other numbers: one example of each test.
  bool called_before = false;
  double limit_s = Case::usual_case_limit_s;  ///< how long playing it may take, whatever it does
  Topology topology = Topology::ring();       ///< a ring's direction is the task's
  /// What tells it from every other example of its task; empty where nothing is recorded of such examples:
  /// large, hidden or far out.
  std::string fingerprint = {};
  /// What the functions of a remembering() task gave; null: nothing is kept. Whoever changes a copy of an
  /// example has to take this from it.
  std::shared_ptr<WorkedOut> worked = {};
  int ranks() const { return std::max(1, layout.ranks()); }
  /// Where so many hops bring what `rank` holds; for fewer than 0, where it has come from.
  int ahead(int rank, int hops = 1) const { return topology.ahead(rank, hops, ranks()); }
  Index numbers() const;  ///< in all inputs
};

/// What somebody who is wrong would compute of an example. Nothing where that is not known, since numbers
/// leave float32's range or nobody writes them, or where it does not apply: such an example is no evidence.
using WrongAnswer = std::function<std::optional<Answer>(const Example&)>;

struct Played;  // diagnosis/diagnose.hpp

/// What an answer says of a mistake: that it is another one; that it may be this one; that it is wrong, and
/// as this mistake would have it.
enum class Likeness { Differs, Equals, Supports };

/// What came of a mistake's mutant on examples: in place of a computation of the mistake.
class KnownOutcomes {
 public:
  virtual ~KnownOutcomes() = default;
  virtual Likeness likeness(const Played& played) const = 0;
  /// Of one output of an answer.
  virtual Likeness likeness(const Played& played, const std::string& output) const = 0;
  /// Whether the mutant is wrong on this example.
  virtual bool is_wrong_on(const Played& played) const = 0;
  /// Whether it is wrong on none of the task's: what tells it is what it sends.
  virtual bool is_right_throughout() const = 0;
  /// Whether an answer sent rather what the mutant did than what a right answer does; true where that is not
  /// known, or one.
  virtual bool sends_alike(const Played& played) const = 0;
};

/// What a known mistake would compute. Several entries may share an id where a mistake has several faces.
struct Mistake {
  std::string id;      ///< in mistakes.md
  WrongAnswer answer;  ///< none where outcomes are known
  /// Of a mistake by which the function throws on some examples: whether it would throw what tells this fact
  /// on one. The answer is that of the others.
  std::function<bool(const Example&, const Fact& told)> throws = {};
  /// Of a mistake in what ranks send: whether what instruments saw of an example agrees with it.
  std::function<bool(const Example&, const Outcome&)> agrees = {};
  std::shared_ptr<const KnownOutcomes> outcomes = {};
  std::string form = {};  ///< of which the outcomes are: "v_left_behind.2"
};

/// A mistake as the steps of a computation, some of them set wrong.
template <class Steps>
struct WrongSteps {
  const char* id;
  Steps steps;
};

/// The mistakes that `run` computes by their steps.
template <class Steps>
std::vector<Mistake> mistakes_of(Answer (*run)(const Steps&, const Example&),
                                 const std::vector<WrongSteps<Steps>>& wrong) {
  std::vector<Mistake> all;
  for (const auto& [id, steps] : wrong)
    all.push_back({id, [run, steps = steps](const Example& example) { return run(steps, example); }});
  return all;
}

/// A computation that a wrong answer without a name may come of, in words: told by as_if() where it explains
/// all that was played, as a mistake would. It needs no section of mistakes.md.
struct Reading {
  std::string words;
  WrongAnswer answer;
  bool decides = false;      ///< of those that decide the first is told, and none beside it
  bool beside_name = false;  ///< told of an answer that has a name, too
  std::function<bool(const Example&, const Outcome&)> agrees = {};  ///< as a mistake's
};

/// An output and how to read it.
struct Output {
  std::string name;
  std::vector<std::string> axes;  ///< for the diagnosis: {"head", "row", "col"}; "" has one index, not told
  /// The ranks' pieces are joined along this axis, each row at its position. An output of the whole row that
  /// every rank returns is declared with the axis "rank" and joined along that.
  Index join_axis = 0;
  std::string called = {};            ///< in a report, where the contract has no such name
  std::optional<double> filler = {};  ///< what stands where a rank has no entry
  /// Which rows along join_axis each rank's piece has, joined in the order of ranks: where ranks have heads,
  /// contiguous shards of so many; a row that several ranks have is there as often. Empty: the example's
  /// layout.
  std::function<Layout(const Example&)> layout = {};
  const std::string& in_words() const { return called.empty() ? name : called; }
};

/// What an instrument has against an answer, right or wrong.
struct Finding {
  std::string mistake;  ///< an id of mistakes.md, or empty when no name is earned
  std::string text;
  std::string fact = {};  ///< the kind of the fact that it tells; "": it tells none
  bool has_line = false;  ///< the text names a line of a source file
};

/// A look at one example's outcome, finished or not.
using CommunicationCheck = std::function<std::vector<Finding>(const Example&, const Outcome&)>;

/// A look at one example's answer beside the expected answer; there is one to look at.
using AnswerCheck = std::function<std::vector<Finding>(const Played&)>;

/// How one task of a lesson is judged. All functions but the examples are called from several threads at
/// once.
struct Task {
  std::string id;        ///< "2"
  std::string function;  ///< as the adapter knows it
  std::vector<Output> outputs;
  /// Draws the inputs for a world of `ranks`; called once a seed.
  std::function<std::vector<Example>(InputGenerator& generator, int ranks)> examples;
  /// More inputs, which only a grade plays and whose diagnoses give nothing away; may be empty.
  std::function<std::vector<Example>(InputGenerator& generator, int ranks)> hidden_examples = {};
  /// The right answer in float64.
  std::function<Answer(const Example&)> expected;
  /// The same in float32: its error says what a right answer may be off by.
  std::function<Answer(const Example&)> baseline;
  /// Of each entry the root mean square of what float32 rounds off it, in any right answer: see
  /// judge/numbers/rounding.hpp. Without it the baseline alone says what an answer may be off by.
  std::function<Answer(const Example&)> rounding = {};
  std::vector<Mistake> mistakes = {};
  std::map<std::string, std::string> descriptions = {};  ///< of mistakes, by id: mistakes.md's
  /// By the id of a family's mistake, what is said of it where mistakes.md has no section for it: it becomes
  /// a reading then.
  std::map<std::string, std::string> words = {};
  /// By the id of a mistake that an instrument or the answer tells, mistakes that it may be a consequence of.
  /// Where one of these is named it is not; where one of these explains all answers, that is named in its
  /// place.
  std::multimap<std::string, std::string> follows_from = {};
  /// Ids of mistakes that instruments tell of any input of several ranks: where one of a test is right, they
  /// are not named in that test.
  std::set<std::string> fail_on_all_inputs = {};
  /// Ids of mistakes that instruments prove and from which any wrong answer may follow: no mistake told by
  /// its answer is named beside them.
  std::set<std::string> explain_answers = {};
  /// Whether the mistakes are all that a family of tasks knows, and the lesson's mistakes.md says which of
  /// them this one has.
  bool of_family = false;
  /// Of a ring of all ranks: 1 where they send to rank + 1, -1 where they send to rank - 1.
  int direction = 1;
  std::vector<CommunicationCheck> communication_checks = {};
  std::vector<AnswerCheck> answer_checks = {};
  /// Axis along which an input is cut into shards; an input that is not named is given whole to every rank.
  std::map<std::string, Index> split_axis = {};
  /// Of such an input which rows along its axis each rank is given, where that is not by the example's
  /// layout: as Output::layout.
  std::map<std::string, std::function<Layout(const Example&)>> split_layout = {};
  /// What else the adapter returns, for `explain`: logs of a few kilobytes, any number of rows of so many
  /// columns of ints.
  std::map<std::string, Index> logs = {};
  /// The id of an earlier task whose function the student is expected to use in this one.
  std::string uses = {};
  /// What a right answer may be off by, as a part of the expected answer's norm, must stay below this on
  /// every example: a test whose tolerance is as large as what it compares passes anything. An example whose
  /// answer cancels so far that float32 cannot keep below is an error of the lesson; see require_sharp().
  double largest_tolerance = 1;
  /// Whether a mistake's answer may cancel to far less than the expected answer: an answer then equals it
  /// when they differ by little against the expected answer's norm, too.
  bool mistakes_cancel = false;
  /// What the solution's kernels ask of memory on the counted example, together: whoever passes is shown it
  /// beside what his ask for. See judge/checks/kernel_costs.hpp.
  KernelCounts solution_counts = {};
  /// A wrong answer in words, from its inputs or what else the player returned; may be empty.
  std::function<std::string(const Played&)> explain = {};
  std::vector<Reading> readings = {};
  /// Whether the mistakes' outcomes are recorded (outcomes/recorded.hpp), with the first seed, and nothing is
  /// computed of them.
  bool named_by_outcomes = false;
  /// What the numbers of a wrong answer without a name say that only this task's arithmetic can tell: of the
  /// input that is shown, from all answers of its test; may be empty.
  std::function<std::string(const Played& shown, const std::vector<Played>& test)> look = {};
};

/// What the judge of one lesson consists of. Each lesson's judge.cpp defines lesson_judge().
struct LessonJudge {
  std::string id;  ///< "05", in the registry
  std::vector<Task> tasks;
};
LessonJudge lesson_judge();

/// Gives tasks their hidden examples: tests/NN_name/hidden.cpp, which no handout holds.
void add_hidden_examples(LessonJudge& judge);

/// The same task; its expected answers, baseline, rounding and mistakes are worked out once for
/// an example that keeps them: so a judge of many submissions works out the right answer once.
Task remembering(Task task);

/// Gives tasks what is said of mistakes; leaves them those that the lesson's mistakes.md has, a family's task
/// those that fail it there, and makes readings of those others that it has words for.
void keep_known_mistakes(LessonJudge& judge, const LessonInfo& lesson);

/// Throws std::invalid_argument unless judge and registry have the same tasks, mistakes.md has every mistake
/// of the judge, and the judge computes every mistake that is told by its answer, unless outcomes are
/// recorded.
void require_agreement(const LessonJudge& judge, const LessonInfo& lesson);

/// Every rank's inputs, cut from the example's.
std::vector<std::map<std::string, Tensor>> shards_of(const Task& task, const Example& example);

/// The outputs and logs that are read back from a player.
std::map<std::string, WantedOutput> wanted_outputs(const Task& task, const Answer& expected);

/// The ranks' outputs joined. Throws std::runtime_error naming an output that is missing or whose shape is
/// not what `expected` has.
Answer join_outputs(const Task& task, const Example& example, const Outcome& outcome, const Answer& expected);

/// Of an example's output: which rows along its join_axis each rank has.
Layout layout_of(const Output& output, const Example& example);

}  // namespace course
