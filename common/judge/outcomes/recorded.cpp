#include "judge/outcomes/recorded.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string_view>

#include "judge/numbers/compare.hpp"
#include "text/text_file.hpp"

namespace course {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest_file = 200'000;
constexpr std::size_t fingerprint_digits = 12;
constexpr const char* has_returned = "returned";
constexpr const char* has_thrown = "threw";
constexpr const char* unknown = "?";
// Then a form's and a right answer's, with "/" between them.
constexpr std::string_view bytes_mark = "bytes:";

bool is_wrong(const RecordedOutcome& outcome) {
  return outcome.ending != has_returned || !outcome.outputs.empty();
}

/// Whether they are of one kind. Not every player knows the type of what was thrown.
bool ends_alike(const std::string& ending, const std::string& other) {
  return ending == other || (ending.starts_with(has_thrown) && other.starts_with(has_thrown) &&
                             (ending == has_thrown || other == has_thrown));
}

/// One form of a mistake, as what is recorded of it.
class Form : public KnownOutcomes {
 public:
  /// @param outcomes have this task, and outlive the form
  Form(const Task& task, std::string form, const RecordedOutcomes& outcomes)
      : outputs_(task.outputs),
        mistakes_cancel_(task.mistakes_cancel),
        form_(std::move(form)),
        examples_(&outcomes.examples.at(task.id)) {
    is_right_throughout_ = std::ranges::none_of(*examples_, [&](const auto& example) {
      const auto recorded = example.second.by_form.find(form_);
      return recorded != example.second.by_form.end() && recorded->second && is_wrong(*recorded->second);
    });
  }

  Likeness likeness(const Played& played) const override {
    using Ending = Outcome::Ending;
    if (played.example->fingerprint.empty() || played.outcome->ending == Ending::NotPlayed)
      return Likeness::Equals;
    if (!examples_->contains(played.example->fingerprint)) return Likeness::Differs;
    if (is_unknown_on(played)) return Likeness::Equals;
    const RecordedOutcome* const outcome = outcome_on(played);
    const std::string ending = outcome == nullptr ? has_returned : outcome->ending;
    if (!ends_alike(ending, ending_kind(played))) return Likeness::Differs;
    Likeness found = Likeness::Equals;  // an ending alone is no support
    if (is_right_throughout_ && outcome != nullptr) {
      if (!sends_alike(played)) return Likeness::Differs;
      if (sends_as_recorded(played)) found = Likeness::Supports;
    }
    for (const auto& [name, answer] : played.answer) {
      const Likeness of_output = likeness(played, name);
      if (of_output == Likeness::Differs) return of_output;
      found = std::max(found, of_output);
    }
    return found;
  }

  Likeness likeness(const Played& played, const std::string& name) const override {
    if (played.example->fingerprint.empty() || is_unknown_on(played)) return Likeness::Equals;
    const double tolerance = played.tolerance.at(name);
    const double error = relative_error(played.answer.at(name), played.expected.at(name));
    const RecordedOutcome* const outcome = outcome_on(played);
    const auto recorded = outcome == nullptr ? no_outputs_.end() : outcome->outputs.find(name);
    if (outcome == nullptr || recorded == outcome->outputs.end())
      return error <= mistake_factor * tolerance ? Likeness::Equals : Likeness::Differs;
    const Output& output = *std::ranges::find(outputs_, name, &Output::name);
    if (!are_alike(recorded->second, output, layout_of(output, *played.example), played.answer.at(name),
                   played.expected.at(name), examples_->at(played.example->fingerprint).grain,
                   mistake_factor * tolerance, mistakes_cancel_))
      return Likeness::Differs;
    return error > clearly * mistake_factor * tolerance ? Likeness::Supports : Likeness::Equals;
  }

  bool is_wrong_on(const Played& played) const override {
    const RecordedOutcome* const outcome = outcome_on(played);
    return outcome != nullptr && is_wrong(*outcome);
  }

  bool is_right_throughout() const override { return is_right_throughout_; }

  /// Right answers need not send the same, since they pack what they send in other ways, nor need the forms
  /// of a mistake: the nearer of the two counts.
  bool sends_alike(const Played& played) const override {
    const RecordedOutcome* const outcome = outcome_on(played);
    if (outcome == nullptr || !outcome->sent || played.outcome->reports.empty()) return true;
    const std::int64_t sent = bytes_sent(*played.outcome);
    return std::abs(sent - outcome->sent->by_form) < std::abs(sent - outcome->sent->by_right);
  }

