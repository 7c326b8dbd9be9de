#include "course/quiz/quiz.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <random>
#include <set>
#include <tuple>

#include "course/terminal/terminal.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "course/workspace/lesson_status.hpp"
#include "protocol/errors.hpp"

namespace course::program {

namespace {

constexpr std::array rest_days{0, 0, 1, 3, 7, 21};  // by box
constexpr int last_box = rest_days.size() - 1;

int local_day() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return static_cast<int>(timegm(&local) / (24 * 60 * 60));
}

const QuizCard& card_of(const QuizCards& cards, const Question& question) {
  static const QuizCard never_asked;
  const auto found = cards.find(question.id);
  return found == cards.end() ? never_asked : found->second;
}

bool is_due(const QuizCard& card, int today) {
  return card.box > 0 && due_day(card) <= today;
}

std::vector<Question> chosen_questions(const Checkout& checkout, const QuizOptions& options) {
  std::vector<Question> questions = read_questions(checkout);
  if (!options.topic.empty()) {
    std::set<std::string> topics;
    for (const Question& question : questions) topics.insert(question.topic);
    if (!topics.contains(options.topic))
      throw UsageError("there is no topic '" + options.topic + "'; there are: " + joined(topics));
    std::erase_if(questions, [&](const Question& question) { return question.topic != options.topic; });
  }
  if (!options.lesson.empty()) {
    const std::string& id = choose_whole_lesson(checkout.lessons, options.lesson, "quiz").id;
    std::erase_if(questions,
                  [&](const Question& question) { return std::ranges::count(question.lessons, id) == 0; });
  }
  return questions;
}

/// Of a lesson's questions those are early that need a later lesson, too; of all, those of which a lesson has
/// not been passed in this checkout.
IsEarly early_questions(const Checkout& checkout, const QuizOptions& options) {
  if (!options.lesson.empty()) {
    const std::string id = choose_whole_lesson(checkout.lessons, options.lesson, "quiz").id;
    return [id](const Question& question) { return std::ranges::max(question.lessons) > id; };
  }
  return [passed = read_progress(checkout).passed](const Question& question) {
    return std::ranges::any_of(question.lessons,
                               [&](const std::string& lesson) { return !passed.contains(lesson); });
  };
}

/// A quiz at the keyboard, or with lines from a file.
class Quiz {
 public:
  Quiz(const Checkout& checkout, const ReadLine& read_line, int today)
      : checkout_(checkout), read_line_(read_line), today_(today) {}

  void ask(const std::vector<const Question*>& questions) {
    for (const Question* question : questions) {
      fmt::print("\n{}\n{}",
                 painted(fmt::format("{} of {} · {} · lesson {} · difficulty {}", ++asked_, questions.size(),
                                     question->topic, joined(question->lessons), question->difficulty),
                         Colour::Grey),
                 painted(shown(question->text), Colour::Bold));
      if (!show("the answer in one line", question->line) ||
          !show("what to write on the whiteboard", question->whiteboard) ||
          !show("a follow-up", question->follow_up)) {
        return;
      }
      const std::optional<Recall> recall = how_it_went();
      if (!recall) return;
      remember_answer(checkout_, question->id, *recall, today_);
      ++count_[static_cast<std::size_t>(*recall)];
    }
  }

  void conclude() const {
    fmt::print("\n{} known, {} half, {} missed; ./course quiz --history counts by topic\n",
               count_[static_cast<std::size_t>(Recall::Knew)], count_[static_cast<std::size_t>(Recall::Half)],
               count_[static_cast<std::size_t>(Recall::Missed)]);
  }

 private:
  static std::string shown(const std::string& markdown) {
    return readable(markdown, static_cast<std::size_t>(std::clamp(columns(stdout, 100), 40, 100)));
  }

  /// The next line; nullopt where the quiz is to end.
  std::optional<std::string> answer_to(const std::string& prompt) {
    fmt::print("{}", painted(prompt + " ", Colour::Grey));
    std::fflush(stdout);
    std::optional<std::string> line = read_line_();
    if (!line) fmt::print("\n");
    return line == "q" ? std::nullopt : line;
  }

  /// Waits for Enter, then shows a part of the answer. Whether to go on.
  bool show(const std::string& name, const std::string& part) {
    if (!answer_to("[Enter shows " + name + "; q ends]")) return false;
    fmt::print("{}", shown(part));
    return true;
  }

