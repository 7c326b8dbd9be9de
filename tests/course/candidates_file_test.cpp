#include "registry/candidates_file.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "../common/complaint.hpp"

namespace course {

namespace {

const std::string solution = "first\nsame\nsecond\nsame\n  third\nlast\n";

const std::string markdown = R"(# Known mistakes of lesson 99

A sentence, and - a list: of something else.

## one

- tasks: 1, 2
- by: answer
- what: a sum: of what?

```diff
-second
+2nd
@@
-  third
```

```diff
 same
-  third
+  3rd
```

```diff python
-second
+zweite
```

## other

- tasks: 1

```diff
-last
+end

+of all
```

## whole

- tasks: 1

```cpp
## no heading
int x;
```

## one + other

## other + one

```diff
-end
+END
```
)";

std::string source(const std::string& id, std::size_t form = 1, bool python = false) {
  return candidate_source(solution, parse_candidates(markdown), id, form, python);
}

TEST(CandidatesFile, HasSectionsFieldsAndForms) {
  const std::vector<CandidateSection> all = parse_candidates(markdown);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].id, "one");
  EXPECT_EQ(all[0].line, 5);
  const std::map<std::string, std::string> fields{
      {"tasks", "1, 2"}, {"by", "answer"}, {"what", "a sum: of what?"}};
  EXPECT_EQ(all[0].fields, fields);
  EXPECT_EQ(all[0].forms_in(false).size(), 2u);
  EXPECT_EQ(all[0].forms_in(true).size(), 1u);
  EXPECT_EQ(all[2].forms[0].file, "## no heading\nint x;\n");
  EXPECT_EQ(all[3].id, "one+other");
}

TEST(CandidatesFile, EditsWholeLinesThatOccurOnce) {
  EXPECT_EQ(source("one"), "first\nsame\n2nd\nsame\nlast\n");
  EXPECT_EQ(source("one", 2), "first\nsame\nsecond\nsame\n  3rd\nlast\n");
  EXPECT_EQ(source("one", 1, true), "first\nsame\nzweite\nsame\n  third\nlast\n");
  // Edits are of the solution, not of what other edits make of it.
  EXPECT_EQ(
      candidate_text("a\nb\n", parse_candidates("## x\n```diff\n-a\n+b\n@@\n-b\n+a\n```\n")[0].forms[0]),
      "b\na\n");
  EXPECT_EQ(source("whole"), "## no heading\nint x;\n");
  EXPECT_EQ(candidate_text("a\na b\n", parse_candidates("## x\n```diff\n-a\n+c\n```\n")[0].forms[0]),
            "c\na b\n");
}

TEST(CandidatesFile, MakesACombinationOfTheFirstMistakeAndTheSecondOrItsOwnEdits) {
  const std::string without_last =
      candidate_source("first\nsecond\n  third\nlast\n",
                       parse_candidates("## a\n```diff\n-last\n+end\n```\n"
                                        "## b\n```diff\n-second\n```\n## a + b\n"),
                       "a+b", 1, false);
  EXPECT_EQ(without_last, "first\n  third\nend\n");
  const std::string own = "## other\n```diff\n-last\n+end\n```\n## other + one\n```diff\n-end\n+END\n```\n";
  EXPECT_EQ(candidate_source(solution, parse_candidates(own), "other+one", 1, false),
            "first\nsame\nsecond\nsame\n  third\nEND\n");
}

TEST(CandidatesFile, NamesTheLineOfAnEditThatDoesNotApply) {
  const auto applied = [](const std::string& form) {
    return complaint_of<std::runtime_error>(
        [&] { candidate_text(solution, parse_candidates("## x\n" + form)[0].forms[0]); });
  };
  EXPECT_EQ(applied("```diff\n-same\n+other\n```\n"),
            "line 2: the solution has these lines 2 times, expected once: same");
  EXPECT_EQ(applied("```diff\n-thirst\n```\n"),
            "line 2: the solution has these lines 0 times, expected once: thirst; nearest to "
            "'thirst' is its line 1, 'first'");
  EXPECT_EQ(applied("```diff\n-first\n same\n@@\n-same\n second\n```\n"),
            "line 2: two edits are of the same lines");
  EXPECT_EQ(applied("```diff\n-first\n@@\n-first\n-same\n```\n"), "line 2: two edits are of the same lines");
  EXPECT_EQ(applied("```diff\n-third\n```\n"),  // a part of a line is none
            "line 2: the solution has these lines 0 times, expected once: third; nearest to "
            "'third' is its line 5, '  third'");
  EXPECT_EQ(applied("```diff\n first\n-seconds\n```\n"),
            "line 2: the solution has these lines 0 times, expected once: first ...; nearest to 'seconds' is "
            "its line 3, 'second'");
  EXPECT_EQ(
      applied("```diff\n first\n-second\n```\n"),
      "line 2: the solution has these lines 0 times, expected once: first ...; it has each of them, and "
      "not in this order one after another");
}

