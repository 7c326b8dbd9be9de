#include "judge/checks/kernel_costs.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace course {

namespace {

constexpr std::int64_t KernelCounts::*every_count[] = {
    &KernelCounts::bytes_read,    &KernelCounts::bytes_written,   &KernelCounts::requests,
    &KernelCounts::sectors,       &KernelCounts::shared_requests, &KernelCounts::shared_passes,
    &KernelCounts::bank_conflicts};

KernelCounts counts_of(const std::string& kernel, std::int64_t of_each) {
  KernelCounts counts{.kernel = kernel, .launches = 1};
  for (const auto count : every_count) counts.*count = of_each;
  return counts;
}

Outcome reporting(CountsByKernel kernels) {
  Outcome outcome;
  outcome.reports.resize(1);
  outcome.reports[0].kernels = std::move(kernels);
  return outcome;
}

/// An example that is counted, and one that is not.
struct Examples {
  Example plain{.what = "an input", .inputs = {}};
  Example counted{.what = "a large input", .inputs = {}, .counted = true};
};

/// What is played of a task whose solution counts 1000 of everything.
struct Costs {
  explicit Costs(CountsByKernel kernels) : outcome(reporting(std::move(kernels))) {
    task.id = "2";
    task.solution_counts = counts_of("", 1000);
    played.resize(2);
    played[0].example = &examples.plain;
    played[0].outcome = &nothing;
    played[1].example = &examples.counted;
    played[1].outcome = &outcome;
  }
  Costs(const Costs&) = delete;
  Costs& operator=(const Costs&) = delete;

  std::string text() const { return costs_text(task, played); }
  std::string drift() const { return drift_from_solution(task, played); }

  Task task;
  Examples examples;
  Outcome outcome, nothing = reporting({});
  std::vector<Played> played;
};

std::ptrdiff_t lines_of(const std::string& text) {
  return std::ranges::count(text, '\n');
}

TEST(KernelCosts, AreCountedOnOneExampleOfItsName) {
  Task task;
  task.examples = [](InputGenerator&, int) {
    return std::vector<Example>{{.what = "one", .inputs = {}}, {.what = "two", .inputs = {}}};
  };
  InputGenerator generator(1);
  const std::vector<Example> examples = counted(task, "two", {}).examples(generator, 1);
  EXPECT_FALSE(examples.at(0).counted);
  EXPECT_TRUE(examples.at(1).counted);
  EXPECT_THROW(counted(task, "three", {}).examples(generator, 1), std::logic_error);
}

TEST(KernelCosts, StandBesideTheSolutions) {
  const std::string text = Costs({counts_of("attend", 77)}).text();
  EXPECT_EQ(lines_of(text), 4) << text;
  EXPECT_NE(text.find("on a large input, simulated"), std::string::npos) << text;
  EXPECT_NE(text.find("shared passes  bank conflicts\n"), std::string::npos) << text;
  EXPECT_NE(text.find("        attend                                77          77        77         1.0    "
                      "         77              77\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("        the solution                        1000        1000      1000"),
            std::string::npos)
      << text;
}

TEST(KernelCosts, OfSeveralKernelsAreAddedUp) {
  const std::string two = Costs({counts_of("a", 30), counts_of("b", 40)}).text();
  EXPECT_EQ(lines_of(two), 6) << two;
  EXPECT_NE(two.find("        together                              70          70"), std::string::npos)
      << two;
  const std::string many =
      Costs({counts_of("a", 1), counts_of("b", 2), counts_of("c", 3), counts_of("d", 4)}).text();
  EXPECT_EQ(lines_of(many), 4) << many;
  EXPECT_NE(many.find("        together                              10          10"), std::string::npos)
      << many;
}

TEST(KernelCosts, AreNotShownWhereNothingWasCounted) {
  EXPECT_EQ(Costs({}).text(), "");
}

TEST(KernelCosts, OfTheSolutionMayDifferByATenth) {
#ifdef __clang__
  GTEST_SKIP() << "the solution's counts are g++'s";
#endif
  EXPECT_EQ(Costs({counts_of("a", 600), counts_of("b", 500)}).drift(), "");
  EXPECT_NE(Costs({}).drift(), "") << "nothing is counted any more";
  for (const auto count : every_count) {
    for (const std::int64_t changed : {899, 1101}) {
      KernelCounts counts = counts_of("a", 1000);
      counts.*count = changed;
      EXPECT_NE(Costs({counts}).drift().find("= " + std::to_string(changed)), std::string::npos) << changed;
    }
  }
}

checks::ByteLimit twice_x(const Example&) {
  return {1280, "twice as many as x has"};
}

std::vector<Finding> found(const CommunicationCheck& look, const KernelCounts& a, const KernelCounts& b) {
  return look({.what = "an input", .inputs = {}, .counted = true}, reporting({a, b}));
}

TEST(KernelCosts, MayHaveALimitOfBytes) {
  const CommunicationCheck look = checks::moves_at_most(twice_x, "row_not_shared");
  EXPECT_TRUE(look({.what = "an input", .inputs = {}}, reporting({})).empty());
  EXPECT_TRUE(
      found(look, {.bytes_read = 1000, .requests = 4}, {.bytes_written = 280, .requests = 7}).empty());
  const auto bytes = found(look, {.bytes_read = 1000}, {.bytes_written = 284});
  ASSERT_EQ(bytes.size(), 1);
  EXPECT_EQ(bytes[0].mistake, "row_not_shared");
  EXPECT_EQ(bytes[0].text,
            "the kernels read and write 1284 bytes of device memory, which is more than 1280 bytes: twice as "
            "many as x has");
}

TEST(KernelCosts, MayHaveALimitOfRequestsToldWhereTheBytesAreWithinTheirs) {
  const CommunicationCheck look = checks::asks_in_full_warps(twice_x, "row_of_one_thread");
  EXPECT_TRUE(
      found(look, {.bytes_read = 1000, .requests = 4}, {.bytes_written = 280, .requests = 6}).empty());
  EXPECT_TRUE(
      found(look, {.bytes_read = 1000, .requests = 4}, {.bytes_written = 284, .requests = 7}).empty());
  const auto requests =
      found(look, {.bytes_read = 1000, .requests = 4}, {.bytes_written = 280, .requests = 7});
  ASSERT_EQ(requests.size(), 1);
  EXPECT_EQ(requests[0].mistake, "row_of_one_thread");
  EXPECT_EQ(requests[0].text,
            "the warps make 11 requests to device memory, which is more than 10: that many requests of "
            "full warps, a float a lane, move 1280 bytes, twice as many as x has");
}

TEST(KernelCosts, MayBeLimitedToFourTimesTheSolutions) {
  const checks::ByteLimit limit = checks::four_times({.bytes_read = 300, .bytes_written = 20});
  EXPECT_EQ(limit.bytes, 1280);
  EXPECT_EQ(limit.words, "four times as many as the course's solution");
}

}  // namespace

}  // namespace course
