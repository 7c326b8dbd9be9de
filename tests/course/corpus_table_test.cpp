#include "course/selftest/corpus_table.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "../common/complaint.hpp"
#include "lessons.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace {

using Outcome = TestRow::Outcome;
using Words = std::vector<std::string>;

TestRow played(const std::string& name, const std::string& output, Outcome outcome = Outcome::Passed) {
  return {outcome, name, "", output, 1};
}

/// The words of each of the table's lines.
std::vector<Words> words_of(const std::string& table) {
  std::vector<Words> lines;
  for (const std::string& line : lines_of(table)) {
    std::istringstream words(line);
    lines.push_back({std::istream_iterator<std::string>(words), {}});
  }
  return lines;
}

TEST(CorpusTable, CountsWhatBecameOfEachAnswer) {
  const std::string wrong = "corpus.lesson05.wrong.";
  const std::string table = corpus_table(
      two_lessons(),
      {played("corpus.lesson05.right.packed", "holds\nPASS  lesson05.1\nas expected: pass\n"),
       played("corpus.lesson05.right.refused", "fails\nexpected pass, but task 1 is not passed\n",
              Outcome::Failed),
       played(wrong + "named", "holds\npassed: 1\nas expected: fails:off, and is named\n"),
       played(wrong + "named_otherwise", "holds\npassed: 1\nas expected: fails:off, and is misnamed other\n"),
       played(wrong + "led", "holds\npassed: 1\nas expected: fails, and has no name\n"),
       played(wrong + "lost", "holds\npassed: 1\nas expected: fails:off, and has no name\n"),
       played(wrong + "unrated", "holds\npassed: 1\nas expected: fails, and has no name\n"),
       played(wrong + "changed",
              "fails\npassed: 1\nas expected: fails, and has no name\nnot as recorded in\n", Outcome::Failed),
       played(wrong + "passes", "fails\npassed: 1\nexpected fails, but with seed 1: no test fails\n",
              Outcome::Failed),
       played("corpus.lesson05.build", ""),
       played("mutant.lesson01.off", "as expected: fails, and is named\n")},
      {{wrong + "named", false},
       {wrong + "named_otherwise", true},
       {wrong + "led", true},
       {wrong + "lost", false},
       {wrong + "changed", false},
       {wrong + "passes", true}});
  EXPECT_EQ(words_of(table),
            (std::vector<Words>{
                {"corpus", "right", "passed", "wrong", "failed", "named", "led", "not", "led", "misnamed"},
                {"05", "ring_attention", "2", "1", "7", "6", "1", "3", "2", "1"}}));
}

TEST(CorpusTable, IsNotThereWithoutACorpus) {
  EXPECT_EQ(corpus_table(two_lessons(), {played("mutant.lesson01.off", "")}, {}), "");
}

TEST(CorpusRatings, AreReadFromTheCommentsThatAnAnswerBeginsWith) {
  const TemporaryFolder root;
  const std::filesystem::path wrong = root.path() / "tests/corpus/lesson05/wrong";
  write_text(wrong / "led.cpp",
             "// wrong: K is sent twice\n// line: send(k);\n// rating: led\n#include <mpi.h>\n");
  write_text(wrong / "lost.cpp", "// wrong: K is sent twice\n// rating: not led\n");
  write_text(wrong / "unrated.cpp", "// wrong: K is sent twice\n#include <mpi.h>\n// rating: led\n");
  EXPECT_EQ(corpus_ratings(root.path(), two_lessons()),
            (std::map<std::string, bool>{{"corpus.lesson05.wrong.led", true},
                                         {"corpus.lesson05.wrong.lost", false}}));
  EXPECT_TRUE(corpus_ratings("/nonexistent", two_lessons()).empty());
}

TEST(CorpusRatings, AreOneOfTwoWords) {
  const TemporaryFolder root;
  write_text(root.path() / "tests/corpus/lesson05/wrong/odd.cpp",
             "// wrong: K is sent twice\n// rating: perhaps\n");
  const std::string said =
      complaint_of<std::runtime_error>([&] { corpus_ratings(root.path(), two_lessons()); });
  EXPECT_TRUE(mentions(said, "odd.cpp is rated 'perhaps', expected 'led' or 'not led'")) << said;
}

}  // namespace

}  // namespace course::program
