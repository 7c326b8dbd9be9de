#include "course/quiz/quiz.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "../common/complaint.hpp"
#include "course/workspace/lesson_status.hpp"
#include "lessons.hpp"
#include "protocol/errors.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace {

namespace fs = std::filesystem;

const Checkout& course_checkout() {
  static const Checkout checkout{COURSE_SOURCE_DIR,
                                 read_registry(fs::path(COURSE_SOURCE_DIR) / "lessons" / "registry.json")};
  return checkout;
}

std::string question(const std::string& id, const std::string& lesson = "05", int difficulty = 2,
                     bool classic = false) {
  return "## What is " + id + "?\n\nlesson: " + lesson + " · difficulty: " + std::to_string(difficulty) +
         (classic ? " · classic" : "") + " · id: " + id +
         "\n\n<details><summary>Answer</summary>\n\n**In a line.** The line of " + id +
         ".\n\n**On the whiteboard.**\n\n- the board of " + id +
         "\n- more\n\n**And then?** *More?*\n\nThe end of " + id + ".\n\n</details>\n\n";
}

/// A course with the two lessons and one page of questions.
struct QuizCourse {
  explicit QuizCourse(const std::string& page) {
    write_text(temporary.path() / "docs" / "interview" / "rings.md", "# Rings\n\nWords.\n\n" + page);
  }

  /// Plays a quiz with these lines typed; what it prints.
  std::string play(const QuizOptions& options, const std::vector<std::string>& lines) {
    std::size_t next = 0;
    testing::internal::CaptureStdout();
    code = quiz(checkout, options, [&]() -> std::optional<std::string> {
      return next < lines.size() ? std::optional(lines[next++]) : std::nullopt;
    });
    return testing::internal::GetCapturedStdout();
  }

  TemporaryFolder temporary;
  Checkout checkout{temporary.path(), two_lessons()};
  int code = -1;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// What parse_questions says of a page.
std::string complaint(const std::string& page) {
  return complaint_of<UsageError>([&] { parse_questions("docs/interview/rings.md", page); });
}

std::string with(std::string text, const std::string& part, const std::string& by) {
  return text.replace(text.find(part), part.size(), by);
}

TEST(Questions, ArePartsOfAPage) {
  const std::vector<Question> all = parse_questions(
      "docs/interview/rings.md", "# Rings\n\n" + question("hops", "05 07", 3) + question("owner"));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].text, "What is hops?");
  EXPECT_EQ(all[0].topic, "rings");
  EXPECT_EQ(all[0].id, "hops");
  EXPECT_EQ(all[0].lessons, (std::vector<std::string>{"05", "07"}));
  EXPECT_EQ(all[0].difficulty, 3);
  EXPECT_EQ(all[0].line, "The line of hops.\n\n");
  EXPECT_EQ(readable(all[0].whiteboard, 60), "  - the board of hops\n  - more\n");
  EXPECT_EQ(all[1].follow_up, "*More?*");
  EXPECT_EQ(all[1].follow_up_answer, "The end of owner.\n\n\n");
  EXPECT_FALSE(all[1].is_classic);
  EXPECT_TRUE(parse_questions("p.md", question("hops", "05", 1, true)).at(0).is_classic);
}

TEST(Questions, KeepTheIndentOfCodeThatBeginsAnAnswer) {
  EXPECT_EQ(readable("\n    state = 0;  held = own\n    for s:\n        merge\n\n- an item\n", 60),
            "    state = 0;  held = own\n    for s:\n        merge\n\n  - an item\n");
}

TEST(Questions, SayWhatIsWrongAndWhere) {
  const std::string right = question("hops");
  EXPECT_EQ(complaint(right), "nothing was thrown");
  const auto says = [](const std::string& page, const std::string& what) {
    EXPECT_TRUE(contains(complaint(page), what)) << "said: " << complaint(page);
  };
  says(with(right, "difficulty: 2", "difficulty: 4"), "rings.md:3: expected 'lesson: 05 07");
  says(with(right, "lesson: 05", "lesson: 5"), "rings.md:3: expected 'lesson: 05 07");
  says(with(right, "lesson: 05 · difficulty: 2 · id: hops\n", ""),
       "rings.md:1: the question 'What is hops?' has no line of tags");
  says(with(right, "id: hops\n", "id: hops\nlesson: 05 · difficulty: 2 · id: two\n"),
       "rings.md:4: a second line of tags");
  says(with(right, "**In a line.** The line of hops.", "**In a line.**"),
       "rings.md:1: the question 'What is hops?' has no **In a line.**");
  says(with(right, "**On the whiteboard.**", ""), "rings.md:14: **And then?** is out of its order");
  says(with(right, "**In a line.**", "In a line."),
       "rings.md:7: expected **In a line.** and got 'In a line.");
  says(right.substr(0, right.find("**And")) + question("owner"), "has no **And then?**");
  says(with(right, "*More?*", "More?"), "has no *question in stars* after **And then?**");
  says(with(right, "The end of hops.", ""), "has no answer below the question after **And then?**");
  says(with(right, "difficulty: 2", "difficulty: 2 · popular"), "with '· classic' before the id or without");
}

