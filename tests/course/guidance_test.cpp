#include <gtest/gtest.h>

#include "course/commands/commands.hpp"
#include "lessons.hpp"
#include "protocol/fact_kinds.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace {

/// Two lessons, of which the second has a README.
class Guidance : public testing::Test {
 protected:
  Guidance() {
    checkout_.root = temporary_.path();
    checkout_.lessons = two_lessons();
    checkout_.lessons[1].mistakes.push_back(
        {"v_left_behind", {"2"}, "answer", "v stays where it is", "two ranks"});
    write_text(
        checkout_.root / readme,
        "### How to read a deadlock\n\n## Common mistakes\n\n| What you see | What it is |\n| --- | --- |\n"
        "| `lse` too small | the loop ends early <!-- one_block_short --> |\n"
        "| `o` wrong | only k travels <!-- v_left_behind --> |\n"
        "| `rank 1 waits` | the message went out of the ring <!-- fact:world_communicator --> |\n");
  }

  /// Of a task of lesson 01, or of the task of lesson 05 on several ranks.
  TaskStatus failure(const std::string& ending, bool on_ranks = true) const {
    const TaskInfo& task = on_ranks ? ring().tasks[1] : softmax().tasks[0];
    return {&task, Status::Failed, "o is 1, should be 2\nmore", {},
            false, false,          on_ranks ? "2.ranks3" : "1", ending};
  }

  /// Makes lesson 01 one of kernels.
  void on_a_gpu() { checkout_.lessons[0].needs = {"gpu"}; }

  const Checkout& checkout() const { return checkout_; }
  const LessonInfo& softmax() const { return checkout_.lessons[0]; }
  const LessonInfo& ring() const { return checkout_.lessons[1]; }
  std::string of(const TaskStatus& failure) const {
    return guidance(checkout_, failure.test == "1" ? softmax() : ring(), failure);
  }

  const std::string readme = "lessons/05_ring_attention/README.md";

 private:
  const TemporaryFolder temporary_;
  Checkout checkout_;
};

std::string in_table(int line) {
  return ":" + std::to_string(line) + ", a row of \"Common mistakes\"\n";
}

TEST_F(Guidance, OfANamedMistakeIsItsRow) {
  TaskStatus named = failure("deadlock");
  named.looks_like = {"one_block_short", "known_to_a_later_version"};
  EXPECT_EQ(of(named),
            "the last check said: o is 1, should be 2\n  more\n"
            "  only P - 1 blocks are attended to: it shows on two ranks\n  explained in " +
                readme + in_table(7) +
                "    what you see: lse too small\n"
                "    what it is: the loop ends early\n");
}

TEST_F(Guidance, OfMistakesOnSomeInputsIsTheRowOfEach) {
  TaskStatus two = failure("");
  two.looks_like = {"one_block_short", "v_left_behind"};
  EXPECT_EQ(of(two),
            "the last check said: o is 1, should be 2\n  more\n"
            "  only P - 1 blocks are attended to: it shows on two ranks\n  explained in " +
                readme + in_table(7) + "    what you see: lse too small\n" +
                "    what it is: the loop ends early\n" +
                "  v stays where it is: it shows on two ranks\n  explained in " + readme + in_table(8) +
                "    what you see: o wrong\n    what it is: only k travels\n");
}

TEST_F(Guidance, OfANameInOneOutputIsItsRow) {
  TaskStatus one = failure("");
  one.diagnosis = "in o it looks like: v stays where it is, and yet lse is right\no is 1, should be 2";
  one.looks_like = {"v_left_behind"};
  EXPECT_NE(of(one).find("explained in " + readme + in_table(8)), std::string::npos) << of(one);
}