  std::optional<Recall> how_it_went() {
    const std::string grades = "1 missed, 2 half, 3 knew it";
    std::optional<std::string> line = answer_to("[" + grades + "; q ends]");
    while (line) {
      if (*line == "1" || *line == "2" || *line == "3") return static_cast<Recall>(std::stoi(*line));
      line = answer_to(fmt::format("[expected 1, 2 or 3 and got '{}': {}; q ends]", *line, grades));
    }
    return std::nullopt;
  }

  const Checkout& checkout_;
  const ReadLine& read_line_;
  int today_;
  int asked_ = 0;
  std::array<int, 4> count_{};  ///< by Recall
};

std::optional<std::string> typed_line() {
  std::string line;
  int c = std::getchar();
  for (; c != '\n' && c != EOF; c = std::getchar()) line += static_cast<char>(c);
  if (c == EOF && line.empty()) return std::nullopt;
  if (isatty(STDIN_FILENO) == 0) fmt::print("\n");  // where no Enter ends the prompt's line
  return line;
}

}  // namespace

int due_day(const QuizCard& card) {
  return card.box == 0 ? 0
                       : card.day + rest_days[static_cast<std::size_t>(std::clamp(card.box, 1, last_box))];
}

QuizCard answered(const QuizCard& card, Recall recall, int today) {
  if (recall == Recall::Missed) return {1, today};
  const int box = std::max(card.box, 1);
  if (recall == Recall::Half) return {box, today};
  return today < due_day(card) ? card : QuizCard{std::min(box + 1, last_box), today};
}

std::vector<const Question*> asking_order(const std::vector<Question>& questions, const QuizCards& cards,
                                          int today, const IsEarly& is_early) {
  std::vector<const Question*> order;
  for (const Question& question : questions) order.push_back(&question);
  // the group, and the place in it
  const auto rank = [&](const Question* question) {
    const QuizCard& card = card_of(cards, *question);
    if (card.box == 0) return std::tuple(1, is_early && is_early(*question), question->difficulty);
    return std::tuple(is_due(card, today) ? 0 : 2, false, due_day(card));
  };
  std::ranges::stable_sort(order, {}, rank);
  return order;
}

std::string quiz_table(const std::vector<Question>& questions, const QuizCards& cards, int today) {
  struct Counts {
    int questions = 0, known = 0, due = 0;
  };
  std::map<std::string, Counts> by_topic;
  const std::string all = "~";  // after every topic
  for (const Question& question : questions) {
    const QuizCard& card = card_of(cards, question);
    for (Counts* counts : {&by_topic[question.topic], &by_topic[all]}) {
      ++counts->questions;
      counts->known += is_known(card) ? 1 : 0;
      counts->due += is_due(card, today) ? 1 : 0;
    }
  }
  constexpr const char* row = "{:<24} {:>9} {:>6} {:>5}\n";
  std::string text = fmt::format(row, "topic", "questions", "known", "due");
  for (const auto& [topic, counts] : by_topic)
    text += fmt::format(row, topic == all ? "in all" : topic, counts.questions, counts.known, counts.due);
  return text;
}

int quiz(const Checkout& checkout, const QuizOptions& options, const ReadLine& read_line) {
  std::vector<Question> questions = chosen_questions(checkout, options);
  const int today = local_day();
  const QuizCards cards = read_cards(checkout);
  if (questions.empty()) {
    fmt::print("there is no question on that\n");
  } else if (options.history) {
    fmt::print("{}", quiz_table(questions, cards, today));
  } else {
    std::ranges::shuffle(questions, std::mt19937(std::random_device()()));
    const IsEarly is_early = early_questions(checkout, options);
    int due = 0, unasked = 0, early = 0;
    for (const Question& question : questions) {
      const QuizCard& card = card_of(cards, question);
      due += is_due(card, today) ? 1 : 0;
      unasked += card.box == 0 ? 1 : 0;
      early += card.box == 0 && is_early(question) ? 1 : 0;
    }
    fmt::print("{} question{}: {} due, {} never asked", questions.size(), questions.size() == 1 ? "" : "s",
               due, unasked);
    if (early > 0 && early < unasked) {
      fmt::print("; those that need {} come last: {}",
                 options.lesson.empty() ? "a lesson that you have not passed" : "a later lesson, too,",
                 early);
    }
    fmt::print("\n");
    Quiz session(checkout, read_line, today);
    session.ask(asking_order(questions, cards, today, is_early));
    session.conclude();
  }
  return succeeded;
}

int quiz(const Checkout& checkout, const QuizOptions& options) {
  return quiz(checkout, options, typed_line);
}

}  // namespace course::program