TEST(Questions, HaveOneIdEach) {
  QuizCourse course(question("hops"));
  write_text(course.temporary.path() / "docs" / "interview" / "more.md", "# More\n\n" + question("hops"));
  EXPECT_THROW(read_questions(course.checkout), UsageError);
  fs::remove_all(course.temporary.path() / "docs");
  EXPECT_THROW(read_questions(course.checkout), Unavailable);
}

TEST(Questions, ReadWellInATerminal) {
  EXPECT_EQ(readable("$n \\ge (w/2)(H_{kv}/H) F/B$ and 295<!-- = 1 + 2 --> of **them**", 99),
            "  n ≥ (w/2)(H_kv/H) F/B and 295 of them\n");
  EXPECT_EQ(readable("$e^{s - \\mathrm{lse}}$, `a { b }`", 99), "  e^(s - lse), a { b }\n");
  EXPECT_EQ(readable("$2^{20}$ tokens, $2^{-9}$, $n^2 d$, $10^{1/2}$, `2^{20}`", 99),
            "  2²⁰ tokens, 2⁻⁹, n² d, 10^(1/2), 2^{20}\n");
  EXPECT_EQ(readable("one two\nthree\n\n- four five\n  six\n1. seven", 12),
            "  one two\n  three\n\n  - four\n    five six\n  1. seven\n");
  EXPECT_EQ(readable("Code:\n\n    for s:\n        go\n", 9), "  Code:\n\n    for s:\n        go\n");
}

// ---- the bank itself ----

/// A handout may have some of the lessons, and then has their questions alone.
bool may_be_partial() {
  return course_checkout().is_handout();
}

TEST(Bank, IsWellFormedAndReadsWell) {
  std::set<std::string> lines;
  for (const Question& question : read_questions(course_checkout())) {
    SCOPED_TRACE(question.topic + ": " + question.id);
    EXPECT_TRUE(lines.insert(question.line).second) << "two questions have one answer";
    for (const std::string* part : {&question.text, &question.line, &question.whiteboard, &question.follow_up,
                                    &question.follow_up_answer}) {
      const std::string text = readable(*part, 100);
      for (const char* left : {"\\", "$", "**", "<!--", "-->"}) EXPECT_FALSE(contains(text, left)) << text;
    }
    EXPECT_LE(lines_of(readable(question.line, 100)).size(), 4u) << "a line is a line";
    const std::size_t board = lines_of(readable(question.whiteboard, 120)).size();
    EXPECT_GE(board, 3u) << "a whiteboard of fewer lines";
    EXPECT_LE(board, 18u) << "a whiteboard of more lines";
    EXPECT_TRUE(question.follow_up.starts_with("*")) << "no next question";
  }
}

TEST(Bank, AsksOnEveryLesson) {
  if (may_be_partial()) return;
  std::map<std::string, int> by_lesson;
  for (const Question& question : read_questions(course_checkout())) {
    for (const std::string& lesson : question.lessons) ++by_lesson[lesson];
  }
  for (const LessonInfo& lesson : course_checkout().lessons) EXPECT_GE(by_lesson[lesson.id], 5) << lesson.id;
  EXPECT_EQ(by_lesson.size(), course_checkout().lessons.size()) << "a tag names no lesson";
}

