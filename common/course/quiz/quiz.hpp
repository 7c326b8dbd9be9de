#pragma once

#include <functional>
#include <map>

#include "course/commands/commands.hpp"

namespace course::program {

/// A question of docs/interview. Texts are Markdown.
struct Question {
  std::string id, topic;  ///< topic: the page's file name without .md
  std::string text;
  std::vector<std::string> lessons;  ///< "05"
  int difficulty = 1;                ///< 1 to 3
  bool is_classic = false;           ///< asked in almost every interview
  std::string line, whiteboard, follow_up, follow_up_answer;
};

/// The questions of a page, in its order. `name` is the page's path, for messages and the topic. Throws
/// UsageError with the line of what is wrong.
std::vector<Question> parse_questions(const std::string& name, const std::string& text);

/// Those of all pages, in the order of their names. Throws UsageError for a malformed page and for an id that
/// two questions have, Unavailable where there are no pages.
std::vector<Question> read_questions(const Checkout& checkout);

/// Markdown and the little LaTeX that the pages use as plain text, filled to a width.
std::string readable(const std::string& markdown, std::size_t width);

/// A question in its Leitner box: the better it is known, the longer it rests.
struct QuizCard {
  int box = 0;  ///< 0: never asked; 1 to 5
  int day = 0;  ///< when it was asked last, in days since 1970, local time
};
using QuizCards = std::map<std::string, QuizCard>;  ///< by a question's id

enum class Recall { Missed = 1, Half, Knew };

/// The day from which on it is due; that of a question never asked is 0.
int due_day(const QuizCard& card);
/// Missed: back to the first box. Half: it stays. Knew: a box further, if it was due.
QuizCard answered(const QuizCard& card, Recall recall, int today);
/// Answered well since it was missed last.
inline bool is_known(const QuizCard& card) {
  return card.box > 1;
}

using IsEarly = std::function<bool(const Question&)>;

/// In the order to ask them: due ones, the longest due first; then those never asked, easy ones first, but
/// those behind all others of which `is_early` says that they need a lesson which is still to come; then
/// those that rest, in the order in which they will be due. With `classics_first` all classics so, and then
/// the others.
std::vector<const Question*> asking_order(const std::vector<Question>& questions, const QuizCards& cards,
                                          int today, const IsEarly& is_early = nullptr,
                                          bool classics_first = false);

/// .course/quiz.json. A file that cannot be read is put aside with a word on stderr.
QuizCards read_cards(const Checkout& checkout);
/// Changes one card in the file; simultaneous calls take turns.
void remember_answer(const Checkout& checkout, const std::string& id, Recall recall, int today);

/// A row a topic: how many questions there are, are known, are due.
std::string quiz_table(const std::vector<Question>& questions, const QuizCards& cards, int today);

/// The next line that is typed, without its end; nullopt at the end of input.
using ReadLine = std::function<std::optional<std::string>()>;
int quiz(const Checkout& checkout, const QuizOptions& options, const ReadLine& read_line);

}  // namespace course::program
