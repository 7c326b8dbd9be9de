#include "judge/outcomes/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "judge/numbers/compare.hpp"
#include "text/text_file.hpp"

namespace course {

namespace {

/// How many examples of a test are recorded by head and rank. Of many ranks one is, by which the files of
/// rings stay below what they may have.
int fine_examples(int ranks) {
  return ranks > 4 ? 1 : 3;
}

bool was_played(const Played& played) {
  return played.outcome->ending != Outcome::Ending::NotPlayed;
}

/// Whether two builds of one form came out alike, up to what a right answer may be off by.
bool agree(const Played& one, const Played& other) {
  if (!was_played(one) || !was_played(other) || ending_kind(one) != ending_kind(other)) return false;
  return std::ranges::all_of(one.answer, [&](const auto& output) {
    const auto& [name, answer] = output;
    return relative_error(other.answer.at(name), answer) <= one.tolerance.at(name);
  });
}

/// What two builds of a form sent, where a right answer sent other than both.
std::optional<SentBytes> bytes_of_form(const Played& one, const Played& other, const Played& right) {
  const SentBytes bytes{bytes_sent(*one.outcome), bytes_sent(*right.outcome)};
  if (one.answer.empty() || right.answer.empty() || bytes.by_form == bytes.by_right ||
      bytes.by_form != bytes_sent(*other.outcome))
    return std::nullopt;
  return bytes;
}

/// How a form's call ended on an example, and its wrong outputs.
RecordedOutcome outcome_of(const Task& task, const Played& played, Grain grain) {
  RecordedOutcome outcome{ending_kind(played)};
  if (played.answer.empty()) return outcome;
  for (const Output* output : wrong_outputs(task, played))
    outcome.outputs[output->name] =
        projections_of(*output, layout_of(*output, *played.example), played.answer.at(output->name),
                       played.expected.at(output->name), grain);
  return outcome;
}

/// A session whose rounds refer to its tests.
Session played(const std::filesystem::path& subject, const std::vector<GradedTest>& tests,
               const JudgeOptions& options, std::map<std::string, Examples>& shared) {
  LauncherOptions launcher = options.launcher;
  launcher.subject = subject;
  Session session{
      tests, Launcher(std::move(launcher)), {.seed = recorded_seed, .spare_large = true, .shared = &shared}};
  session.play();
  return session;
}

/// Every example with a fingerprint, with nothing recorded of it yet.
void add_examples(const Round& round, RecordedOutcomes& outcomes) {
  for (const PlayedTest& test : round.tests) {
    int fine = 0;
    for (const auto& example : test.examples) {
      if (example->fingerprint.empty()) continue;
      const bool is_fine = !example->less_telling && fine < fine_examples(test.test->ranks);
      fine += is_fine ? 1 : 0;
      outcomes.examples[test.test->task->id].try_emplace(
          example->fingerprint,
          RecordedOutcomes::Known{
              test.test->name(), example->what, is_fine ? Grain::HeadsAndRanks : Grain::Whole, {}});
    }
  }
}

void add_form(const std::string& form, const Round& as_mutant, const Round& as_student, const Round& right,
              RecordedOutcomes& outcomes) {
  outcomes.forms.push_back(form);
  for (std::size_t t = 0; t < as_mutant.tests.size(); ++t) {
    const PlayedTest& test = as_mutant.tests[t];
    for (std::size_t i = 0; i < test.played.size(); ++i) {
      const Played& one = test.played[i];
      const Played& other = as_student.tests[t].played[i];
      if (one.example->fingerprint.empty()) continue;
      RecordedOutcomes::Known& known = outcomes.examples.at(test.test->task->id).at(one.example->fingerprint);
      if (!agree(one, other) || is_right(one) != is_right(other)) {
        known.by_form[form] = std::nullopt;
        continue;
      }
      const std::optional<SentBytes> bytes = bytes_of_form(one, other, right.tests[t].played[i]);
      if (is_right(one) && !bytes) continue;
      RecordedOutcome outcome = outcome_of(*test.test->task, one, known.grain);
      outcome.sent = bytes;
      known.by_form[form] = std::move(outcome);
    }
  }
}

}  // namespace

std::vector<FormSubjects> listed_forms(const std::filesystem::path& file) {
  std::vector<FormSubjects> forms;
  for (const std::string& line : lines_of(read_text(file))) {
    const std::vector<std::string> columns = split(line, '\t');
    if (columns.size() != 3)
      throw std::runtime_error(file.string() +
                               ": expected a form and two subjects, with tabs between them: " + line);
    forms.push_back({columns[0], columns[1], columns[2]});
  }
  return forms;
}

RecordedOutcomes record_outcomes(const std::vector<GradedTest>& tests, const std::vector<FormSubjects>& forms,
                                 const JudgeOptions& options) {
  RecordedOutcomes outcomes;
  std::map<std::string, Examples> shared;
  const Session right = played(options.launcher.subject, tests, options, shared);
  add_examples(right.first, outcomes);
  for (const FormSubjects& form : forms) {
    const Session as_mutant = played(form.as_mutant, tests, options, shared);
    const Session as_student = played(form.as_student, tests, options, shared);
    add_form(form.form, as_mutant.first, as_student.first, right.first, outcomes);
    fmt::print("recorded  {}\n", form.form);
    std::fflush(stdout);
  }
  return outcomes;
}

std::string stale_outcomes(const RecordedOutcomes& recorded, const std::string& form, const Round& round) {
  if (std::ranges::count(recorded.forms, form) == 0)
    return form + " is not recorded yet: ./course test --lesson NN --record does that\n";
  std::string text;
  for (const PlayedTest& test : round.tests) {
    const Task& task = *test.test->task;
    const auto of_task = recorded.examples.find(task.id);
    for (const Played& one : test.played) {
      if (one.example->fingerprint.empty() || !was_played(one)) continue;
      const bool known =
          of_task != recorded.examples.end() && of_task->second.contains(one.example->fingerprint);
      if (!known || !is_as_recorded(task, form, recorded, one))
        text += fmt::format(
            "test {}, on {}: {}\n", test.test->name(), one.example->what,
            known ? form + " comes out otherwise than recorded" : "nothing is recorded of this input");
    }
  }
  return text;
}

}  // namespace course
