#include "course/commands/bench.hpp"

#include <gtest/gtest.h>

namespace course::program {

namespace {

using Libraries = std::map<Role, std::string>;
using Lines = std::vector<std::string>;

TEST(BenchSubjects, AreTheSolutionsWhereTheyAre) {
  const BenchSubjects subjects =
      choose_subjects({{Role::Block, "04", true, false}, {Role::BlockBackward, "06", true, true}}, false);
  EXPECT_EQ(subjects.libraries,
            (Libraries{{Role::Block, "lesson04_solution"}, {Role::BlockBackward, "lesson06_solution"}}));
  EXPECT_EQ(subjects.left_out, Lines{});
}

TEST(BenchSubjects, AreTheStudentsOwnWhenAskedFor) {
  const BenchSubjects subjects =
      choose_subjects({{Role::Block, "04", true, false}, {Role::BlockBackward, "06", true, true}}, true);
  EXPECT_EQ(subjects.libraries, (Libraries{{Role::BlockBackward, "lesson06_student"}}));
  EXPECT_EQ(subjects.left_out,
            Lines{"lesson 04 is left out: yours is not passed as it stands: ./course check 04"});
}

TEST(BenchSubjects, AreTheStudentsOwnWithoutASolution) {
  const BenchSubjects subjects = choose_subjects(
      {{Role::Block, "04", false, true}, {Role::RingForward, "05"}, {Role::BlockBackward, ""}}, false);
  EXPECT_EQ(subjects.libraries, (Libraries{{Role::Block, "lesson04_student"}}));
  EXPECT_EQ(subjects.left_out,
            (Lines{"lesson 05 is left out: yours is not passed as it stands, and its "
                   "solution is not here: ./course check 05",
                   "the lesson of the backward pass of a block is left out: this handout does not "
                   "hold it"}));
}

}  // namespace

}  // namespace course::program
