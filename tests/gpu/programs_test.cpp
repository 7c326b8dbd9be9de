#include "programs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "gpu/simulator/findings/source_lines.hpp"
#include "gpu/simulator/simulator.hpp"
#include "player/own_process.hpp"
#include "protocol/fact_kinds.hpp"

namespace course::gpu {

namespace {

struct Expectation {
  std::string kind;
  int line;
};

std::vector<Expectation> expected_on(const std::string& line, int number) {
  static const std::string mark = "// expect ";
  const std::size_t at = line.find(mark);
  std::istringstream kinds(at == std::string::npos ? "" : line.substr(at + mark.size()));
  std::vector<Expectation> found;
  for (std::string kind; kinds >> kind;) found.push_back({kind, number});
  return found;
}

std::vector<Expectation> expectations_of(const std::string& name, const std::string& file) {
  std::ifstream source(file);
  std::vector<Expectation> found;
  std::string current;
  int number = 0;
  for (std::string line; std::getline(source, line);) {
    std::ranges::copy(expected_on(line, ++number), std::back_inserter(found));
    if (line.starts_with("PROGRAM(")) current = line.substr(8, line.find(')') - 8);
    if (line != "}" || current.empty()) continue;
    if (current == name) return found;
    found.clear();
    current.clear();
  }
  ADD_FAILURE() << "no program " << name << " in " << file;
  return {};
}

std::string all_of(const Facts& facts) {
  std::string all;
  for (const Fact& fact : facts) all += fact.kind + ": " + fact.text + "\n";
  return all;
}

Facts facts_of(const programs::Program& program, std::uint64_t seed) {
  begin(seed, true);
  try {
    program.run();
  } catch (const std::exception& error) {
    Facts facts = end(false);
    facts.push_back({"exception", error.what()});
    return facts;
  }
  return end(true);
}

class Programs : public testing::TestWithParam<std::string> {};

TEST_P(Programs, IsFoundWrongWhereItIsAndNowhereElse) {
#ifdef __clang__
  if (GetParam() == "four_at_once_from_an_odd_place") GTEST_SKIP() << "clang copies float4 by memcpy()";
#endif
  const programs::Program& program = programs::all().at(GetParam());
  const std::vector<Expectation> expected = expectations_of(GetParam(), program.file);
  // Loops that do not end take seconds each.
  const std::uint64_t seeds = GetParam().ends_with("does_not_end") ? 1 : 5;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Facts facts = facts_of(program, seed);
    std::set<std::string> kinds, expected_kinds;
    for (const Fact& fact : facts) kinds.insert(fact.kind);
    for (const Expectation& one : expected) expected_kinds.insert(one.kind);
    if (!expected_kinds.contains(fact_device_wide_wait))
      kinds.erase(fact_device_wide_wait);  // no mistake by itself
    for (const Expectation& one : expected) {
      const std::string place = "line " + std::to_string(one.line);
      EXPECT_TRUE(std::ranges::any_of(
          facts,
          [&](const Fact& fact) {
            const std::size_t at = fact.text.find(place);
            const char behind = at == std::string::npos ? '0' : (fact.text + " ")[at + place.size()];
            return fact.kind == one.kind && std::isdigit(static_cast<unsigned char>(behind)) == 0;
          }))
          << one.kind << " on " << place << " in seed " << seed << ", found:\n"
          << all_of(facts);
    }
    EXPECT_EQ(kinds, expected_kinds) << "seed " << seed << ":\n" << all_of(facts);
    for (const Fact& fact : facts) {
      if (fact.at.line == 0) continue;
      EXPECT_NE(fact.text.find(" on " + gpu::text_of(fact.at)), std::string::npos) << fact.text;
    }
  }
}

TEST(Gpu, SameSeedGivesTheSameOrder) {
  const programs::Program& program = programs::all().at("barrier_is_missing");
  const Facts first = facts_of(program, 3);
  EXPECT_NE(first, facts_of(program, 4));
  EXPECT_EQ(first, facts_of(program, 3));
}

TEST(Gpu, FindingSaysWhatWouldMendItAndInWhichFileACallStands) {
  const std::map<std::string, std::string> words{
      {"barrier_is_missing",
       "shared memory, and .* the same bytes: no barrier between them orders the two\n"},
      {"all_threads_change_one_variable", "no barrier stands within a line: each thread needs an entry"},
      {"all_threads_write_one_entry", "writes device memory, and .* so that either's value may stay"},
      {"two_arrays_overlap", "writes shared memory, and .* if these are two arrays, they overlap"},
      {"one_line_fills_two_arrays_that_overlap",
       "writes shared memory, and .* if the line fills two arrays, they overlap"},
      {"error_of_a_launch_is_not_asked_for", "it has no threads, since its grid has 0 blocks"},
      {"loop_around_a_shuffle_does_not_end",
       "block .*, thread .* calls __shfl_xor_sync on line .* does not end"},
      {"loop_of_one_thread_does_not_end",
       "until_it_is_there, block \\(0, 0, 0\\), thread \\(5, 0, 0\\) on line [0-9]+ has computed for a long "
       "time"},
      {"writes_behind_what_a_header_allocated", "of cudaMalloc on line [0-9]+ of stage.hpp"},
      {"one_before_the_second_allocation",
       "4 bytes at 4 bytes before the beginning of the 256 bytes of cudaMalloc"},
      {"a_tile_beyond_the_end", "4 bytes at [0-9]+ bytes beyond the end of the 256 bytes of cudaMalloc"},
      {"one_beyond_the_end", "of cudaMalloc on line [0-9]+\n"}};
  for (const auto& [program, text] : words) {
    const std::string told = all_of(facts_of(programs::all().at(program), 1));
    EXPECT_TRUE(std::regex_search(told, std::regex(text))) << program << ": " << told;
  }
}

TEST(Gpu, WhatTheSimulatorNeedsIsNotTheSubmissionsMemory) {
  MemoryMeter meter;
  for (const char* name : {"as_much_memory_as_takes_many_pages", "as_many_threads_as_there_are"}) {
    if (!meter.reset()) GTEST_SKIP() << "the kernel does not allow it";
    begin(1, true);
    programs::all().at(name).run();
    const std::int64_t bytes = meter.peak();
    EXPECT_EQ(all_of(end(true)), "");
    EXPECT_LT(bytes, 1 << 20) << name;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const auto& [name, program] : programs::all()) found.push_back(name);
  return found;
}

INSTANTIATE_TEST_SUITE_P(Gpu, Programs, testing::ValuesIn(names()),
                         [](const auto& named) { return named.param; });

}  // namespace

}  // namespace course::gpu
