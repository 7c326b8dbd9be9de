#include <sys/prctl.h>

#include <cstdio>
#include <optional>

#include "player/graded_blocks.hpp"
#include "player/memory.hpp"
#include "player/own_page.hpp"
#include "player/played_case.hpp"
#include "player/stage.hpp"

namespace course {

namespace {

void play_case(const Library& subject, LoadedCase& loaded, Stage& stage, RankStatus& page,
               MemoryMeter& memory) {
  const std::shared_ptr<const void> communicator = stage.enter(loaded.rank);
  if (loaded.rank >= 0) {
    GradedBlocks blocks(stage.compute_observer());
    Call call(std::move(loaded.inputs), loaded.manifest.arguments, communicator.get(), blocks);
    const std::int64_t before = memory.reset();
    set_phase(page, Phase::Computing);
    stage.begin_watching(communicator.get(), Watching::Graded, page);
    RankReport report = call_function(subject, loaded.manifest.function, call);
    if (report.ending != "finished") set_text(page, report.what);
    set_phase(page, report.ending == "finished" ? Phase::Finished : Phase::Threw);
    stage.end_watching(report);
    if (before >= 0) report.peak_bytes = MemoryMeter::peak() - before;
    if (std::optional<Tensor> log = blocks.log())
      call.output(block_log::output, log->shape()) = *std::move(log);
    write_outputs(output_folder(loaded.folder, loaded.rank), call.outputs(), std::move(report));
  }
  stage.barrier();
}

void play_graded(const PlayerOptions& options, std::vector<LoadedCase> cases, Stage& stage, RankStatus& page,
                 MemoryMeter& memory) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Library& subject = Library::at(options.cases[i].subject);
    // In this order: a rank that is not yet in the case must never look as if it were done with it.
    set_phase(page, Phase::Starting);
    page.case_index = static_cast<std::int32_t>(i);
    play_case(subject, cases[i], stage, page, memory);
  }
  stage.barrier();
}

/// A rank that cannot go on tells those who watch, or else everybody. Returns the exit code.
int play_timed_or_tell(const PlayerOptions& options, std::vector<LoadedCase> cases, Stage& stage,
                       RankStatus& page) {
  try {
    play_timed(options, std::move(cases), stage, page);
    set_phase(page, Phase::Done);
    return 0;
  } catch (const std::exception& error) {
    set_text(page, error.what());
    set_phase(page, Phase::Threw);
    if (options.status.empty())
      std::fprintf(stderr, "player: rank %d threw: %s\n", stage.world_rank(), error.what());
    return 1;
  }
}

}  // namespace

int play(int argc, char** argv, Stage& stage) {
  try {
    const PlayerOptions options = parse_player_options(argc, argv);
    RankStatus& page = enter_page(options.status, stage.world_rank());
    const bool keep_inputs = options.keep_inputs || options.timed;
    std::vector<LoadedCase> cases;
    for (const PlannedCase& planned : options.cases)
      cases.push_back(load_case(planned.folder, stage, keep_inputs));
    MemoryMeter memory;
    // Nobody of the same user, such as another rank's code, may look into this process; a debugger may.
    if (!keep_inputs) prctl(PR_SET_DUMPABLE, 0);
    stage.barrier();
    report_crashes(page);
    if (options.timed) return play_timed_or_tell(options, std::move(cases), stage, page);
    play_graded(options, std::move(cases), stage, page, memory);
    set_phase(page, Phase::Done);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "player: %s\n", error.what());
    return 2;
  }
}

}  // namespace course