TEST(Bank, IsCountedInItsReadme) {
  std::map<std::string, int> counted, there;
  for (const Question& question : read_questions(course_checkout())) {
    ++there[question.topic];
    ++there["in all"];
  }
  const std::string readme = read_text(course_checkout().root / "docs" / "interview" / "README.md");
  for (const std::string& line : lines_of(readme)) {
    const std::size_t link = line.find("]("), last = line.rfind(" | ");
    if (!line.starts_with("| ") || last == std::string::npos) continue;
    const std::string topic = link != std::string::npos ? line.substr(link + 2, line.find(".md)") - link - 2)
                                                        : line.substr(2, last - 2);
    if (const int count = std::atoi(line.c_str() + last + 3); count > 0) counted[topic] = count;
  }
  EXPECT_EQ(counted, there);
  if (may_be_partial()) return;
  EXPECT_GE(there["in all"], 90);
}

// ---- what is asked when ----

TEST(QuizCard, RestsTheLongerTheBetterItIsKnown) {
  QuizCard card;
  EXPECT_FALSE(is_known(card));
  std::vector<int> rests;
  for (int day = 100, i = 0; i < 6; ++i, day = due_day(card)) {
    card = answered(card, Recall::Knew, day);
    rests.push_back(due_day(card) - day);
  }
  EXPECT_EQ(rests, (std::vector<int>{1, 3, 7, 21, 21, 21}));
  EXPECT_TRUE(is_known(card));
  const QuizCard half = answered(card, Recall::Half, 300);
  EXPECT_EQ(due_day(half), 321);
  const QuizCard missed = answered(card, Recall::Missed, 300);
  EXPECT_EQ(due_day(missed), 300);
  EXPECT_FALSE(is_known(missed));
  EXPECT_FALSE(is_known(answered({}, Recall::Half, 300)));
}

TEST(QuizCard, DoesNotRiseBeforeItIsDue) {
  const QuizCard card = answered({}, Recall::Knew, 100);
  EXPECT_EQ(due_day(answered(card, Recall::Knew, 100)), 101);
  EXPECT_EQ(due_day(answered(card, Recall::Missed, 100)), 100);
}

TEST(QuizOrder, AsksDueOnesFirstThenNewOnesThenTheRest) {
  const std::vector<Question> all =
      parse_questions("p.md", question("rests-long") + question("hard", "05", 3) + question("due") +
                                  question("easy", "05", 1) + question("overdue") + question("rests"));
  const QuizCards cards{{"rests-long", {5, 99}}, {"due", {2, 99}}, {"overdue", {1, 90}}, {"rests", {4, 99}}};
  std::vector<std::string> order;
  for (const Question* question : asking_order(all, cards, 100)) order.push_back(question->id);
  EXPECT_EQ(order, (std::vector<std::string>{"overdue", "due", "easy", "hard", "rests", "rests-long"}));
}

TEST(QuizOrder, PutsWhatNeedsLaterLessonsBehind) {
  const std::vector<Question> all =
      parse_questions("p.md", question("later", "01 05", 1) + question("hard", "01", 3) +
                                  question("due", "05") + question("easy", "01", 1));
  const IsEarly is_early = [](const Question& question) { return question.lessons.back() == "05"; };
  std::vector<std::string> order;
  for (const Question* question : asking_order(all, {{"due", {1, 90}}}, 100, is_early))
    order.push_back(question->id);
  EXPECT_EQ(order, (std::vector<std::string>{"due", "easy", "hard", "later"}));
}

// ---- a quiz ----

TEST(Quiz, ShowsOneDepthAfterAnotherAndRemembers) {
  QuizCourse course(question("hops"));
  const std::string out = course.play({}, {"", "my answer", "", "", "what?", "3"});
  EXPECT_EQ(course.code, succeeded);
  std::size_t at = 0;
  for (const char* part :
       {"1 question: 0 due, 1 never asked", "rings · lesson 05 · difficulty 2", "What is hops?",
        "[Enter shows the answer in one line; q ends]", "The line of hops.",
        "[Enter shows what to write on the whiteboard; q ends]", "the board of hops",
        "[Enter asks a follow-up; q ends]", "More?", "[Enter shows its answer; q ends]", "The end of hops.",
        "[1 missed, 2 half, 3 knew it; q ends]",
        "[expected 1, 2 or 3 and got 'what?': 1 missed, 2 half, 3 knew it; q ends]",
        "1 known, 0 half, 0 missed"}) {
    const std::size_t found = out.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << " in: " << out;
    at = found;
  }
  EXPECT_EQ(read_cards(course.checkout).at("hops").box, 2);
  course.play({}, {"", "", "", "", "1", "q"});
  EXPECT_EQ(read_cards(course.checkout).at("hops").box, 1);
  EXPECT_TRUE(contains(course.play({}, {}), "1 question: 1 due, 0 never asked"));
}