  bool sends_as_recorded(const Played& played) const {
    const RecordedOutcome* const outcome = outcome_on(played);
    return outcome == nullptr || !outcome->sent || outcome->sent->by_form == bytes_sent(*played.outcome);
  }

 private:
  /// What is recorded of the form on an example: null where nothing is, or the example is not known.
  const std::optional<RecordedOutcome>* recorded_on(const Played& played) const {
    const auto known = examples_->find(played.example->fingerprint);
    if (known == examples_->end()) return nullptr;
    const auto recorded = known->second.by_form.find(form_);
    return recorded == known->second.by_form.end() ? nullptr : &recorded->second;
  }

  /// Whether it is recorded that nothing is known.
  bool is_unknown_on(const Played& played) const {
    const auto* const recorded = recorded_on(played);
    return recorded != nullptr && !*recorded;
  }

  /// Null where the form is right and sends what a right answer does, or is not known.
  const RecordedOutcome* outcome_on(const Played& played) const {
    const auto* const recorded = recorded_on(played);
    return recorded != nullptr && *recorded ? &**recorded : nullptr;
  }

  std::vector<Output> outputs_;
  bool mistakes_cancel_;
  std::string form_;
  const std::map<std::string, RecordedOutcomes::Known>* examples_;
  bool is_right_throughout_ = false;
  std::map<std::string, Projections> no_outputs_;
};

/// The bytes of a number.
template <class Number>
void append(std::string& bytes, Number number) {
  const auto* const first = reinterpret_cast<const char*>(&number);
  bytes.append(first, first + sizeof number);
}

std::string outcome_text(const std::optional<RecordedOutcome>& outcome) {
  if (!outcome) return unknown;
  if (outcome->ending != has_returned) return outcome->ending;
  std::vector<std::string> columns;
  for (const auto& [name, projections] : outcome->outputs)
    columns.push_back(name + "=" + to_text(projections));
  if (outcome->sent)
    columns.push_back(fmt::format("{}{}/{}", bytes_mark, outcome->sent->by_form, outcome->sent->by_right));
  return fmt::format("{}", fmt::join(columns, "\t"));
}

/// Throws std::invalid_argument with a text that is none.
SentBytes sent_from(const std::string& text) {
  SentBytes sent;
  const char* const end = text.data() + text.size();
  const auto form = std::from_chars(text.data(), end, sent.by_form);
  const bool has_two = form.ec == std::errc() && form.ptr != end && *form.ptr == '/';
  const auto right = std::from_chars(has_two ? form.ptr + 1 : end, end, sent.by_right);
  if (right.ec != std::errc() || right.ptr != end)
    throw std::invalid_argument("'" + text + "' is no bytes of a form and of a right answer");
  return sent;
}

std::optional<RecordedOutcome> outcome_from(const std::vector<std::string>& columns) {
  if (columns.at(1) == unknown) return std::nullopt;
  RecordedOutcome outcome{has_returned};
  for (std::size_t i = 1; i < columns.size(); ++i) {
    if (columns[i].starts_with(bytes_mark)) {
      outcome.sent = sent_from(columns[i].substr(bytes_mark.size()));
      continue;
    }
    if (columns[i].find('=') == std::string::npos) return RecordedOutcome{columns[i]};
    const std::size_t equals = columns[i].find('=');
    outcome.outputs[columns[i].substr(0, equals)] = projections_from(columns[i].substr(equals + 1));
  }
  return outcome;
}

}  // namespace

std::string fingerprint(const Task& task, const Example& example) {
  std::string numbers;
  std::vector<std::string> parts{task.function, example.called_before ? "called before" : ""};
  for (const auto& [name, values] : example.arguments) {
    parts.push_back(name);
    for (const double value : values) append(numbers, value);
  }
  for (const auto& [name, tensor] : example.inputs) {
    parts.push_back(name);
    for (const Index extent : tensor.shape()) append(numbers, extent);
    for (const float entry : tensor.values()) append(numbers, entry);
  }
  for (int rank = 0; rank < example.layout.ranks(); ++rank) {
    append(numbers, rank);
    for (const Index position : example.layout.positions(rank)) append(numbers, position);
  }
  parts.push_back(numbers);
  return content_hash(parts).substr(0, fingerprint_digits);
}

