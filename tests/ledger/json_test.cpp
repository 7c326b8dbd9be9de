#include <gtest/gtest.h>

#include "../grader/reports.hpp"
#include "bench/rows.hpp"
#include "recorded_shape.hpp"
#include "shape.hpp"

// The reports that need no run. ./course --json, check and doctor are held against their shapes in
// tests/course/course_program_test.sh, the demo's in golden_demo_test.cpp.

namespace course::ledger {

namespace {

using nlohmann::json;

TEST(Json, OfAGradeHasItsShape) {
  for (const program::grader::Report& report :
       {program::grader::report_with("it is wrong"), program::grader::report_with_skipped()})
    EXPECT_EQ(differences(recorded_shape("grade"), json::parse(program::grader::json_report(report))), "");
}

TEST(Json, OfABenchHasItsShape) {
  const std::string rows =
      bench::rows_json({{.name = "one rank", .rate = 2.5},
                        {.name = "a ring", .against = "one rank", .bound = 0.9, .rate = 2, .ratio = 0.8}});
  EXPECT_EQ(differences(recorded_shape("bench"), json::parse(rows)), "");
}

TEST(Shape, TellsWhatDiffers) {
  const json shape{{"rank", "integer"}, {"dq?", "number"}, {"names", {"'a' | null"}}};
  const json right{{"rank", 1}, {"dq", 0.5}, {"names", {"a", nullptr}}, {"more", 1}};
  EXPECT_EQ(differences(shape, right), "");
  EXPECT_EQ(differences(shape, {{"rank", 1}, {"names", json::array()}}), "");
  EXPECT_EQ(differences(shape, {{"names", {"a", "b"}}}),
            "it.names[1] should be 'a' | null, and is \"b\"\nit has no rank\n");
  EXPECT_EQ(differences(shape, {{"rank", 1.5}, {"dq", "0.5"}, {"names", "a"}}),
            "it.dq should be number, and is \"0.5\"\nit.names is no array\nit.rank should be integer, and is "
            "1.5\n");
  EXPECT_THROW(differences("text", "a"), std::invalid_argument);
}

}  // namespace

}  // namespace course::ledger
