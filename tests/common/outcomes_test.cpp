#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "judge/numbers/input_generator.hpp"
#include "judge/numbers/origin.hpp"
#include "judge/outcomes/recorded.hpp"
#include "protocol/poison.hpp"
#include "runner/temporary_folder.hpp"
#include "sitting.hpp"
#include "text/text_file.hpp"

namespace course {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
const Output heads{"o", {"head", "row", "col"}, 1};

Tensor64 drawn(InputGenerator& generator, const Shape& shape, double scale = 1) {
  return cast<double>(generator.normal(shape, static_cast<float>(scale)));
}

/// Another answer, whose every head is off by `error` of its norm.
Tensor64 off(InputGenerator& generator, const Tensor64& answer, double error) {
  Tensor64 other = answer;
  const Index heads_of = answer.extent(0), size = answer.size() / heads_of;
  for (Index head = 0; head < heads_of; ++head) {
    double norm = 0, noise = 0;
    std::vector<double> by(static_cast<std::size_t>(size));
    for (Index i = 0; i < size; ++i) {
      by[i] = generator.normal();
      norm += answer[head * size + i] * answer[head * size + i];
      noise += by[i] * by[i];
    }
    for (Index i = 0; i < size; ++i) other[head * size + i] += by[i] * error * std::sqrt(norm / noise);
  }
  return other;
}

bool alike(const Tensor64& recorded, const Tensor64& answer, const Tensor64& expected, Grain grain,
           const Layout& layout = {}) {
  const Projections kept =
      projections_from(to_text(projections_of(heads, layout, recorded, expected, grain)));
  return are_alike(kept, heads, layout, answer, expected, grain, 8e-5, false);
}

TEST(Projections, TellAnswersApartByWhatTheyAreOffInTheirWorstHead) {
  InputGenerator generator(1);
  for (int trial = 0; trial < 200; ++trial) {
    const Shape shape{generator.integer(1, 4), generator.integer(2, 9), generator.integer(1, 8)};
    const Tensor64 expected = drawn(generator, shape), wrong = drawn(generator, shape, 3);
    for (const Grain grain : {Grain::Whole, Grain::HeadsAndRanks}) {
      EXPECT_TRUE(alike(wrong, wrong, expected, grain));
      EXPECT_TRUE(alike(wrong, off(generator, wrong, 1e-5), expected, grain));
      EXPECT_FALSE(alike(wrong, expected, expected, grain)) << to_string(shape);
    }
  }
}

TEST(Projections, SeeAHeadThatIsSmallBesideOthers) {
  InputGenerator generator(2);
  Tensor64 expected = drawn(generator, {2, 6, 4});
  for (Index i = 0; i < 24; ++i) expected[i] *= 1e8;
  Tensor64 wrong = expected;
  for (Index i = 24; i < 48; ++i) wrong[i] *= 2;
  EXPECT_FALSE(alike(wrong, expected, expected, Grain::Whole));
  EXPECT_FALSE(alike(wrong, expected, expected, Grain::HeadsAndRanks));
}

TEST(Projections, ByHeadAndRankHaveAGroupForEach) {
  InputGenerator generator(3);
  const Tensor64 expected = drawn(generator, {3, 7, 4});
  const Layout layout(std::vector{4, 1, 2});
  EXPECT_EQ(projections_of(heads, layout, expected, expected, Grain::HeadsAndRanks).groups.size(), 9u);
  EXPECT_EQ(projections_of(heads, layout, expected, expected, Grain::Whole).groups.size(), 1u);
  const Output by_rank{"lse", {"rank", "row"}, 0};
  const Tensor64 one_each = drawn(generator, {6, 5});
  EXPECT_EQ(projections_of(by_rank, layout, one_each, one_each, Grain::HeadsAndRanks).groups.size(), 3u);
}

TEST(Projections, TellWhichEntriesAreNoNumbers) {
  InputGenerator generator(4);
  const Tensor64 expected = drawn(generator, {2, 3, 2});
  std::vector<Tensor64> all(5, expected);
  all[1][0] = nan;
  all[2][0] = infinity;
  all[3][0] = -infinity;
  all[4][0] = never_written();
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < all.size(); ++j)
      EXPECT_EQ(alike(all[i], all[j], expected, Grain::HeadsAndRanks), i == j) << i << " and " << j;
  }
}

TEST(Projections, AreKeptAsText) {
  Projections projections;
  for (const double sum : {0.0, 1.0, -1.0, 0.3, -12345.678, 1e-30, 3e38})
    projections.groups.push_back({{sum, -sum}, 0});
  projections.groups.push_back({{0.7, 0.1}, 5});
  const Projections back = projections_from(to_text(projections));
  ASSERT_EQ(back.groups.size(), projections.groups.size());
  for (std::size_t i = 0; i < back.groups.size(); ++i) {
    EXPECT_EQ(back.groups[i].others, projections.groups[i].others);
    for (int s = 0; s < 2; ++s) {
      const double sum = projections.groups[i].sums[s];
      EXPECT_NEAR(back.groups[i].sums[s], sum, std::ldexp(std::abs(sum), -21)) << sum;
    }
  }
  EXPECT_THROW(projections_from("AAAAAAAAA"), std::invalid_argument);
  EXPECT_THROW(projections_from("AAAAA AAAA"), std::invalid_argument);
}