// Whatever a check says, by however many lines, names and tests, the hint says it, too.
TEST_F(Guidance, NeverSaysLessThanTheCheck) {
  const std::vector<std::string> texts{
      "o is 1, should be 2",
      "threw: cudaMemcpy: an illegal memory access\nlook at delta, which dv does without\nkernel attend, "
      "line 89",
      "the program crashed\nrank 1 was given as K what is V\non even shards\n2 of 9 inputs fail",
      "in o it looks like: only P - 1 blocks are attended to, and yet lse is right\no[row 2] is 2, should be "
      "3",
      "on even shards it looks like: v stays where it is\nand on odd ones it looks like: only P - 1 blocks "
      "are "
      "attended to\nmore",
      "looks like: v stays where it is\no is 1, should be 2",
      "rank 0 waits in MPI_Send to rank 1\nrank 1 waits in MPI_Send to rank 0\na cycle: 0 → 1 → 0",
      "dq is wrong\nevery rank sent 1/6 of the bytes of its hops, as by a count\nand 1 more check fails"};
  const std::vector<std::string> endings{"",      "threw",      "crashed", "deadlock",
                                         "stuck", "over limit", "lost",    "broke a rule"};
  for (const std::string& text : texts) {
    for (const std::string& other : {texts[1], texts[3], texts[7]}) {
      for (const std::string& ending : endings) {
        for (const bool named : {false, true}) {
          for (const bool in_drill : {false, true}) {
            TaskStatus task = failure(ending);
            task.diagnosis = text;
            task.others = {{"2.ranks5", other}};
            if (named) task.looks_like = {"one_block_short"};
            for (const MistakeInfo& mistake : ring().mistakes)
              if ((text + other).find(mistake.what) != std::string::npos)
                task.looks_like.push_back(mistake.id);
            const std::string hint = guidance(checkout(), ring(), task, in_drill);
            for (const std::string& said : {text, other}) {
              for (const std::string& line : lines_of(said))
                ASSERT_NE(hint.find(line + "\n"), std::string::npos) << line << "\nis not in\n" << hint;
            }
            for (const MistakeInfo& mistake : ring().mistakes) {
              const bool is_said = (text + other).find(mistake.what) != std::string::npos ||
                                   (named && mistake.id == "one_block_short");
              ASSERT_EQ(hint.find(mistake.what + ": it shows on") != std::string::npos, is_said) << hint;
            }
          }
        }
      }
    }
  }
}

TEST_F(Guidance, OfADrillSendsToNoCheckedFile) {
  const std::string text = guidance(checkout(), ring(), failure("crashed"), true);
  EXPECT_TRUE(text.starts_with("the last drill said: o is 1, should be 2\n  more\n")) << text;
  for (const char* command : {"replay", "locate", "--sanitize"})
    EXPECT_EQ(text.find(command), std::string::npos)
        << "of your lesson's file, and not of the drill's: " << text;
}

TEST_F(Guidance, OfAnUnknownNameIsWhatTheCheckSaid) {
  TaskStatus named = failure("");
  named.looks_like = {"known_to_a_later_version"};
  EXPECT_EQ(of(named),
            "the last check said: o is 1, should be 2\n  more\n  " + readme +
                ":3 (Common mistakes) goes by what you see; it may have no row for this\n"
                "  ./course replay lesson05.2.ranks3 plays that input again and shows your "
                "numbers beside the right ones\n"
                "  ./course locate 05.2 looks for the line: it tries small changes of your file, for "
                "five minutes\n");
}

TEST_F(Guidance, OfAFactIsTheRowOnItsKindWhateverTheWords) {
  TaskStatus told = failure("deadlock");
  told.fact = fact_world;
  const std::string row =
      "  explained in " + readme + in_table(9) +
      "    what you see: rank 1 waits\n    what it is: the message went out of the ring\n";
  EXPECT_NE(of(told).find(row), std::string::npos) << of(told);
  EXPECT_EQ(of(told).find("it may have no row"), std::string::npos);
  told.fact = fact_collective;
  EXPECT_EQ(of(told).find(row), std::string::npos) << of(told);
  EXPECT_EQ(of(failure("")).find(row), std::string::npos) << "of no fact";
}

TEST_F(Guidance, FindsTheRowOnAPageThatTheSectionLinksTo) {
  write_text(checkout().root / readme,
             "## Common mistakes\n\nMore: [rings](../../docs/rings.md#common-mistakes)\n\n## Next\n");
  write_text(checkout().root / "docs/rings.md",
             "## Common mistakes\n\n| a | b |\n| --- | --- |\n"
             "| \"waits for a message that nobody sends\" | a hop too many <!-- one_block_short --> |\n");
  const std::string row = "  explained in docs/rings.md" + in_table(5) +
                          "    what you see: \"waits for a message that nobody sends\"\n"
                          "    what it is: a hop too many\n";
  TaskStatus named = failure("");
  named.looks_like = {"one_block_short"};
  EXPECT_NE(of(named).find(row), std::string::npos) << of(named);
}

