#include "course/quiz/quiz.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "course/terminal/terminal.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "course/workspace/lesson_status.hpp"
#include "protocol/errors.hpp"
#include "text/nearest.hpp"

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
      throw UsageError(unknown("topic", options.topic, {topics.begin(), topics.end()}) + joined(topics));
    std::erase_if(questions, [&](const Question& question) { return question.topic != options.topic; });
  }
  if (!options.lesson.empty()) {
    const std::string& id = choose_whole_lesson(checkout.lessons, options.lesson, "quiz").id;
    std::erase_if(questions,
                  [&](const Question& question) { return std::ranges::count(question.lessons, id) == 0; });
  }
  if (!options.within.empty()) {
    std::set<std::string> read;
    for (const LessonInfo& lesson : choose_lessons(checkout.lessons, options.within, "--lessons"))
      read.insert(lesson.id);
    std::erase_if(questions, [&](const Question& question) {
      return std::ranges::any_of(question.lessons,
                                 [&](const std::string& lesson) { return !read.contains(lesson); });
    });
  }
  if (!options.difficulties.empty()) {
    std::erase_if(questions, [&](const Question& question) {
      return std::ranges::count(options.difficulties, question.difficulty) == 0;
    });
  }
  return questions;
}

/// What leaves questions out: "lesson 05", "--topic ring".
std::vector<std::string> filters_of(const QuizOptions& options) {
  std::vector<std::string> filters;
  if (!options.lesson.empty()) filters.push_back("lesson " + options.lesson);
  if (!options.topic.empty()) filters.push_back("--topic " + options.topic);
  if (!options.within.empty()) filters.push_back("--lessons " + options.within);
  if (!options.difficulties.empty())
    filters.push_back(fmt::format("--difficulty {}",
                                  joined(options.difficulties, [](int one) { return std::to_string(one); })));
  return filters;
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

  /// Asks them in this order; one that is missed comes again when a few others have been asked.
  void ask(std::vector<const Question*> questions) {
    const std::size_t count = questions.size();
    std::set<const Question*> missed;
    for (std::size_t i = 0, number = 0; i < questions.size(); ++i) {
      const Question& question = *questions[i];
      const bool again = missed.contains(&question);
      const std::optional<Recall> recall =
          ask(question, again ? "again" : fmt::format("{} of {}", ++number, count));
      if (!recall) return;
      remember_answer(checkout_, question.id, *recall, today_);
      if (!again) ++count_[static_cast<std::size_t>(*recall)];
      if (*recall == Recall::Missed) {
        missed.insert(&question);
        const std::size_t place = std::min(i + 1 + others_between, questions.size());
        questions.insert(questions.begin() + static_cast<std::ptrdiff_t>(place), &question);
      } else if (again) {
        ++mended_;
      }
    }
  }

  void conclude() const {
    const int missed = count_[static_cast<std::size_t>(Recall::Missed)];
    fmt::print("\n{} known, {} half, {} missed{}; ./course quiz --history counts by topic\n",
               count_[static_cast<std::size_t>(Recall::Knew)], count_[static_cast<std::size_t>(Recall::Half)],
               missed, missed > 0 ? fmt::format(" ({} no longer when asked again)", mended_) : "");
  }

 private:
  /// Between a question that is missed and the same again, where there are as many.
  static constexpr std::size_t others_between = 4;

  /// Asks one and shows its answer, part by part; nullopt where the quiz is to end.
  std::optional<Recall> ask(const Question& question, const std::string& which) {
    fmt::print("\n{}\n{}",
               painted(fmt::format("{} · {} · lesson {} · difficulty {}{}", which, question.topic,
                                   joined(question.lessons), question.difficulty,
                                   question.is_classic ? " · classic" : ""),
                       Colour::Grey),
               painted(shown(question.text), Colour::Bold));
    const bool to_the_end = show("shows the answer in one line", question.line) &&
                            show("shows what to write on the whiteboard", question.whiteboard) &&
                            show("asks a follow-up", question.follow_up) &&
                            show("shows its answer", question.follow_up_answer);
    return to_the_end ? how_it_went() : std::nullopt;
  }

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
  bool show(const std::string& what, const std::string& part) {
    if (!answer_to("[Enter " + what + "; q ends]")) return false;
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
  std::array<int, 4> count_{};  ///< of first answers, by Recall
  int mended_ = 0;              ///< missed at first and not when they came again
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
                                          int today, const IsEarly& is_early, bool classics_first) {
  std::vector<const Question*> order;
  for (const Question& question : questions) order.push_back(&question);
  // the group, and the place in it
  const auto rank = [&](const Question* question) {
    const QuizCard& card = card_of(cards, *question);
    const bool behind = classics_first && !question->is_classic;
    if (card.box == 0) return std::tuple(behind, 1, is_early && is_early(*question), question->difficulty);
    return std::tuple(behind, is_due(card, today) ? 0 : 2, false, due_day(card));
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
    fmt::print("there is no question on that: none is left with {}\n",
               joined(filters_of(options), {}, " and "));
    return failed;
  }
  if (options.history) {
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
    if (options.classics)
      fmt::print("; the classics come first: {}", std::ranges::count(questions, true, &Question::is_classic));
    fmt::print("\n");
    std::vector<const Question*> order = asking_order(questions, cards, today, is_early, options.classics);
    if (options.count && std::cmp_less(*options.count, order.size()))
      order.resize(static_cast<std::size_t>(*options.count));
    Quiz session(checkout, read_line, today);
    session.ask(std::move(order));
    session.conclude();
  }
  return succeeded;
}

int quiz(const Checkout& checkout, const QuizOptions& options) {
  return quiz(checkout, options, typed_line);
}

}  // namespace course::program
