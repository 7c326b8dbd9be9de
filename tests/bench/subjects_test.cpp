#include "bench/subjects.hpp"

#include <gtest/gtest.h>

namespace course::bench {

namespace {

using Chosen = std::map<Role, std::string>;
using Lines = std::vector<std::string>;

TEST(BenchSubjects, AreTheSolutionsWhereTheyAre) {
  const Subjects subjects =
      choose_subjects({{Role::Block, "04", true, false}, {Role::BlockBackward, "06", true, true}}, false);
  EXPECT_EQ(subjects.chosen, (Chosen{{Role::Block, "solution"}, {Role::BlockBackward, "solution"}}));
  EXPECT_EQ(subjects.left_out, Lines{});
}

TEST(BenchSubjects, AreTheStudentsOwnWhenAskedFor) {
  const Subjects subjects =
      choose_subjects({{Role::Block, "04", true, false}, {Role::BlockBackward, "06", true, true}}, true);
  EXPECT_EQ(subjects.chosen, (Chosen{{Role::BlockBackward, "student"}}));
  EXPECT_EQ(subjects.left_out,
            Lines{"lesson 04 is left out: yours is not passed as it stands: ./course check 04"});
}

TEST(BenchSubjects, AreTheStudentsOwnWithoutASolution) {
  const Subjects subjects = choose_subjects(
      {{Role::Block, "04", false, true}, {Role::RingForward, "05"}, {Role::BlockBackward, ""}}, false);
  EXPECT_EQ(subjects.chosen, (Chosen{{Role::Block, "student"}}));
  EXPECT_EQ(subjects.left_out,
            (Lines{"lesson 05 is left out: yours is not passed as it stands, and its "
                   "solution is not here: ./course check 05",
                   "the lesson of the backward pass of a block is left out: this handout does not "
                   "hold it"}));
}

}  // namespace

}  // namespace course::bench