TEST(CandidatesFile, RefusesWhatItCannotRead) {
  const auto parsed = [](const std::string& text) {
    return complaint_of<std::runtime_error>([&] { parse_candidates(text); });
  };
  EXPECT_EQ(parsed("```diff\n-a\n```\n"), "line 1: a form stands before the first heading");
  EXPECT_EQ(parsed("## a\n\n```diff\n-a\n"), "line 3: the fence is not closed");
  EXPECT_EQ(parsed("## a\n```C\n-a\n```\n"),
            "line 2: '```C' opens no form; expected ```diff, ```diff python or ```cpp");
  EXPECT_EQ(parsed("## a\n```diff\n-a\nb\n```\n"),
            "line 4: 'b' begins with none of '-', '+' and ' ', and is no '@@' between two edits");
  EXPECT_EQ(parsed("## a\n```diff\n+a\n```\n"), "line 3: an edit has no old text to be found by");
  EXPECT_EQ(parsed("## a\n- by: x\n- by: y\n"), "line 3: a has this field already: by");
  EXPECT_EQ(parsed("## a\n\n## a\n"), "line 3: there is another a");
  EXPECT_EQ(
      parsed("## Notes\n"),
      "line 1: the heading 'Notes' is no id; expected one like v_left_behind, or two with ' + ' between");
  for (const std::string line : {"- why: x", "- by:", "  ```diff", "~~~", "- by: answer\r"}) {
    EXPECT_EQ(parsed("## a\n" + line + "\n"),
              "line 2: '" + line +
                  "' is neither a field (tasks, by, what, exposed by) in one line nor a fence of ```");
  }
  EXPECT_EQ(complaint_of<std::runtime_error>([] {
              candidate_source("x\n",
                               parse_candidates("## a\n```diff\n-x\n```\n## b\n```cpp\n```\n## a + b\n"),
                               "a+b", 1, false);
            }),
            "line 6: a whole file would be all of a+b; expected edits, of what its first mistake makes");
  const auto made = [](const std::string& id, std::size_t form) {
    return complaint_of<std::runtime_error>([&] { source(id, form); });
  };
  EXPECT_EQ(made("none", 1), "there is no section none");
  EXPECT_EQ(made("one", 3), "line 5: one has no form 3");
}

TEST(CandidatesFile, MakesAFormOfEachConstant) {
  const std::vector<CandidateSection> sections = parse_candidates(
      "## a\n```diff tile = 8, 16\n-x = 4;\n+x = $tile + $tile;\n```\n```diff\n-x = 4;\n+x = 5;\n```\n");
  ASSERT_EQ(sections.at(0).forms.size(), 3u);
  for (const auto& [form, made] : {std::pair{1u, "x = 8 + 8;\n"}, {2u, "x = 16 + 16;\n"}, {3u, "x = 5;\n"}})
    EXPECT_EQ(candidate_source("x = 4;\n", sections, "a", form, false), made);
  EXPECT_EQ(
      complaint_of<std::runtime_error>([] { parse_candidates("## a\n```diff tile = 8, \n-x\n+y\n```\n"); }),
      "line 2: '```diff tile = 8, ' has an empty constant");
}

TEST(CandidatesFile, IsHandedOutWithoutFormsThatHaveNoName) {
  EXPECT_EQ(without_forms("# Known\n\n## a\n\n- tasks: 1\n\n## unnamed\n\nWhy.\n\n```diff\n-x\n+y\n```\n"),
            "# Known\n\n## a\n\n- tasks: 1\n");
}

TEST(CandidatesFile, IsHandedOutWithoutForms) {
  EXPECT_EQ(without_forms(markdown), R"(# Known mistakes of lesson 99

A sentence, and - a list: of something else.

## one

- tasks: 1, 2
- by: answer
- what: a sum: of what?

## other

- tasks: 1

## whole

- tasks: 1
)");
}

}  // namespace

}  // namespace course
