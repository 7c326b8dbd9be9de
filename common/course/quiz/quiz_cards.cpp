#include "course/quiz/quiz.hpp"
#include "course/workspace/saved_json.hpp"

namespace course::program {

/// What .course/quiz.json holds.
struct QuizHistory {
  QuizCards cards;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(QuizCard, box, day)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(QuizHistory, cards)

namespace {

constexpr const char* cards_file = "quiz.json";
constexpr const char* cards_in_words = "what was remembered of the quiz";

}  // namespace

QuizCards read_cards(const Checkout& checkout) {
  return read_saved<QuizHistory>(checkout, cards_file, cards_in_words).cards;
}

void remember_answer(const Checkout& checkout, const std::string& id, Recall recall, int today) {
  update_saved<QuizHistory>(checkout, cards_file, cards_in_words, [&](QuizHistory& history) {
    history.cards[id] = answered(history.cards[id], recall, today);
  });
}

}  // namespace course::program
