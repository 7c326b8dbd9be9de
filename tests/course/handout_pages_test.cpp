#include "course/handout/handout_pages.hpp"

#include <gtest/gtest.h>

#include "lessons.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace {

TEST(HandoutPages, DropsItemsThatLinkToWhatIsNotThere) {
  const auto there = [](const std::string& target) { return target == "there.md"; };
  EXPECT_EQ(without_dead_items("![a picture](gone.svg)\n"
                               "- [gone](gone.md): an item\n"
                               "  that goes on\n"
                               "- [there](there.md#part) and [the web](https://example.org/gone.md)\n"
                               "  goes on, too\n"
                               "| | **Part one** | |\n"
                               "| 01 | [gone](gone.md) | row |\n"
                               "| | **Part two** | |\n"
                               "| | **Part two** | |\n"
                               "| 02 | [there](there.md) | row |\n"
                               "\n"
                               "Prose stays: [gone](gone.md).\n",
                               there),
            "- [there](there.md#part) and [the web](https://example.org/gone.md)\n"
            "  goes on, too\n"
            "| | **Part two** | |\n"
            "| 02 | [there](there.md) | row |\n"
            "\n"
            "Prose stays: [gone](gone.md).\n");
}

TEST(HandoutPages, LeavesOutWhatIsForInstructors) {
  EXPECT_EQ(without_instructors_parts("page.md",
                                      "a\n<!-- not in a handout -->\nb\n<!-- in a handout, too -->\nc\n", {}),
            "a\nc\n");
  for (const char* one : {"<!-- not in a handout -->\n", "a\n<!-- in a handout, too -->\n"}) {
    try {
      without_instructors_parts("page.md", one, {});
      ADD_FAILURE() << one;
    } catch (const std::invalid_argument& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("page.md: ")) << error.what();
    }
  }
}

TEST(HandoutPages, HaveThePartsOfTheirLessons) {
  const std::vector<LessonInfo> lessons = two_lessons();  // 01 and 05
  const auto part = [](const std::string& ids) {
    return "a\n<!-- in a handout with lessons " + ids + " -->\nb\n<!-- in a handout, too -->\nc\n";
  };
  EXPECT_EQ(without_instructors_parts("page.md", part("01 05"), lessons), "a\nb\nc\n");
  EXPECT_EQ(without_instructors_parts("page.md", part("05"), lessons), "a\nb\nc\n");
  EXPECT_EQ(without_instructors_parts("page.md", part("05 07"), lessons), "a\nc\n");
  EXPECT_THROW(without_instructors_parts("page.md", "<!-- in a handout with lessons 01 -->\n", lessons),
               std::invalid_argument);
}

TEST(HandoutPages, MakeTextOfLinksToWhatIsNotThere) {
  const auto there = [](const std::string& target) { return target == "../there.md"; };
  EXPECT_EQ(
      without_dead_links("See [there](../there.md#part), [what is\ngone](../gone.md#part) and `[a](b.md)`.\n"
                         "![a picture](gone.svg)\n"
                         "[the web](https://example.org/gone.md), [a part](#part), [`x[i]`](gone.md)\n"
                         "```\n[code](gone.md)\n```\n[gone](gone.md)\n",
                         there),
      "See [there](../there.md#part), what is\ngone and `a`.\n"
      "\n"
      "[the web](https://example.org/gone.md), [a part](#part), `x[i]`\n"
      "```\n[code](gone.md)\n```\ngone\n");
}

TEST(HandoutPages, FillTheLinesOfWhichLinksAreGone) {
  EXPECT_EQ(
      without_dead_links("A paragraph of some words has a [link\nof two](gone.md), [and\n11](gone.md).\n\n"
                         "- a [list](gone.md)\n- stays\n\nA second\nparagraph.\n",
                         [](const std::string&) { return false; }),
      "A paragraph of some words has a link\nof two, and 11.\n\n- a list\n- stays\n\nA "
      "second\nparagraph.\n");
}

