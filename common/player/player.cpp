#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "lesson/not_implemented.hpp"
#include "player/adapter.hpp"
#include "player/memory.hpp"
#include "player/stage.hpp"
#include "tensor/npy.hpp"

namespace course {

namespace fs = std::filesystem;

namespace {

struct Options {
  fs::path subject;
  std::vector<fs::path> cases;
  fs::path status;
  bool keep_inputs = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--keep-inputs") {
      options.keep_inputs = true;
    } else if (argument == "--subject" && i + 1 < argc) {
      options.subject = argv[++i];
    } else if (argument == "--status" && i + 1 < argc) {
      options.status = argv[++i];
    } else if (argument.starts_with("-")) {
      throw std::invalid_argument("unknown option " + argument +
                                  "; usage: --subject LIB.so [--status FILE] [--keep-inputs] CASE...");
    } else {
      options.cases.emplace_back(argument);
    }
  }
  if (options.subject.empty() || options.cases.empty()) {
    throw std::invalid_argument("usage: --subject LIB.so [--status FILE] [--keep-inputs] CASE...");
  }
  return options;
}

RankStatus* own_status = nullptr;

/// The page of this process in the file that the judge reads.
RankStatus* map_status(const fs::path& path, int world_rank) {
  static RankStatus unwatched{};
  if (path.empty()) return &unwatched;
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) throw std::runtime_error("cannot open the status file " + path.string());
  const std::size_t bytes = (world_rank + 1) * sizeof(RankStatus);
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (pages == MAP_FAILED) throw std::runtime_error("cannot map the status file " + path.string());
  return static_cast<RankStatus*>(pages) + world_rank;
}

void on_crash(int signal) {
  own_status->signal = signal;
  own_status->phase = static_cast<std::uint32_t>(Phase::Crashed);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

/// A crash must find a stack to run on even when the stack is what overflowed.
void catch_crashes() {
  static std::vector<char> stack(64 * 1024);
  const stack_t alternate{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

void set_phase(Phase phase) {
  own_status->phase = static_cast<std::uint32_t>(phase);
}

struct LoadedCase {
  fs::path folder;
  CaseManifest manifest;
  int rank = -1;  ///< -1: this process has no part in the case
  std::map<std::string, Tensor> inputs;
};

LoadedCase load_case(const fs::path& folder, int world_rank, bool keep_inputs) {
  LoadedCase loaded{folder, read_manifest(folder), -1, {}};
  const std::vector<int>& players = loaded.manifest.world_ranks;
  const auto found = std::find(players.begin(), players.end(), world_rank);
  if (found == players.end()) return loaded;
  loaded.rank = static_cast<int>(found - players.begin());
  for (const std::string& name : loaded.manifest.inputs) {
    const fs::path file = input_folder(folder, loaded.rank) / (name + ".npy");
    loaded.inputs.emplace(name, read_npy<float>(file));
    if (!keep_inputs) fs::remove(file);
  }
  return loaded;
}

/// The submission. What is wrong with loading it is told in every case.
class Subject {
 public:
  explicit Subject(const fs::path& path) {
    void* library = dlopen(fs::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      wrong_ = std::string("cannot load the submission: ") + dlerror();
      return;
    }
    const auto find_adapter = reinterpret_cast<decltype(&course_adapter)>(dlsym(library, "course_adapter"));
    if (find_adapter == nullptr) {
      wrong_ = path.string() + " has no course_adapter";
    } else {
      adapter_ = &find_adapter();
    }
  }

  /// Throws std::runtime_error when there is none.
  const Adapter& adapter() const {
    if (adapter_ == nullptr) throw std::runtime_error(wrong_);
    return *adapter_;
  }

 private:
  const Adapter* adapter_ = nullptr;
  std::string wrong_;
};

/// Calls the function; what it throws goes into the report.
void call_function(const Subject& subject, const std::string& function, Call& call, RankReport& report) {
  try {
    const Adapter& adapter = subject.adapter();
    const auto found = adapter.find(function);
    if (found == adapter.end()) throw std::invalid_argument("the adapter has no function " + function);
    found->second(call);
    set_phase(Phase::Finished);
    return;
  } catch (const NotImplemented& error) {
    report.ending = "todo";
    report.what = error.what();
  } catch (const std::exception& error) {
    report.ending = "threw";
    report.what = error.what();
  } catch (...) {
    report.ending = "threw";
    report.what = "something that is not a std::exception";
  }
  std::snprintf(own_status->text, sizeof own_status->text, "%s", report.what.c_str());
  set_phase(Phase::Threw);
}

void write_outputs(const fs::path& folder, const Call& call, RankReport& report) {
  fs::create_directories(folder);
  if (report.ending == "finished") {
    for (const auto& [name, tensor] : call.outputs()) {
      write_npy(folder / (name + ".npy"), tensor);
      report.outputs.push_back(name);
    }
  }
  write_report(folder, report);
}

void play_case(const Subject& subject, LoadedCase& loaded, Stage& stage, MemoryMeter& memory) {
  const void* communicator = stage.enter(loaded.manifest, loaded.rank);
  if (loaded.rank >= 0) {
    Call call(std::move(loaded.inputs), loaded.manifest.arguments, communicator, stage.compute_observer());
    RankReport report;
    const std::int64_t before = memory.reset();
    set_phase(Phase::Computing);
    stage.begin_watching(own_status);
    call_function(subject, loaded.manifest.function, call, report);
    stage.end_watching(report);
    if (before >= 0) report.peak_bytes = MemoryMeter::peak() - before;
    write_outputs(output_folder(loaded.folder, loaded.rank), call, report);
  }
  stage.leave();
}

}  // namespace

int play(int argc, char** argv, Stage& stage) {
  try {
    const Options options = parse(argc, argv);
    own_status = map_status(options.status, stage.world_rank());
    own_status->pid = getpid();
    own_status->case_index = -1;
    std::vector<LoadedCase> cases;
    for (const fs::path& folder : options.cases) {
      cases.push_back(load_case(folder, stage.world_rank(), options.keep_inputs));
    }
    MemoryMeter memory;
    // Nobody of the same user, such as another rank's code, may look into this process; a debugger may.
    if (!options.keep_inputs) prctl(PR_SET_DUMPABLE, 0);
    stage.barrier();
    catch_crashes();
    const Subject subject(options.subject);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      // In this order: a rank that is not yet in the case must never look as if it were done with it.
      set_phase(Phase::Starting);
      own_status->case_index = static_cast<std::int32_t>(i);
      play_case(subject, cases[i], stage, memory);
    }
    stage.barrier();
    set_phase(Phase::Done);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "player: %s\n", error.what());
    return 2;
  }
}

}  // namespace course