std::string ending_kind(const Played& played) {
  switch (played.outcome->ending) {
    case Outcome::Ending::Finished:
      return played.answer.empty() ? "misshapen" : has_returned;
    case Outcome::Ending::Threw:
      return played.outcome->thrown.empty() ? has_thrown : has_thrown + (" " + played.outcome->thrown);
    case Outcome::Ending::Crashed:
      return "crashed";
    case Outcome::Ending::Deadlock:
      return "deadlock";
    case Outcome::Ending::Stuck:
    case Outcome::Ending::OverLimit:
      return "limit";
    case Outcome::Ending::Todo:
      return "todo";
    default:
      return "lost";
  }
}

std::int64_t bytes_sent(const Outcome& outcome) {
  std::int64_t bytes = 0;
  for (const RankReport& report : outcome.reports) {
    bytes += report.nccl_collective_bytes;
    for (const Sent& sent : report.traffic) bytes += sent.bytes;
    for (const auto& [to, sent] : report.nccl_bytes_sent_to) bytes += sent;
  }
  return bytes;
}

RecordedOutcomes read_outcomes(const fs::path& path) {
  RecordedOutcomes outcomes;
  RecordedOutcomes::Known* example = nullptr;
  int number = 0;
  for (const std::string& line : lines_of(read_text(path))) {
    ++number;
    const auto fail = [&](const std::string& what) {
      throw std::runtime_error(fmt::format("{}:{}: {}", path.string(), number, what));
    };
    const std::vector<std::string> columns = split(line, '\t');
    if (number == 1) {
      if (columns[0] != "forms") fail("expected the line of all forms");
      outcomes.forms.assign(columns.begin() + 1, columns.end());
    } else if (columns[0] == "example") {
      if (columns.size() != 6 || (columns[4] != "fine" && columns[4] != "whole"))
        fail("expected the words example, task, test, fingerprint, fine or whole, and what the example is");
      example = &outcomes.examples[columns[1]][columns[3]];
      *example = {columns[2], columns[5], columns[4] == "fine" ? Grain::HeadsAndRanks : Grain::Whole, {}};
    } else {
      if (example == nullptr || columns.size() < 2) fail("expected forms, and what came of them");
      try {
        const std::optional<RecordedOutcome> outcome = outcome_from(columns);
        for (const std::string& form : split(columns[0], ' ')) example->by_form[form] = outcome;
      } catch (const std::invalid_argument& error) {
        fail(error.what());
      }
    }
  }
  return outcomes;
}

void write_outcomes(const fs::path& path, const RecordedOutcomes& outcomes) {
  std::string text = "forms";
  for (const std::string& form : outcomes.forms) text += "\t" + form;
  text += "\n";
  for (const auto& [task, examples] : outcomes.examples) {
    for (const auto& [digits, known] : examples) {
      text += fmt::format("example\t{}\t{}\t{}\t{}\t{}\n", task, known.test, digits,
                          known.grain == Grain::Whole ? "whole" : "fine", known.what);
      // Forms of one mistake often come out alike: those share a line.
      std::map<std::string, std::string> forms;
      for (const auto& [form, outcome] : known.by_form) {
        std::string& sharing = forms[outcome_text(outcome)];
        sharing += (sharing.empty() ? "" : " ") + form;
      }
      for (const auto& [outcome, sharing] : forms) text += sharing + "\t" + outcome + "\n";
    }
  }
  if (text.size() > largest_file)
    throw std::runtime_error(fmt::format("what is to be recorded in {} has {} bytes, expected {} at most",
                                         path.string(), text.size(), largest_file));
  write_text(path, text);
}

bool is_as_recorded(const Task& task, const std::string& form, const RecordedOutcomes& outcomes,
                    const Played& played) {
  const Form recorded(task, form, outcomes);
  return recorded.likeness(played) != Likeness::Differs && recorded.sends_as_recorded(played);
}

void name_by_outcomes(LessonJudge& judge, const RecordedOutcomes& outcomes) {
  for (Task& task : judge.tasks) {
    task.named_by_outcomes = true;
    task.mistakes.clear();
    task.readings.clear();
    if (!outcomes.examples.contains(task.id)) continue;
    std::set<std::string> told;  // by the task's examples
    for (const auto& [digits, known] : outcomes.examples.at(task.id)) {
      for (const auto& [form, outcome] : known.by_form)
        if (outcome) told.insert(form);
    }
    for (const std::string& form : outcomes.forms) {
      if (told.contains(form))
        task.mistakes.push_back({.id = form.substr(0, form.find('.')),
                                 .answer = {},
                                 .outcomes = std::make_shared<Form>(task, form, outcomes),
                                 .form = form});
    }
  }
}

}  // namespace course
