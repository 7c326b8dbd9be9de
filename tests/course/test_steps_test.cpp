#include "course/selftest/test_steps.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "runner/temporary_folder.hpp"

namespace course::program {

namespace {

using Outcome = TestRow::Outcome;

/// A machine without any program, where continuous integration may be said to run.
class Steps : public testing::Test {
 protected:
  Steps() {
    setenv("PATH", temporary_.path().c_str(), 1);
    unsetenv("CI");
    unsetenv("COURSE_NO_SKIP");
  }
  ~Steps() override { setenv("PATH", path_.c_str(), 1); }

  const Checkout checkout{"/", {}};

 private:
  const TemporaryFolder temporary_;
  const std::string path_ = std::getenv("PATH");
};

TEST_F(Steps, AreSkippedWhereTheMachineLacksSomething) {
  const TestRow row = check_formatting(checkout);
  EXPECT_EQ(row.outcome, Outcome::Skipped);
  EXPECT_EQ(row.reason, "there is no clang-format on this machine");
  EXPECT_EQ(check_second_compiler(checkout, 1).outcome, Outcome::Skipped);
}

TEST_F(Steps, FailWhereNothingMayBeSkipped) {
  for (const char* name : {"CI", "COURSE_NO_SKIP"}) {
    setenv(name, "1", 1);
    const TestRow row = check_second_compiler(checkout, 1);
    EXPECT_EQ(row.outcome, Outcome::Failed) << name;
    EXPECT_NE(row.reason.find("there is no clang++ on this machine"), std::string::npos) << row.reason;
    setenv(name, "", 1);
    EXPECT_EQ(check_second_compiler(checkout, 1).outcome, Outcome::Skipped) << name;
  }
}

}  // namespace

}  // namespace course::program
