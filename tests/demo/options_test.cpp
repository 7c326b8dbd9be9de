#include "demo/options.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "protocol/errors.hpp"

namespace course::demo {
namespace {

std::string refusal(const std::vector<std::string>& arguments) {
  try {
    parse_options(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Options, DefaultsAreTheCoursesOwnInput) {
  const Options options = parse_options({});
  EXPECT_FALSE(options.ranks || options.files || options.sizes || options.out);
  EXPECT_TRUE(options.backward);
  EXPECT_EQ(options.libraries.ring.filename(), "lesson05_solution.so");
  EXPECT_EQ(options.libraries.block.filename(), "lesson04_solution.so");
  EXPECT_EQ(options.libraries.ring_backward.filename(), "lesson07_solution.so");
  EXPECT_EQ(options.libraries.block_backward.filename(), "lesson06_solution.so");
  EXPECT_EQ(options.libraries.overlapped_ring.filename(), "lesson08_solution.so");
}

TEST(Options, MineTakesTheStudentsLibraries) {
  const Options options = parse_options({"--mine"});
  EXPECT_EQ(options.libraries.ring.filename(), "lesson05_student.so");
  EXPECT_EQ(options.libraries.block.filename(), "lesson04_student.so");
  EXPECT_EQ(options.libraries.ring_backward.filename(), "lesson07_student.so");
  EXPECT_EQ(options.libraries.overlapped_ring.filename(), "lesson08_student.so");
}

TEST(Options, RingPicksOneOrBoth) {
  const auto picked = [](const std::vector<std::string>& arguments) {
    std::vector<std::string> names;
    for (const RingKind& ring : parse_options(arguments).rings) names.emplace_back(ring.name);
    return names;
  };
  const std::vector<std::string> both{"blocking", "overlapped"};
  EXPECT_EQ(picked({}), both);
  EXPECT_EQ(picked({"--ring", "both"}), both);
  EXPECT_EQ(picked({"--ring=blocking"}), std::vector<std::string>{"blocking"});
  EXPECT_EQ(picked({"--ring", "overlapped"}), std::vector<std::string>{"overlapped"});
}

TEST(Options, GoBackOnlyFromAGradientThatIsThere) {
  const std::vector<std::string> own{"--q", "a", "--k", "b", "--v", "c"};
  std::vector<std::string> with_gradient = own;
  with_gradient.insert(with_gradient.end(), {"--do", "d"});
  EXPECT_FALSE(parse_options(own).backward);
  EXPECT_TRUE(parse_options(with_gradient).backward);
  EXPECT_EQ(*parse_options(with_gradient).files->d_o, "d");
  EXPECT_FALSE(parse_options({"--forward"}).backward);
  EXPECT_FALSE(parse_options({"--seq", "8"}).backward);
  with_gradient.push_back("--forward");
  EXPECT_NE(refusal(with_gradient).find("--do with --forward"), std::string::npos);
}

TEST(Options, SizesThatAreNotGivenAreThoseOfTheCoursesInput) {
  const Options options = parse_options({"--heads", "3", "--seed=18446744073709551615"});
  ASSERT_TRUE(options.sizes);
  EXPECT_EQ(options.sizes->heads, 3);
  EXPECT_EQ(options.sizes->seq, 512);
  EXPECT_EQ(options.sizes->head_dim, 32);
  EXPECT_EQ(options.sizes->seed, std::numeric_limits<std::uint64_t>::max());
}

TEST(Options, RefusalsSayWhatWasExpected) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> refusals{
      {{"--ranks", "0"}, "--ranks 0: expected a whole number from 1 to 64"},
      {{"--ranks", "-1"}, "--ranks -1: expected a whole number from 1 to 64"},
      {{"--ranks=3.5"}, "--ranks 3.5: expected a whole number from 1 to 64"},
      {{"--ranks", "abc"}, "--ranks abc: expected a whole number from 1 to 64"},
      {{"--ranks", "99999999999999999999"}, "--ranks 99999999999999999999: expected a whole number"},
      {{"--ranks", ""}, "--ranks : expected a whole number from 1 to 64"},
      {{"--ranks"}, "expected each option once, with its value"},
      {{"--ranks", "2", "--ranks", "3"}, "expected each option once, with its value"},
      {{"--heads", "0"}, "--heads 0: expected a whole number from 1"},
      {{"--seq", "1e3"}, "--seq 1e3: expected a whole number from 1"},
      {{"--dim", "-4"}, "--dim -4: expected a whole number from 1"},
      {{"--q", "a.npy"}, "--k is missing: expected --q, --k and --v together"},
      {{"--v", "a.npy", "--k", "a.npy"}, "--q is missing"},
      {{"--q", "a", "--k", "b", "--v", "c", "--seq", "8"},
       "--seq with --q: expected own tensors or generated ones"},
      {{"--seed", "3"}, "--seed without generated input: expected --seq, --heads or --dim"},
      {{"--do", "a.npy"}, "--do without --q, --k and --v"},
      {{"--layout", "spiral"}, "--layout spiral: expected contiguous, striped or zigzag"},
      {{"--backend", "gpu"}, "--backend gpu: expected mpi, sim or cuda"},
      {{"--ring", "sideways"}, "--ring sideways: expected blocking, overlapped or both"},
      {{"--ring", "Blocking"}, "--ring Blocking: expected blocking, overlapped or both"},
      {{"--ring", ""}, "--ring : expected blocking, overlapped or both"},
      {{"--report", "a", "--seq", "8"}, "--seq with --report: expected it with --prepare"},
      {{"--report", "a", "--prepare", "b"}, "--prepare with --report"},
      {{"--rank", "3"}, "unknown option --rank, expected --help, --q"},
      {{"q.npy"}, "unknown argument q.npy, expected --help"}};
  for (const auto& [arguments, expected] : refusals) {
    const std::string message = refusal(arguments);
    EXPECT_NE(message.find(expected), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(Options, WhatALaterLessonBringsIsNamedAfterIt) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> later{
      {{"--causal"}, "lesson 13"},
      {{"--layout", "striped"}, "lesson 14"},
      {{"--layout", "zigzag"}, "lesson 14"},
      {{"--backend", "sim"}, "lesson 12"},
      {{"--backend", "cuda"}, "lesson 12"}};
  for (const auto& [arguments, lesson] : later) {
    try {
      parse_options(arguments);
      ADD_FAILURE() << arguments[0] << " was accepted";
    } catch (const Unavailable& error) {
      EXPECT_NE(std::string(error.what()).find(lesson), std::string::npos) << error.what();
    }
  }
}

TEST(Options, HelpNamesEveryOptionOfTheUser) {
  const std::string help = parse_options({"--help"}).help;
  for (const char* name : {"--ranks",   "--q",    "--k",    "--v",       "--do",      "--out",     "--seq",
                           "--heads",   "--dim",  "--seed", "--ring",    "--causal",  "--forward", "--layout",
                           "--backend", "--mine", "--json", "--verbose", "--prepare", "--report"}) {
    EXPECT_NE(help.find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace course::demo
