#include <gtest/gtest.h>

#include <fstream>

#include "../demo/running.hpp"
#include "protocol/errors.hpp"
#include "tensor/npy.hpp"
#include "text/utf8.hpp"
#include "text/wrapped.hpp"
#include "train/channel.hpp"
#include "train/checkpoints.hpp"
#include "train/curve.hpp"
#include "train/own_pages.hpp"
#include "train/report.hpp"
#include "train/sizes.hpp"

/// What can be tested without starting ranks.
namespace course::train {
namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// What the call is refused with.
template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(OwnPages, AreProse) {
  EXPECT_EQ(prose_of("# A ring\n\nSee [the page](../a/b.md#c), `send`.\n\n\n```cpp\nint x;\n```\nAfter.\n"),
            "# A ring\n\nSee the page, `send`.\n\nAfter.\n");
  EXPECT_EQ(
      prose_of("a\n| b | c |\n| - | - |\n![a picture](x.svg)\n<!-- in a\nhandout -->\n<img src='x'>\nd\n"),
      "a\nd\n");
  EXPECT_EQ(prose_of("a\n$$x = y$$\nb\n$$\nx\n$$\nc\n"), "a\nb\nc\n");
}

TEST(OwnPages, AreThoseOfThisCourse) {
  const std::string pages = own_pages(program::Checkout::find());
  EXPECT_GT(pages.size(), 100000u);
  EXPECT_TRUE(is_utf8(pages));
  EXPECT_FALSE(has(pages, "```"));
}

TEST(Sample, IsShownAsUtf8OrInHexadecimal) {
  EXPECT_EQ(escaped_utf8("gr\xC3\xBC\xC3\x9F\n\tx"), "gr\xC3\xBC\xC3\x9F\n\tx");
  EXPECT_EQ(escaped_utf8("a\xC3z\xFF\x1B[2J\r"), "a\\xC3z\\xFF\\x1B[2J\\x0D");
  EXPECT_EQ(escaped_utf8(std::string("a\0b", 3)), "a\\x00b");
}

// ---- sizes ----

TEST(Sizes, AreThoseOfTheModelsThatTheCourseHasMeasured) {
  EXPECT_EQ(training::weight_count(shape_of({.hidden = 64, .heads = 4, .layers = 2})), 131392);
  EXPECT_EQ(training::weight_count(shape_of({})), 381600);
  const Cost one = cost_of({.ranks = 1}, 2), two = cost_of({.ranks = 2}, 2), eight = cost_of({.ranks = 8}, 2);
  EXPECT_DOUBLE_EQ(one.seconds, 2 * two.seconds);
  EXPECT_DOUBLE_EQ(two.seconds, eight.seconds) << "there are two cores";
}

TEST(Sizes, ThatTakeAnHourAreRefusedWithTheArithmetic) {
  EXPECT_EQ(refusal([] { require_within_an_hour({}, 0, 2); }), "");
  const std::string long_context = refusal([] { require_within_an_hour({.context = 65536}, 0, 2); });
  EXPECT_TRUE(has(long_context, "--context 65536 on 2 ranks: 8.8e+12 operations a step, about 2 min"))
      << long_context;
  EXPECT_TRUE(has(long_context, "expected less than an hour: --steps ")) << long_context;
  EXPECT_EQ(refusal([] { require_within_an_hour({.context = 65536, .steps = 1000}, 995, 2); }), "")
      << "of a run that goes on only what is left counts";
  const std::string huge = refusal([] { require_within_an_hour({.context = 400000, .hidden = 4096}, 0, 2); });
  EXPECT_TRUE(has(huge, "expected less than an hour: smaller sizes")) << huge;
}

TEST(Sizes, HaveToFitEachOther) {
  EXPECT_EQ(refusal([] { require_shape({}); }), "");
  EXPECT_EQ(refusal([] { require_shape({.hidden = 96, .heads = 5}); }),
            "--heads 5: does not divide --hidden 96");
  EXPECT_EQ(refusal([] { require_shape({.heads = 0}); }), "--heads 0: expected at least 1");
  EXPECT_TRUE(has(refusal([] { require_shape({.hidden = 96, .heads = 32}); }),
                  "head_dim is 3, expected an even number"));
  EXPECT_TRUE(has(refusal([] { require_shape({.ranks = 8, .context = 4}); }),
                  "--ranks 8: expected at most --context 4"));
}

TEST(Sizes, OfATextAreThoseOfItsTrainingPart) {
  EXPECT_EQ(refusal([] { require_long_enough(1000, "a.txt", 899); }), "");
  EXPECT_EQ(refusal([] { require_long_enough(1000, "a.txt", 900); }),
            "a.txt: has 1000 bytes, of which the first 900 are trained on; expected more than --context 900");
  EXPECT_EQ(refusal([] { require_long_enough(0, "a.txt", 1); }), "a.txt: is empty, expected a text");
}

TEST(Sizes, OfTheHeldOutPartKeepItsLossRare) {
  EXPECT_EQ(steps_between_evaluations(10000, 1000), 100);
  EXPECT_EQ(steps_between_evaluations(1000000, 1000), 700) << "100 windows are 33 steps, a twentieth of 667";
}

// ---- what ranks and launcher tell each other ----

TEST(Channel, BringsAnOrderAsItIs) {
  const TestFolder folder;
  Order order{.settings = {.text = "a b", .ranks = 3, .layout = "striped", .seed = 1ull << 62, .mine = true}};
  order.ring_forward = "f";
  order.from = "x/y";
  order.last = 12;
  write_order(folder.path(), order);
  const Order read = read_order(folder.path());
  EXPECT_EQ(read.settings.text, order.settings.text);
  EXPECT_EQ(read.settings.seed, order.settings.seed);
  EXPECT_EQ(read.settings.layout, "striped");
  EXPECT_TRUE(read.settings.mine);
  EXPECT_EQ(read.ring_forward, "f");
  EXPECT_EQ(read.from, order.from);
  EXPECT_EQ(read.last, 12);
}

TEST(Channel, BringsStepsOnceAndWhole) {
  const TestFolder folder;
  StepReader reader(folder.path());
  EXPECT_TRUE(reader.read().empty());
  const std::string first = to_line({.step = 0, .loss = 5.5, .norm = 1, .held_out = {}, .seconds = 0.1}),
                    second = to_line(
                        {.step = 1, .loss = 5.25, .norm = INFINITY, .held_out = INFINITY, .seconds = 0.1});
  std::ofstream file(steps_file(folder.path()));
  file << first << "\n" << second.substr(0, 5) << std::flush;
  ASSERT_EQ(reader.read().size(), 1u) << "of the second only a part is there";
  file << second.substr(5) << "\n" << std::flush;
  const std::vector<StepNews> news = reader.read();
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].loss, 5.25);
  EXPECT_TRUE(std::isinf(news[0].norm)) << "JSON has no infinity";
  EXPECT_TRUE(std::isinf(news[0].held_out.value()));
  EXPECT_EQ(step_of_line(to_line({.step = 2, .held_out = 5.0})).held_out, 5.0);
  EXPECT_EQ(step_of_line(to_line({.step = 2})).held_out, std::nullopt);
}

