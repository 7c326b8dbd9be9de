#include "lab/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "course/workspace/judging.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "lab/report.hpp"
#include "protocol/errors.hpp"
#include "ring/shards.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"
#include "tensor/npy.hpp"
#include "text/text_file.hpp"
#include "timed/output_folder.hpp"
#include "timed/packed_row.hpp"

namespace course::lab {

namespace {

namespace fs = std::filesystem;
using timed::plural;

constexpr const char* trace_command = "./course trace";

/// Whether to run the lesson's forward ring, on more than the judge's small inputs: too slow on simulated
/// GPUs.
bool is_ring(const program::LessonChoice& choice) {
  return !choice.lesson->ring.empty() && choice.task.empty() && !choice.lesson->needs_gpu();
}

/// The last task is the lesson's goal.
std::string task_of(const program::LessonChoice& choice) {
  return choice.task.empty() ? choice.lesson->tasks.back().id : choice.task;
}

int ranks_of(const program::LessonChoice& choice, const std::optional<int>& asked) {
  const LessonInfo& lesson = *choice.lesson;
  const bool one_rank = !is_ring(choice) && lesson.task(task_of(choice)).ranks.empty();
  const int ranks = asked.value_or(one_rank ? 1 : 4);
  if (one_rank && ranks != 1) {
    const std::string what = choice.task.empty() ? "" : fmt::format("task {} of ", choice.task);
    throw UsageError(fmt::format("--ranks {}: {}lesson {} runs on one rank", ranks, what, lesson.id));
  }
  return ranks;
}

/// Whether the ring may be given any layout: then it is a balanced one.
bool takes_layout(const LessonInfo& lesson) {
  return lesson.role == Role::RingLayout;
}

/// Four heads of queries to one of keys.
void share_keys(Case& ring) {
  for (auto& inputs : ring.inputs) {
    for (const char* name : {"k", "v"}) {
      Tensor& tensor = inputs.at(name);
      tensor = slice(tensor, 0, 0, tensor.extent(0) / 4);
    }
  }
}

/// A ring on as many tokens as the demo's real data; that of a grid goes between groups of two ranks, or of
/// all if they are odd.
Case ring_case(const LessonInfo& lesson, int ranks) {
  constexpr int tokens = 512;
  constexpr Index heads = 12, head_dim = 32;
  const Layout layout =
      takes_layout(lesson) ? Layout::zigzag(even_shards(tokens, 2 * ranks)) : even_shards(tokens, ranks);
  Case made = timed::generated_case(lesson.ring, layout.shard_tokens(), heads, head_dim);
  made.arguments = timed::ring_arguments(layout);
  if (lesson.role == Role::Grids) made.arguments["ulysses"] = {ranks % 2 == 0 ? 2.0 : ranks};
  const bool packed = lesson.role == Role::RingPacked;
  if (packed || lesson.role == Role::RingGrouped) share_keys(made);
  // A window that reaches just into the shard before: most blocks make one hop and stop.
  if (packed) timed::add_row(made, {.starts = {0, tokens}, .window = tokens / ranks + 1, .causal = true});
  return made;
}

/// What the lesson's judge draws for a task.
Case drawn_case(const program::Checkout& checkout, const std::string& judge, const std::string& task,
                int ranks) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "case";
  const Captured said = capture(
      {.argv = {checkout.build() / "bin" / judge, "--registry", checkout.root / "lessons" / "registry.json",
                "--write-case", folder, "--task", task, "--ranks", std::to_string(ranks)}});
  if (said.exit.code != 0) throw std::runtime_error(judge + " has drawn no input: " + said.output);
  const CaseManifest manifest = read_manifest(folder);
  Case drawn{manifest};
  for (int rank = 0; rank < manifest.ranks; ++rank) {
    auto& own = drawn.inputs.emplace_back();
    for (const std::string& name : manifest.inputs)
      own.emplace(name, read_npy<float>(input_folder(folder, rank) / (name + ".npy")));
  }
  return drawn;
}

std::vector<Timeline> timelines(const Traced& traced) {
  return {{"ranks", timed::traces_of(traced.call.ranks, traced.on_gpu)}};
}

int ranks_in(const Traced& traced) {
  return static_cast<int>(traced.call.ranks.size());
}

std::string heading(const Traced& traced) {
  return fmt::format("Lesson {}, {}, on {}: {}", traced.code.lesson, traced.what,
                     plural(ranks_in(traced), "rank"), traced.code.whose());
}

/// What to do where there is nobody's block computation.
std::string without_blocks(const LessonInfo& lesson) {
  const auto ring =
      std::ranges::find_if(lesson.tasks, [](const TaskInfo& task) { return !task.ranks.empty(); });
  return ring == lesson.tasks.end()
             ? ""
             : fmt::format("; ./course trace {}.{} does without: it plays one of that task's tests",
                           lesson.id, ring->id);
}

}  // namespace