/// What a student answers on two inputs of a task whose right answer is {1, 2, 3}, on both.
struct Answers {
  std::vector<double> first, second;
};

/// Two inputs of the task, whose forms "a", "a.2", "b" answer as these do.
class Recorded {
 public:
  Recorded() {
    add("a", {{2, 2, 3}, {1, 2, 3}});
    add("a.2", {{2, 2, 4}, {1, 2, 3}});
    add("b", {{2, 2, 3}, {1, 2, 5}});
  }

  void add(const std::string& form, const Answers& answers) {
    outcomes.forms.push_back(form);
    for (const auto& [input, answer] :
         {std::pair{"first", &answers.first}, std::pair{"second", &answers.second}}) {
      RecordedOutcomes::Known& known = outcomes.examples["1"][input];
      known.what = input;
      const Tensor64 right({3}, {1, 2, 3}), wrong({3}, std::vector<double>(*answer));
      if (wrong.values() == right.values()) continue;
      known.by_form[form] =
          RecordedOutcome{"returned", {{"o", projections_of({"o", {"row"}}, {}, wrong, right, known.grain)}}};
    }
  }

  std::set<std::string> names(const Answers& answers) const {
    LessonJudge judge{"99", {task_of_o({1, 2, 3}, {{"forgotten", {0, 0, 0}}})}};
    for (const char* id : {"a", "b"}) judge.tasks[0].descriptions[id] = id;
    name_by_outcomes(judge, outcomes);
    Sitting sitting(judge.tasks[0]);
    sitting.play(example("first"), returned(only_o(answers.first)));
    sitting.play(example("second"), returned(only_o(answers.second)));
    return sitting.verdict().mistakes;
  }

  static Example example(const std::string& digits) {
    Example made{digits, {}};
    made.fingerprint = digits;
    return made;
  }

  RecordedOutcomes outcomes;
};

using Names = std::set<std::string>;

TEST(NamesByOutcomes, AreEarnedByTheOnlyMistakeThatAgreesWithAllThatWasPlayed) {
  const Recorded recorded;
  EXPECT_EQ(recorded.names({{2, 2, 3}, {1, 2, 3}}), Names{"a"});
  EXPECT_EQ(recorded.names({{2, 2, 4}, {1, 2, 3}}), Names{"a"}) << "in another form";
  EXPECT_EQ(recorded.names({{2, 2, 3}, {1, 2, 5}}), Names{"b"});
  EXPECT_EQ(recorded.names({{2, 2, 3}, {1, 2, 4}}), Names{}) << "wrong elsewhere, too";
  EXPECT_EQ(recorded.names({{1, 2, 3}, {1, 2, 5}}), Names{}) << "right where the mistake is wrong";
  EXPECT_EQ(recorded.names({{0, 0, 0}, {0, 0, 0}}), Names{}) << "what the judge computes is not looked at";
}

TEST(NamesByOutcomes, AreEarnedByNobodyWhereTwoMistakesAgree) {
  Recorded recorded;
  recorded.add("b.2", {{2, 2, 3}, {1, 2, 3}});
  EXPECT_EQ(recorded.names({{2, 2, 3}, {1, 2, 3}}), Names{});
}

TEST(NamesByOutcomes, NeedTheInputsThatWereRecorded) {
  Recorded recorded;
  auto& examples = recorded.outcomes.examples["1"];
  examples["another"] = examples.extract("second").mapped();
  EXPECT_EQ(recorded.names({{2, 2, 3}, {1, 2, 3}}), Names{});
}

TEST(NamesByOutcomes, TakeWhatIsNotKnownForNoEvidence) {
  Recorded recorded;
  recorded.outcomes.examples["1"]["second"].by_form["a"] = std::nullopt;
  EXPECT_EQ(recorded.names({{2, 2, 3}, {7, 7, 7}}), Names{"a"});
}

TEST(NamesByOutcomes, AreOfOneOutputWhereTheRestIsNotKnown) {
  Recorded recorded;
  recorded.outcomes.examples["1"]["second"].by_form["a"] = std::nullopt;
  LessonJudge judge{"99", {task_of_o({1, 2, 3}, {})}};
  name_by_outcomes(judge, recorded.outcomes);
  Sitting sitting(judge.tasks[0]);
  sitting.play(Recorded::example("second"), returned(only_o({7, 7, 7})));
  EXPECT_EQ(judge.tasks[0].mistakes[0].outcomes->likeness(sitting.played.front(), "o"), Likeness::Equals);
}