// ---- checkpoints ----

/// A checkpoint of three numbers each, written by hand.
void make_checkpoint(const fs::path& folder, const std::string& name) {
  fs::create_directories(folder / name);
  for (const char* file : {"weights.npy", "m.npy", "v.npy"}) write_npy(folder / name / file, Tensor({3}));
  std::ofstream(folder / name / "state.json") << "{\"step\": 1}";
}

TEST(Checkpoints, TheNewestWholeOneIsTaken) {
  const TestFolder folder;
  for (const char* name :
       {"step-000100", "step-000200", "step-1000000", "step-000300.part", "step-x", "step-12"})
    make_checkpoint(folder.path(), name);
  EXPECT_EQ(checkpoint_name(100), "step-000100");
  EXPECT_EQ(newest_whole(folder.path()).step, 1000000);
  fs::resize_file(folder / "step-1000000/m.npy", 130);
  EXPECT_EQ(newest_whole(folder.path()).step, 200);
  EXPECT_EQ(checkpoints_in(folder.path()).size(), 3u) << "one that is being written is none";
  fs::remove(folder / "step-000200/state.json");
  std::ofstream(folder / "step-000100/state.json") << "{\"step\"";
  const std::string why = refusal([&] { newest_whole(folder.path()); });
  EXPECT_TRUE(has(why, "no checkpoint in it is whole: ")) << why;
  EXPECT_TRUE(has(why, "step-1000000/m.npy: is truncated")) << "what is wrong with the newest: " << why;
}

TEST(Checkpoints, NewerThanTheOneThatARunGoesOnFromAreRemoved) {
  const TestFolder folder;
  for (const char* name : {"step-000100", "step-000200", "step-000300"}) make_checkpoint(folder.path(), name);
  fs::remove(folder / "step-000300/v.npy");
  std::ofstream(folder / "step-notes.txt") << "mine";
  remove_newer_than(newest_whole(folder.path()));
  EXPECT_FALSE(fs::exists(folder / "step-000300")) << "what a run that comes to step 300 would not write";
  for (const char* name : {"step-000100", "step-000200", "step-notes.txt"})
    EXPECT_TRUE(fs::exists(folder / name)) << name;
}