TEST(HandoutPages, NameLessonsThatAreHeld) {
  const std::vector<LessonInfo> all = two_lessons();
  const std::string page =
      "Of lesson 01.\n## A first lesson\nLesson 01 starts as `lessons/01_safe_softmax/safe_softmax.cpp`; "
      "`./course check 01`, `./course drill "
      "01.2`,\n"
      "`./course replay lesson01.1`, `./course check 05 --sanitize`, `ctest -L lesson01`\n"
      "FAIL  lesson01.1   ./course hint 01\n      of lesson 01\n";
  EXPECT_EQ(with_held_lessons(page, all, all), page);
  EXPECT_EQ(with_held_lessons(page, all, {all[1]}),
            "Of lesson 01.\n## A first lesson\nLesson 05 starts as "
            "`lessons/05_ring_attention/ring_attention.cpp`; `./course check 05`, "
            "`./course drill 05.1`,\n"
            "`./course replay lesson05.1`, `./course check 05 --sanitize`, `ctest -L lesson05`\n"
            "FAIL  lesson01.1   ./course hint 01\n      of lesson 01\n");
}

TEST(HandoutPages, SayOfACommandOnlyWhatItDoes) {
  const std::vector<LessonInfo> all = two_lessons();
  const auto with_01 = [&](const std::string& page) { return with_held_lessons(page, all, {all[0]}); };
  EXPECT_EQ(with_01("```\nctest -L lesson05 -L student    # grade your lesson 05\n```\nLesson 05 is hard.\n"),
            "```\nctest -L lesson01 -L student    # grade your lesson 01\n```\nLesson 05 is hard.\n");
  EXPECT_EQ(with_01("`grade 01 05`, `grade 05`, `./course trace 05`, `drill 05.2`\n"),
            "`grade 01`, `grade 01`, `./course trace 01`, `drill 01.1`\n");
  EXPECT_EQ(with_01("```\nlessons/05_ring_attention/ring_attention.cpp:7: printed\n```\n"),
            "```\nlessons/05_ring_attention/ring_attention.cpp:7: printed\n```\n");
}

TEST(HandoutPages, HaveTheQuestionsOfTheirLessons) {
  const std::vector<LessonInfo> lessons = two_lessons();
  const std::string intro = "# The ring\n\n",
                    one = "## Why?\n\nlesson: 05 · difficulty: 1 · id: why\n\nSo.\n",
                    both = "## How?\n\nlesson: 01 05 · difficulty: 2 · id: how\n",
                    more = "## Then?\n\nlesson: 05 07 · difficulty: 3 · id: then\n";
  EXPECT_EQ(with_questions_of(intro + one + both + more, lessons), intro + one + both);
  EXPECT_EQ(with_questions_of(intro + more + both, lessons), intro + both);
  EXPECT_EQ(with_questions_of(intro + more, lessons), std::nullopt);
  EXPECT_EQ(with_questions_of(intro + "## Sources\n\nA sheet.\n", lessons),
            intro + "## Sources\n\nA sheet.\n");
  const TemporaryFolder folder;
  write_text(folder.path() / "ring.md", intro + one + both);
  EXPECT_EQ(with_questions_counted("| [The ring](ring.md) | 8 |\n| in all | 126 |\n", folder.path()),
            "| [The ring](ring.md) | 2 |\n| in all | 2 |\n");
}

TEST(HandoutPages, KnowWhatLessonsBuildOn) {
  const std::string registry =
      R"({"lessons": [{"id": "01", "builds_on": []}, {"id": "02", "builds_on": ["01"]},
      {"id": "04", "builds_on": ["02"]}, {"id": "05", "builds_on": ["04"]}, {"id": "06", "builds_on": ["04"]}]})";
  const std::vector<LessonInfo> lessons = two_lessons();
  EXPECT_EQ(lessons_built_on(registry, lessons), (std::vector<std::string>{"02", "04"}));
  EXPECT_EQ(lessons_built_on(registry, {lessons[0]}), std::vector<std::string>{});
}

}  // namespace

}  // namespace course::program