TEST(NamesByOutcomes, AreNotEarnedByAnEndingAlone) {
  Recorded recorded;
  recorded.outcomes.examples["1"]["first"].by_form = {{"a", RecordedOutcome{"threw", {}}}};
  LessonJudge judge{"99", {task_of_o({1, 2, 3}, {})}};
  judge.tasks[0].descriptions["a"] = "a";
  name_by_outcomes(judge, recorded.outcomes);
  Outcome threw;
  threw.ending = Outcome::Ending::Threw;
  threw.text = "threw: of this or that";
  Sitting sitting(judge.tasks[0]);
  sitting.play(Recorded::example("first"), threw);
  EXPECT_EQ(sitting.verdict().mistakes, Names{});
}

TEST(NamesByOutcomes, GoByTheTypeOfWhatWasThrownWhereBothAreKnown) {
  Recorded recorded;
  const auto likeness = [&](const char* ending, const char* thrown) {
    recorded.outcomes.examples["1"]["first"].by_form = {{"a", RecordedOutcome{ending, {}}}};
    LessonJudge judge{"99", {task_of_o({1, 2, 3}, {})}};
    name_by_outcomes(judge, recorded.outcomes);
    Outcome threw;
    threw.ending = Outcome::Ending::Threw;
    threw.thrown = thrown;
    Sitting sitting(judge.tasks[0]);
    sitting.play(Recorded::example("first"), threw);
    return judge.tasks[0].mistakes.at(0).outcomes->likeness(sitting.played.front());
  };
  EXPECT_EQ(likeness("threw std::out_of_range", "std::out_of_range"), Likeness::Equals);
  EXPECT_EQ(likeness("threw std::out_of_range", "std::invalid_argument"), Likeness::Differs);
  EXPECT_EQ(likeness("threw std::out_of_range", ""), Likeness::Equals);
  EXPECT_EQ(likeness("threw", "std::invalid_argument"), Likeness::Equals);
  EXPECT_EQ(likeness("deadlock", "std::invalid_argument"), Likeness::Differs);
}

TEST(Fingerprint, ChangesWithWhateverAnExampleIsMadeOf) {
  const Task task = task_of_o({1}, {});
  Example example{"some", {{"x", Tensor({2}, {1, 2})}}, {{"block", {3}}}, Layout(std::vector{1, 1})};
  const std::string digits = fingerprint(task, example);
  const auto differs = [&](auto change) {
    Example other = example;
    change(other);
    return fingerprint(task, other) != digits;
  };
  EXPECT_FALSE(differs([](Example& other) { other.what = "another"; }));
  EXPECT_TRUE(differs([](Example& other) { other.inputs["x"].values()[1] = std::nextafter(2.f, 3.f); }));
  EXPECT_TRUE(differs([](Example& other) { other.arguments["block"] = {4}; }));
  EXPECT_TRUE(differs([](Example& other) { other.layout = Layout(std::vector{2, 0}); }));
  EXPECT_TRUE(differs([](Example& other) { other.called_before = true; }));
}

TEST(OutcomesFile, ReadsWhatItHasWritten) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "outcomes.tsv";
  Recorded recorded;
  recorded.outcomes.examples["1"]["second"].by_form["a"] = std::nullopt;
  recorded.outcomes.examples["1"]["second"].by_form["a.2"] = RecordedOutcome{"deadlock", {}};
  write_outcomes(file, recorded.outcomes);
  const std::string text = read_text(file);
  const RecordedOutcomes back = read_outcomes(file);
  EXPECT_EQ(back.forms, (std::vector<std::string>{"a", "a.2", "b"}));
  const auto& second = back.examples.at("1").at("second").by_form;
  EXPECT_FALSE(second.at("a"));
  EXPECT_EQ(second.at("a.2")->ending, "deadlock");
  write_outcomes(file, back);
  EXPECT_EQ(read_text(file), text);
}

TEST(OutcomesFile, SaysWhatIsWrongWithItAndWhere) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "outcomes.tsv";
  const auto complaint = [&](const std::string& text) {
    write_text(file, text);
    try {
      read_outcomes(file);
    } catch (const std::runtime_error& error) {
      return std::string(error.what()).substr(file.string().size());
    }
    return std::string();
  };
  EXPECT_EQ(complaint("example\t1\n"), ":1: expected the line of all forms");
  EXPECT_EQ(complaint("forms\ta\na\t?\n"), ":2: expected forms, and what came of them");
  EXPECT_NE(complaint("forms\ta\nexample\t1\t1\n").find(":2: expected the words example"), std::string::npos);
  EXPECT_NE(
      complaint("forms\ta\nexample\t1\t1\t00\twhole\tx\na\to=AA\n").find(":3: 'AA' holds no projections"),
      std::string::npos);
}

TEST(OutcomesFile, IsNotWrittenWhereItWouldBeTooLarge) {
  const TemporaryFolder folder;
  RecordedOutcomes outcomes;
  for (int i = 0; i < 10'000; ++i) outcomes.examples["1"][std::to_string(i)].what = "an ordinary input";
  EXPECT_THROW(write_outcomes(folder.path() / "outcomes.tsv", outcomes), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "outcomes.tsv"));
}

}  // namespace

}  // namespace course