TEST(Quiz, EndsWhereInputEndsAndAtQ) {
  QuizCourse course(question("hops") + question("owner"));
  const std::string nothing = course.play({}, {});
  EXPECT_EQ(course.code, succeeded);
  EXPECT_FALSE(contains(nothing, "The line of"));
  const std::string part = course.play({}, {"", "", ""});
  EXPECT_EQ(course.code, succeeded);
  EXPECT_TRUE(contains(part, "the board of"));
  EXPECT_TRUE(contains(part, "More?"));
  EXPECT_FALSE(contains(part, "The end of")) << "a follow-up is asked before its answer is shown";
  course.play({}, {"", "", "", "", ""});
  EXPECT_TRUE(read_cards(course.checkout).empty()) << "an answer that was not rated is remembered";
  course.play({}, {"", "", "", "", "2", "", "q", "", "", "3"});
  EXPECT_EQ(read_cards(course.checkout).size(), 1u);
}

TEST(Quiz, AsksOnALessonOrATopic) {
  QuizCourse course(question("hops") + question("shift", "01"));
  write_text(course.temporary.path() / "docs" / "interview" / "chips.md",
             "# Chips\n\n" + question("banks", "05"));
  const std::string five = course.play({.lesson = "5"}, {"", "", "", "", "3", "", "", "", "", "3"});
  EXPECT_TRUE(contains(five, "2 questions:") && contains(five, "hops") && contains(five, "banks"));
  EXPECT_FALSE(contains(five, "shift"));
  const std::string chips = course.play({.topic = "chips"}, {""});
  EXPECT_TRUE(contains(chips, "1 question:") && contains(chips, "banks"));
  const std::string none = course.play({.lesson = "01", .topic = "chips"}, {""});
  EXPECT_TRUE(
      contains(none, "there is no question on that: none is left with lesson 01 and --topic chips\n"));
  EXPECT_THROW(course.play({.lesson = "99"}, {}), UsageError);
  testing::internal::GetCapturedStdout();
  EXPECT_THROW(course.play({.topic = "weather"}, {}), UsageError);
  testing::internal::GetCapturedStdout();
}

TEST(Quiz, BeginsWithWhatNeedsNoLessonToCome) {
  QuizCourse course(question("later", "01 05", 1) + question("now", "01", 3) + question("ring", "05", 1));
  const std::string one = course.play({.lesson = "01"}, {""});
  EXPECT_TRUE(contains(one, "2 never asked; those that need a later lesson, too, come last: 1"));
  EXPECT_TRUE(contains(one, "1 of 2 · rings · lesson 01 · difficulty 3")) << one;
  EXPECT_FALSE(contains(course.play({}, {""}), "you have not passed")) << "nothing is passed";
  update_progress(course.checkout, [](Progress& now) { now.passed["01"] = {}; });
  const std::string all = course.play({}, {""});
  EXPECT_TRUE(contains(all, "3 never asked; those that need a lesson that you have not passed come last: 2"));
  EXPECT_TRUE(contains(all, "1 of 3 · rings · lesson 01 · difficulty 3")) << all;
}

TEST(Quiz, AsksOnlyWhatSomeLessonsAreEnoughFor) {
  QuizCourse course(question("later", "01 05", 1) + question("now", "01", 3) + question("ring", "05", 1));
  const std::string one = course.play({.within = "01"}, {""});
  EXPECT_TRUE(contains(one, "1 question:") && contains(one, "What is now?")) << one;
  EXPECT_TRUE(contains(course.play({.within = "01-05"}, {""}), "3 questions:"));
  EXPECT_THROW(course.play({.within = "1-99"}, {}), UsageError);
  testing::internal::GetCapturedStdout();
}

/// Of each question that a quiz asked its number, or "again", and its id.
std::vector<std::string> asked(const std::string& out) {
  static const std::regex heading("\n(again|[0-9]+ of [0-9]+) · [^\n]*\n *What is ([a-z]+)\\?");
  std::vector<std::string> all;
  for (std::sregex_iterator found(out.begin(), out.end(), heading), end; found != end; ++found)
    all.push_back(found->str(1) + " " + found->str(2));
  return all;
}

