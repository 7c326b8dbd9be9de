#include "course/commands/bench.hpp"

#include <gtest/gtest.h>

namespace course::program {

namespace {

using Libraries = std::map<std::string, std::string>;
using Lines = std::vector<std::string>;

TEST(BenchSubjects, AreTheSolutionsWhereTheyAre) {
  const BenchSubjects subjects =
      choose_subjects({{"04", true, true, false}, {"06", true, true, true}}, false);
  EXPECT_EQ(subjects.libraries, (Libraries{{"04", "lesson04_solution"}, {"06", "lesson06_solution"}}));
  EXPECT_EQ(subjects.left_out, Lines{});
}

TEST(BenchSubjects, AreTheStudentsOwnWhenAskedFor) {
  const BenchSubjects subjects = choose_subjects({{"04", true, true, false}, {"06", true, true, true}}, true);
  EXPECT_EQ(subjects.libraries, (Libraries{{"06", "lesson06_student"}}));
  EXPECT_EQ(subjects.left_out,
            Lines{"lesson 04 is left out: yours is not passed as it stands: ./course check 04"});
}

TEST(BenchSubjects, AreTheStudentsOwnWithoutASolution) {
  const BenchSubjects subjects = choose_subjects(
      {{"04", true, false, true}, {"05", true, false, false}, {"06", false, false, false}}, false);
  EXPECT_EQ(subjects.libraries, (Libraries{{"04", "lesson04_student"}}));
  EXPECT_EQ(subjects.left_out, (Lines{"lesson 05 is left out: yours is not passed as it stands, and its "
                                      "solution is not here: ./course check 05",
                                      "lesson 06 is left out: this handout does not hold it"}));
}

}  // namespace

}  // namespace course::program