std::string trace_text(const Traced& traced, const timed::Page& page) {
  std::string text = heading(traced) + "\n";
  if (traced.blocks) {
    text +=
        fmt::format("  blocks computed by lesson {}: {}\n", traced.blocks->lesson, traced.blocks->whose());
  }
  if (traced.on_gpu) {
    for (const std::string& line : lines_of(timed::model_text())) text += "  " + line + "\n";
  } else {
    text += fmt::format("  the fastest of {}; a transfer includes waiting for others\n",
                        plural(traced.call.calls, "run"));
  }
  const int cores = traced.call.ranks.at(0).cores;
  if (!traced.on_gpu && ranks_in(traced) > cores) {
    text += fmt::format("  {} on {}: they take turns, and most of a transfer or wait is such waiting\n",
                        plural(ranks_in(traced), "rank"), plural(cores, "core"));
  }
  return program::fitted(text) + "\n" +
         terminal_timelines(with_joined_tiles(timelines(traced)), page.columns, page.colour);
}

std::string trace_json(const Traced& traced, const std::vector<fs::path>& files) {
  nlohmann::ordered_json json{
      {"lesson", traced.code.lesson}, {"function", traced.what}, {"code", traced.code.subject}};
  if (traced.blocks) json["blocks"] = traced.blocks->subject;
  json["ranks"] = ranks_in(traced);
  json["seconds"] = traced.call.seconds;
  json["per_rank"] = timed::per_rank_json(traced.call.ranks);
  json["files"] = files;
  return json.dump(2) + "\n";
}

int trace(const program::Checkout& checkout, const TraceOptions& options) {
  const program::LessonChoice choice = program::choose_lesson(checkout.lessons, options.lesson);
  const LessonInfo& lesson = *choice.lesson;
  const int ranks = ranks_of(choice, options.ranks);
  if (const std::string obstacle = checkout.obstacle(lesson); !obstacle.empty())
    throw Unavailable("lesson " + lesson.id + " cannot be traced: " + obstacle);
  if (lesson.needs_gpu() && !lesson.needs_mpi()) {
    throw Unavailable(
        "lesson " + lesson.id +
        " cannot be traced: the simulated GPU has no time, and on one GPU nothing is sent beside "
        "its kernels");
  }
  const program::Progress progress = read_progress(checkout);
  const auto runnable = [&](const LessonInfo& one) {
    return timed::code_of(checkout, one, runnable_subject(checkout, one, progress, trace_command));
  };
  if (!options.block.empty() && !is_ring(choice))
    throw UsageError("--block " + options.block + ": lesson " + options.lesson +
                     " is given no blocks; expected a forward ring on cores, such as 05 or 08");
  Traced traced{.what = lesson.name,
                .code = options.mine ? timed::code_of(checkout, lesson, "student") : runnable(lesson),
                .blocks = {},
                .call = {},
                .on_gpu = lesson.needs_gpu()};
  std::vector<timed::Code> codes{traced.code};
  const std::string judge = "judge_" + lesson.tag();
  if (is_ring(choice)) {
    try {
      traced.blocks = runnable(held_lesson(checkout, block_role(options.block), trace_command));
    } catch (const Unavailable& error) {
      throw Unavailable(error.what() + without_blocks(lesson));
    }
    codes.push_back(*traced.blocks);
    if (takes_layout(lesson)) traced.what += ", zigzag shards";
  } else {
    traced.what += ", task " + task_of(choice);
  }
  timed::build(checkout, "the trace of lesson " + lesson.id, codes,
               is_ring(choice) ? std::vector<std::string>{} : std::vector{judge, lesson.player()});

  timed::OutputFolder folder(options.out.empty() ? checkout.state() / "trace" / lesson.tag() : options.out);
  Case played =
      is_ring(choice) ? ring_case(lesson, ranks) : drawn_case(checkout, judge, task_of(choice), ranks);
  played.subject = traced.code.library;
  LauncherOptions launch;
  launch.quiet_limit_s = 60;
  if (traced.on_gpu) launch.player = {program::built_in_player(checkout.build(), lesson)};
  launch.timed =
      TimedPlay{traced.on_gpu ? 1 : 8, false, traced.blocks ? traced.blocks->library : fs::path(), {}};
  traced.call = timed::call_of(timed::play({played}, launch).at(0));
  folder.add("timeline.svg", svg_timelines(with_joined_tiles(timelines(traced)), heading(traced),
                                           traced.on_gpu ? timed::model_note() : ""));
  folder.add("trace.json", chrome_traces(timelines(traced)));
  const std::vector<fs::path> files = folder.commit();
  fmt::print("{}", options.json ? trace_json(traced, files)
                                : trace_text(traced, timed::page_of_stdout()) + written(files));
  return succeeded;
}

}  // namespace course::lab
