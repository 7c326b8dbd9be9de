#include <malloc.h>

#include <cstdio>
#include <stdexcept>
#include <thread>

#include "player/mpi_stage.hpp"
#include "player/own_process.hpp"
#include "player/played_case.hpp"
#include "protocol/timing.hpp"
#include "train/ranks/training.hpp"

/// A player that plays one case, which is a run: its first argument is the folder that has the order
/// (train/channel.hpp), the others are a player's.
namespace course::train {

namespace {

/// What whoever launched this reads of a case that is timed.
void report_end(const LoadedCase& run, double begin_s) {
  const std::filesystem::path folder = output_folder(run.folder, run.rank);
  std::filesystem::create_directories(folder);
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  write_timing(
      folder, {.calls = {{begin_s, now_s()}}, .shown = 0, .spans = {}, .host_id = host_id(), .cores = cores});
  write_outputs(folder, {}, {});
}

/// A step takes and frees the same megabytes as the one before it. Given back to the system in between, they
/// would cost a page fault each 4 KiB.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int most = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, most);
  mallopt(M_TRIM_THRESHOLD, most);
#endif
}

int train_on(const std::filesystem::path& folder, const PlayerOptions& options, Stage& stage) {
  RankStatus& page = enter_page(options.status, stage.world_rank());
  const LoadedCase run = load_case(options.cases.at(0).folder, stage, true);
  stage.barrier();
  report_crashes(page);
  keep_stderr(options.status);
  break_seal(options.status);
  begin_case(page, 0);
  set_phase(page, Phase::Computing);
  const double begin_s = now_s();
  keep_freed_memory();
  try {
    const std::shared_ptr<const void> comm = stage.enter(run.rank);
    train_as_ordered(folder, *static_cast<const MPI_Comm*>(comm.get()), page);
    set_phase(page, Phase::Finished);
    report_end(run, begin_s);
  } catch (const std::exception& error) {
    set_text(page, error.what());
    set_phase(page, Phase::Threw);
    // Others may wait for this rank, and are ended with it once they have had the time to say what they know.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return 1;
  }
  stage.barrier();
  set_phase(page, Phase::Done);
  return 0;
}

int play_run(int argc, char** argv, Stage& stage) {
  try {
    if (argc < 2) throw std::invalid_argument("expected the folder of a run, and a player's arguments");
    return train_on(argv[1], parse_player_options(argc - 1, argv + 1), stage);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "player: %s\n", error.what());
    return 2;
  }
}

}  // namespace

}  // namespace course::train

int main(int argc, char** argv) {
  return course::play_under_mpi(
      argc, argv, [] { return std::make_unique<course::MpiStage>(); }, course::train::play_run);
}