TEST(Checkpoints, HaveToBeThere) {
  const TestFolder folder;
  EXPECT_TRUE(has(refusal([&] { newest_whole(folder.path()); }),
                  ": has no checkpoint, expected the --out of an earlier"));
  EXPECT_TRUE(has(refusal([&] { newest_whole(folder / "none"); }), "none: is no folder, expected the --out"));
}

// ---- what is shown ----

std::vector<StepNews> falling(Index count) {
  std::vector<StepNews> steps;
  for (Index step = 0; step < count; ++step)
    steps.push_back({.step = step,
                     .loss = 5.5 - 3.0 * static_cast<double>(step) / static_cast<double>(count),
                     .norm = 1});
  return steps;
}

TEST(Curves, ShowWhereTheLossBeginsAndEnds) {
  Curve curve{.steps = falling(300)};
  curve.steps.back().held_out = 2.6;
  const std::string text = terminal_curve(curve, 60, true);
  EXPECT_TRUE(has(text, "  5.500 │••")) << text;
  EXPECT_TRUE(has(text, "step 0")) << text;
  EXPECT_TRUE(has(text, "o on the held-out text")) << text;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    EXPECT_LE(columns_of(text.substr(at, end - at)), 60u);
  EXPECT_TRUE(is_utf8(text));
  EXPECT_FALSE(has(terminal_curve(curve, 60, false), "•"))
      << "some terminals have no other characters than ASCII";
}

TEST(Curves, OfOneStepOrOfEqualLossesAreDrawnToo) {
  EXPECT_FALSE(has(terminal_curve({.steps = falling(1)}, 80, true), "nan"));
  std::vector<StepNews> same = falling(5);
  for (StepNews& step : same) step.loss = 0;
  EXPECT_FALSE(has(terminal_curve({.steps = same}, 80, true), "nan"));
  const std::string svg = svg_curve({.title = "a < b", .steps = falling(1)});
  EXPECT_FALSE(has(svg, "nan"));
  EXPECT_TRUE(has(svg, "a &lt; b"));
}

TEST(Curves, LeaveOutAHeldOutLossThatIsNotFinite) {
  Curve curve{.steps = falling(30)};
  curve.steps[9].held_out = INFINITY;
  for (const std::string& drawn : {terminal_curve(curve, 80, true), svg_curve(curve)}) {
    EXPECT_FALSE(has(drawn, "inf")) << drawn;
    EXPECT_FALSE(has(drawn, "nan")) << drawn;
  }
}

TEST(Curves, HaveTheDifferencesBelowThem) {
  const std::string alone = svg_curve({.steps = falling(30)});
  EXPECT_FALSE(has(alone, "from one rank's"));
  const std::string both =
      svg_curve({.steps = falling(30), .differences = {{0, 0, 0}, {1, 1e-8, 0}}, .allowed = 2e-6});
  EXPECT_TRUE(has(both, "How far these losses are from one rank's"));
  EXPECT_TRUE(has(both, "step 1: 1.0e-08"));
}

TEST(Comparison, GoesAsFarAsBothRunsGo) {
  std::vector<StepNews> many = falling(30), one = many;
  one.resize(20);
  many[7].loss += 1e-5;
  many[8].norm = 1.5;
  const Compared all = compared(many, one);
  EXPECT_EQ(all.steps.size(), 20u);
  EXPECT_EQ(all.worst().step, 7);
  EXPECT_DOUBLE_EQ(all.steps[8].of_norm, 0.5);
  EXPECT_FALSE(all.agree());
  many[7].loss -= 1e-5;
  EXPECT_FALSE(compared(many, one).agree()) << "a norm alone, as where all gradients have a factor";
  many[8].norm = 1 + 5e-5;
  EXPECT_TRUE(compared(many, one).agree());
}

TEST(Comparison, AllowsMoreInMoreSteps) {
  std::vector<StepNews> many = falling(40), one = many;
  EXPECT_DOUBLE_EQ(compared(many, one).allowed(), 4e-6);
  many[30].loss += 3e-6;
  many[31].norm = 1 + 1.5e-4;
  EXPECT_TRUE(compared(many, one).agree());
  many.resize(20);
  one.resize(20);
  many[3].loss += 3e-6;
  EXPECT_FALSE(compared(many, one).agree());
}

}  // namespace
}  // namespace course::train
