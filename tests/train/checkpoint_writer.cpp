// checkpoint_writer LESSON.so FOLDER kill N      saves step 1, then step 2, and dies at the N-th call that
// writes checkpoint_writer LESSON.so FOLDER limit BYTES saves step 1, then step 2 with files of so many bytes
// at most checkpoint_writer LESSON.so FOLDER load        prints the step that the lesson's code reads, and a
// number of it
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>

#include "player/played_case.hpp"
#include "train/ranks/disk.hpp"
#include "training/lesson_code.hpp"

namespace {

using namespace course;

constexpr training::ModelShape shape{.vocabulary = 256, .hidden = 4, .heads = 1, .layers = 1, .ffn = 4};
const training::Facts facts{{"hidden", 4}};

/// Every number is that of the step.
training::TrainState state_at(Index step) {
  const std::vector<float> numbers(static_cast<std::size_t>(training::weight_count(shape)),
                                   static_cast<float>(step));
  return {step, numbers, numbers, numbers};
}

void limit_files(rlim_t bytes) {
  signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
}

/// Of disk_hook, which is preloaded.
void arm_hook(int calls) {
  reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "train_disk_hook_arm"))(calls);
}

int act(const training::Trainer& trainer, const std::string& folder, const std::string& what, int number) {
  const training::Files disk = train::real_disk();
  const bool kills = what == "kill";
  if (what == "load" || (kills && std::filesystem::exists(folder))) {
    const training::TrainState state = trainer.load_checkpoint(folder, facts, disk, MPI_COMM_WORLD);
    for (const auto* numbers : {&state.weights, &state.m, &state.v})
      for (const float one : *numbers)
        if (one != static_cast<float>(state.step)) throw std::runtime_error("numbers of another step");
    std::printf("%td\n", state.step);
    std::fflush(stdout);
    if (!kills) return 0;
    std::filesystem::remove_all(folder);
  }
  trainer.save_checkpoint(folder, state_at(1), facts, disk, MPI_COMM_WORLD);
  if (what == "limit") limit_files(static_cast<rlim_t>(number));
  if (kills) arm_hook(number);
  trainer.save_checkpoint(folder, state_at(2), facts, disk, MPI_COMM_WORLD);
  if (kills) arm_hook(-1);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  MPI_Init(&argc, &argv);
  int code = 1;
  try {
    const Library lesson(argv[1]);
    code = act(lesson.entry<decltype(course_trainer)>("course_trainer")(), argv[2], argv[3],
               argc > 4 ? std::atoi(argv[4]) : 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  MPI_Finalize();
  return code;
}