/// The lines that are typed where questions go so: "131".
std::vector<std::string> typed(const std::string& recalls) {
  std::vector<std::string> lines;
  for (const char c : recalls) lines.insert(lines.end(), {"", "", "", "", std::string(1, c)});
  return lines;
}

TEST(Quiz, BringsBackWhatWasMissedInTheSameSitting) {
  QuizCourse course(question("a", "05", 1) + question("b", "05", 2) + question("c", "05", 3));
  const std::string out = course.play({}, typed("13312"));
  EXPECT_EQ(asked(out), (std::vector<std::string>{"1 of 3 a", "2 of 3 b", "3 of 3 c", "again a", "again a"}));
  EXPECT_TRUE(contains(out, "2 known, 0 half, 1 missed (1 no longer when asked again)")) << out;
  EXPECT_EQ(read_cards(course.checkout).at("a").box, 1) << "half known at last: due again";
  std::string seven;
  for (const char* id : {"a", "b", "c", "d", "e", "f", "g"}) seven += question(id);
  QuizCourse longer(seven);
  const std::vector<std::string> order = asked(longer.play({}, typed("13333333")));
  ASSERT_EQ(order.size(), 8u);
  EXPECT_EQ(order[5], "again " + order[0].substr(7)) << "after four others";
}

TEST(Quiz, AsksAsManyAsAreWantedAndAsHard) {
  QuizCourse course(question("a", "05", 1) + question("b", "05", 2) + question("c", "05", 3));
  EXPECT_EQ(asked(course.play({.count = 2}, typed("333"))),
            (std::vector<std::string>{"1 of 2 a", "2 of 2 b"}));
  QuizCourse other(question("a", "05", 1) + question("b", "05", 2) + question("c", "05", 3));
  EXPECT_EQ(asked(other.play({.difficulties = {3}}, typed("333"))), std::vector<std::string>{"1 of 1 c"});
  EXPECT_EQ(asked(other.play({.difficulties = {1, 2}, .count = 9}, typed("333"))),
            (std::vector<std::string>{"1 of 2 a", "2 of 2 b"}));
}

TEST(Quiz, AsksTheClassicsFirst) {
  const std::string page =
      question("a", "05", 1) + question("b", "05", 3, true) + question("c", "05", 2, true);
  QuizCourse course(page);
  EXPECT_EQ(asked(course.play({}, typed("3"))), std::vector<std::string>({"1 of 3 a", "2 of 3 c"}));
  QuizCourse classics(page);
  const std::string out = classics.play({.classics = true}, typed("333"));
  EXPECT_TRUE(contains(out, "the classics come first: 2") && contains(out, "· classic")) << out;
  EXPECT_EQ(asked(out), (std::vector<std::string>{"1 of 3 c", "2 of 3 b", "3 of 3 a"}));
}

TEST(Bank, MarksItsClassics) {
  if (may_be_partial()) return;
  std::set<std::string> topics;
  int classics = 0;
  for (const Question& question : read_questions(course_checkout())) {
    if (!question.is_classic) continue;
    ++classics;
    topics.insert(question.topic);
  }
  EXPECT_GE(classics, 20);
  EXPECT_LE(classics, 30) << "not everything is a classic";
  EXPECT_GE(topics.size(), 10u);
}

TEST(Quiz, CountsWhatIsKnownByTopic) {
  QuizCourse course(question("hops") + question("owner") + question("rooms"));
  remember_answer(course.checkout, "hops", Recall::Knew, 1);
  remember_answer(course.checkout, "owner", Recall::Missed, 1);
  remember_answer(course.checkout, "of-another-version", Recall::Knew, 1);
  const std::vector<std::string> table = lines_of(course.play({.history = true}, {}));
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(table[1], "rings                            3      1     2");
  EXPECT_EQ(table[2], "in all                           3      1     2");
}

TEST(Quiz, PutsAnUnreadableHistoryAside) {
  QuizCourse course(question("hops"));
  write_text(course.checkout.state() / "quiz.json", "{\"version\": 1, \"cards\": {\"hops\"");
  testing::internal::CaptureStderr();
  EXPECT_TRUE(read_cards(course.checkout).empty());
  EXPECT_TRUE(
      contains(testing::internal::GetCapturedStderr(), "what was remembered of the quiz is unreadable"));
  remember_answer(course.checkout, "hops", Recall::Knew, 1);
  EXPECT_EQ(read_cards(course.checkout).size(), 1u);
}

}  // namespace

}  // namespace course::program