TEST_F(Guidance, SaysWhatToDoNextByHowTheCallEnded) {
  const std::vector<std::pair<std::string, std::string>> next{
      {"threw", "`catch throw`, `run`"},
      {"crashed", "`run`, `bt`"},
      {"deadlock", "how to read that: " + readme + ":1, \"How to read a deadlock\"\n"},
      {"stuck", "a loop that never ends"},
      {"over limit", "a loop that never ends"},
      {"lost", "neither returned nor threw"}};
  for (const auto& [ending, words] : next) {
    const std::string text = of(failure(ending));
    EXPECT_TRUE(text.starts_with("the last check said: o is 1, should be 2\n")) << text;
    EXPECT_NE(text.find(words), std::string::npos) << text;
    EXPECT_NE(text.find("./course replay lesson05.2.ranks3"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("\n")) << text;
  }
}

TEST_F(Guidance, SendsToTheSanitizers) {
  EXPECT_NE(of(failure("crashed", false)).find("./course check 01 --sanitize"), std::string::npos);
  EXPECT_NE(of(failure("crashed", false)).find("./course replay lesson01.1 --gdb 0"), std::string::npos);
  EXPECT_NE(of(failure("crashed")).find("./course check 05 --sanitize"), std::string::npos);
  EXPECT_NE(of(failure("crashed")).find("--gdb RANK"), std::string::npos);
  TaskStatus sanitized = failure("crashed");
  sanitized.diagnosis = "rank 1: AddressSanitizer: heap-buffer-overflow, WRITE of 4 bytes";
  sanitized.has_line = true;
  EXPECT_EQ(of(sanitized).find("--sanitize"), std::string::npos) << of(sanitized);
  TaskStatus own_words = failure("crashed");
  own_words.diagnosis = "it printed: Sanitizer of indices: runtime error: none";
  EXPECT_NE(of(own_words).find("--sanitize"), std::string::npos) << "what a program prints names no line";
}

TEST_F(Guidance, OfABrokenRuleOffersNoNumbers) {
  TaskStatus rule = failure("broke a rule");
  rule.diagnosis = "rank 0 received 16 bytes through collectives, at most 0 are allowed\non even shards";
  EXPECT_NE(of(rule).find("no wrong number: the header in lessons/05_ring_attention says"), std::string::npos)
      << of(rule);
  EXPECT_EQ(of(rule).find("replay"), std::string::npos);
  EXPECT_EQ(of(rule).find("locate"), std::string::npos);
}

TEST_F(Guidance, OfAKernelOffersNeitherDebuggerNorLocate) {
  on_a_gpu();
  TaskStatus kernel = failure("threw", false);
  kernel.diagnosis = "threw: an error\nattend, thread (4, 0, 0) on line 89 reads 4 bytes beyond the end";
  kernel.has_line = true;
  EXPECT_EQ(of(kernel).find("gdb"), std::string::npos) << of(kernel);
  EXPECT_EQ(of(kernel).find("locate"), std::string::npos) << of(kernel);
  kernel.ending = "broke a rule";
  EXPECT_NE(of(kernel).find("may give another one on another run"), std::string::npos) << of(kernel);
  kernel.diagnosis = "rank 0 sent 16 bytes, at most 8 are allowed";
  kernel.has_line = false;
  EXPECT_NE(of(kernel).find("what the task may use and send"), std::string::npos) << of(kernel);
}

TEST_F(Guidance, OfAStudentsOwnExceptionSendsToItsLineWhateverItsWords) {
  on_a_gpu();
  TaskStatus own = failure("threw", false);
  own.diagnosis = "threw: launch failed on line 89";
  EXPECT_NE(of(own).find("`catch throw`"), std::string::npos) << of(own);
  own = failure("threw");
  own.diagnosis = "threw: index 7 is beyond its end";
  EXPECT_NE(of(own).find("`catch throw`"), std::string::npos) << of(own);
  own = failure("");
  own.diagnosis = "threw: this looks like: only P - 1 blocks are attended to";
  EXPECT_EQ(of(own).find("it shows on"), std::string::npos) << of(own);
}

TEST_F(Guidance, OfAWriteBeyondAnOutputSendsToTheSanitizers) {
  TaskStatus beyond = failure("threw");
  beyond.diagnosis = "p was written to beyond its end";
  beyond.fact = fact_beyond_output;
  EXPECT_NE(of(beyond).find("./course check 05 --sanitize"), std::string::npos) << of(beyond);
  EXPECT_EQ(of(beyond).find("catch throw"), std::string::npos);
}

TEST_F(Guidance, OfOneRankNamesThatInTheDebugger) {
  TaskStatus alone = failure("threw");
  alone.test = "2.ranks1";
  EXPECT_NE(of(alone).find("--gdb 0"), std::string::npos) << of(alone);
}

TEST_F(Guidance, IsGivenAgainForAnotherFailureOnly) {
  TaskStatus first = failure("");
  TaskStatus second = failure("");
  first.diagnosis = "o[head 0, row 1] is 0.25, should be -1.5\non ordinary scores";
  second.diagnosis = "o[head 2, row 0] is 7, should be 3\non equal shards";
  EXPECT_NE(failure_outline(first), failure_outline(second)) << "other numbers: the file has changed";
  second = first;
  EXPECT_EQ(failure_outline(first), failure_outline(second));
  second.ending = "crashed";
  EXPECT_NE(failure_outline(first), failure_outline(second));
  second.mistakes = {"one_block_short"};
  first.mistakes = {"one_block_short"};
  EXPECT_EQ(failure_outline(first), failure_outline(second));
}

}  // namespace

}  // namespace course::program
