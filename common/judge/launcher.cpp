#include "judge/launcher.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "judge/process.hpp"
#include "judge/scratch.hpp"
#include "tensor/npy.hpp"

namespace course {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto poll_interval = std::chrono::milliseconds(3);
constexpr double look_interval_s = 0.05;
constexpr double standstill_s = 2.0;
/// A proven standstill needs no patience, only a second look that finds it unchanged.
constexpr double proven_standstill_s = 0.3;
constexpr int could_not_start = 127;  // as a shell has it

/// A launch reads all its cases before it plays the first: many seeds are played in several, so that a case
/// that fails does not make all the others be written again.
constexpr std::size_t cases_per_launch = 256;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The pages that the players of one launch keep up to date.
class StatusPages {
 public:
  StatusPages(const fs::path& path, int ranks) : count_(ranks) {
    const std::size_t bytes = ranks * sizeof(RankStatus);
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
      throw std::system_error(errno, std::generic_category(), "cannot make " + path.string());
    }
    void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (pages == MAP_FAILED)
      throw std::system_error(errno, std::generic_category(), "cannot map " + path.string());
    pages_ = static_cast<RankStatus*>(pages);
  }
  ~StatusPages() { munmap(pages_, count_ * sizeof(RankStatus)); }
  StatusPages(const StatusPages&) = delete;
  StatusPages& operator=(const StatusPages&) = delete;

  std::vector<RankSnapshot> look() const {
    std::vector<RankSnapshot> all;
    for (int rank = 0; rank < count_; ++rank) all.push_back(snapshot(pages_[rank]));
    return all;
  }

 private:
  RankStatus* pages_;
  int count_;
};

/// Rank r of a case is played by another world rank than r wherever that is possible.
std::vector<int> shuffled_world_ranks(int ranks, int world_size) {
  std::vector<int> order(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    order[rank] = (world_size - 1 - rank + world_size / 2) % world_size;
  return order;
}

std::vector<RankSnapshot> in_case_order(const std::vector<RankSnapshot>& world,
                                        const std::vector<int>& world_ranks) {
  std::vector<RankSnapshot> ordered;
  for (const int world_rank : world_ranks) ordered.push_back(world[world_rank]);
  return ordered;
}

/// The ranks that are in the submission's own code, outside MPI: "rank 0, 2"; empty if none is.
std::string computing_ranks(const std::vector<RankSnapshot>& ranks) {
  std::string text;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].phase == Phase::Computing) text += (text.empty() ? "rank " : ", ") + std::to_string(rank);
  }
  return text;
}

/// Watches one launch from outside and decides when it is over.
class Watch {
 public:
  Watch(const std::vector<std::vector<int>>& world_ranks, double case_limit_s)
      : world_ranks_(world_ranks), case_limit_s_(case_limit_s) {}

  /// Looks at the pages; returns how the current case failed, or nullopt to go on.
  std::optional<Outcome> look(const std::vector<RankSnapshot>& world) {
    note_progress(world);
    if (case_index_ < 0 || case_index_ >= static_cast<int>(world_ranks_.size())) {
      return quiet_s() > case_limit_s_ ? std::optional(stuck("before the first case")) : std::nullopt;
    }
    const std::vector<RankSnapshot> ranks = in_case_order(world, world_ranks_[case_index_]);
    if (std::optional<Outcome> thrown = look_for_throw(ranks)) return thrown;
    if (std::optional<Outcome> still = look_for_standstill(ranks)) return still;
    return quiet_s() > case_limit_s_ ? std::optional(stuck(computing_words(ranks))) : std::nullopt;
  }

  int case_index() const { return case_index_; }

 private:
  double quiet_s() const { return seconds_since(last_progress_); }

  void note_progress(const std::vector<RankSnapshot>& world) {
    std::uint64_t completed = 0;
    int case_index = world.empty() ? -1 : world[0].case_index;
    std::uint64_t phases = 0;
    for (const RankSnapshot& rank : world) {
      completed += rank.completed;
      case_index = std::min(case_index, rank.case_index);
      phases = phases * 31 + static_cast<std::uint64_t>(rank.phase);
    }
    if (case_index != case_index_ || completed != completed_ || phases != phases_) {
      last_progress_ = Clock::now();
    }
    case_index_ = case_index;
    completed_ = completed;
    phases_ = phases;
  }

  /// Ranks that threw while others wait inside MPI: nobody will ever answer those.
  std::optional<Outcome> look_for_throw(const std::vector<RankSnapshot>& ranks) const {
    bool others_wait = false;
    std::string text;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      others_wait |= ranks[rank].phase == Phase::Blocked || ranks[rank].phase == Phase::Polling;
      if (ranks[rank].phase == Phase::Threw && text.empty()) {
        text = "rank " + std::to_string(rank) + " threw: " + ranks[rank].text;
      }
    }
    if (text.empty() || !others_wait || quiet_s() < proven_standstill_s) return std::nullopt;
    Outcome outcome;
    outcome.ending = Outcome::Ending::Threw;
    outcome.text = text;
    return outcome;
  }

  std::optional<Outcome> look_for_standstill(const std::vector<RankSnapshot>& ranks) const {
    if (quiet_s() < proven_standstill_s) return std::nullopt;
    std::optional<Standstill> still = find_standstill(ranks);
    if (!still || quiet_s() < (still->proven ? proven_standstill_s : standstill_s)) return std::nullopt;
    Outcome outcome;
    outcome.ending = Outcome::Ending::Standstill;
    outcome.text = still->text;
    outcome.standstill = std::move(still);
    return outcome;
  }

  static std::string computing_words(const std::vector<RankSnapshot>& ranks) {
    const std::string computing = computing_ranks(ranks);
    return computing.empty() ? "no rank in particular" : computing;
  }

  Outcome stuck(const std::string& where) const {
    Outcome outcome;
    outcome.ending = Outcome::Ending::Stuck;
    outcome.text = "stuck in compute: nothing happened for " +
                   std::to_string(static_cast<int>(case_limit_s_)) + " s (" + where + ")";
    return outcome;
  }

  const std::vector<std::vector<int>>& world_ranks_;
  double case_limit_s_;
  int case_index_ = -1;
  std::uint64_t completed_ = 0;
  std::uint64_t phases_ = 0;
  Clock::time_point last_progress_ = Clock::now();
};

std::string tail(const fs::path& path, std::size_t bytes) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - static_cast<std::streamoff>(bytes)));
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A player that ended before all its cases: a rank that a signal killed, or one that left without a word.
Outcome ended_early(const std::vector<RankSnapshot>& ranks, Exit exit, const fs::path& output) {
  Outcome outcome;
  outcome.ending = Outcome::Ending::Crashed;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].phase != Phase::Crashed) continue;
    outcome.text = "rank " + std::to_string(rank) + " died of signal " + std::to_string(ranks[rank].signal) +
                   " (" + strsignal(ranks[rank].signal) + ") at hop " + std::to_string(ranks[rank].hop);
    return outcome;
  }
  if (exit.signal != 0) {
    outcome.text =
        "the player died of signal " + std::to_string(exit.signal) + " (" + strsignal(exit.signal) + ")";
    return outcome;
  }
  outcome.ending = Outcome::Ending::Lost;
  // What mpirun prints about a rank that left is long, and names the wrong rank; its exit code tells of a
  // signal that no handler saw.
  const std::string computing = computing_ranks(ranks);
  if (!computing.empty()) {
    const int signal = exit.code > 128 ? exit.code - 128 : 0;
    outcome.text = "the process ended in the midst of the function, on " + computing +
                   (signal > 0 ? ", of signal " + std::to_string(signal) + " (" + strsignal(signal) + ")"
                               : ": a function returns or throws, it does not exit");
    return outcome;
  }
  if (exit.code == could_not_start) {
    throw std::runtime_error("the player cannot be started: " + tail(output, 2000));
  }
  outcome.text = "the player ended with exit code " + std::to_string(exit.code) +
                 " before the function returned; it printed:\n" + tail(output, 2000);
  return outcome;
}

/// Reads what the ranks of a case that ran to its end have written. Throws std::runtime_error.
Outcome collect(const fs::path& folder, int ranks) {
  Outcome outcome;
  for (int rank = 0; rank < ranks; ++rank)
    outcome.reports.push_back(read_report(output_folder(folder, rank)));
  outcome.ending = Outcome::Ending::Finished;
  for (int rank = 0; rank < ranks; ++rank) {
    const RankReport& report = outcome.reports[rank];
    if (report.ending == "finished" || outcome.ending != Outcome::Ending::Finished) continue;
    outcome.ending = report.ending == "todo" ? Outcome::Ending::Todo : Outcome::Ending::Threw;
    outcome.text = (ranks > 1 ? "rank " + std::to_string(rank) + " threw: " : "threw: ") + report.what;
  }
  if (outcome.ending != Outcome::Ending::Finished) return outcome;
  for (int rank = 0; rank < ranks; ++rank) {
    std::map<std::string, Tensor>& outputs = outcome.outputs.emplace_back();
    for (const std::string& name : outcome.reports[rank].outputs) {
      outputs.emplace(name, read_npy<float>(output_folder(folder, rank) / (name + ".npy")));
    }
  }
  return outcome;
}

/// One start of the player over some of the cases.
class Launch {
 public:
  Launch(const LauncherOptions& options, const std::vector<Case>& cases,
         const std::vector<std::size_t>& chosen)
      : options_(options), world_size_(1) {
    for (const std::size_t i : chosen) world_size_ = std::max(world_size_, cases[i].ranks());
    for (const std::size_t i : chosen) {
      folders_.push_back(scratch_.path() / ("case" + std::to_string(i)));
      world_ranks_.push_back(shuffled_world_ranks(cases[i].ranks(), world_size_));
      Launcher::write_case(folders_.back(), cases[i], world_ranks_.back());
    }
  }

  /// Plays; returns an outcome for the first cases, up to and with the first that failed to end.
  std::vector<Outcome> run() {
    const StatusPages pages(scratch_.path() / "status", world_size_);
    Watch watch(world_ranks_, options_.case_limit_s);
    Process process(command());
    std::optional<Outcome> failure;
    Clock::time_point looked = Clock::now();
    while (!process.poll() && !failure) {
      std::this_thread::sleep_for(poll_interval);
      if (seconds_since(looked) < look_interval_s) continue;
      looked = Clock::now();
      failure = watch.look(pages.look());
    }
    const std::optional<Exit> exit = process.poll();
    process.kill();
    std::vector<RankSnapshot> last = pages.look();
    watch.look(last);
    return gather(failure, exit, last, watch.case_index());
  }

 private:
  Command command() const {
    Command command;
    if (options_.mpi) command.argv = mpirun(world_size_);
    command.argv.insert(command.argv.end(), options_.player.begin(), options_.player.end());
    command.argv.insert(command.argv.end(),
                        {"--subject", options_.subject, "--status", scratch_.path() / "status"});
    command.argv.insert(command.argv.end(), folders_.begin(), folders_.end());
    command.environment = mpirun_environment();
    for (const char* name :
         {"TMPDIR", "OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"}) {
      command.environment[name] = scratch_.path();
    }
    command.output = output();
    return command;
  }

  fs::path output() const { return scratch_.path() / "output.txt"; }

  std::vector<Outcome> gather(const std::optional<Outcome>& failure, const std::optional<Exit>& exit,
                              const std::vector<RankSnapshot>& last, int case_index) const {
    const bool complete = !failure && exit && exit->code == 0;
    const int ended = complete ? static_cast<int>(folders_.size()) : std::max(0, case_index);
    std::vector<Outcome> outcomes;
    for (int i = 0; i < ended; ++i) {
      try {
        outcomes.push_back(collect(folders_[i], static_cast<int>(world_ranks_[i].size())));
      } catch (const std::runtime_error& error) {
        outcomes.emplace_back();
        outcomes.back().ending = Outcome::Ending::Lost;
        outcomes.back().text = std::string("no usable result: ") + error.what();
      }
    }
    if (!complete) {
      outcomes.push_back(
          failure ? *failure
                  : ended_early(in_case_order(last, world_ranks_[ended]), exit.value_or(Exit{}), output()));
    }
    return outcomes;
  }

  const LauncherOptions& options_;
  Scratch scratch_;
  int world_size_;
  std::vector<fs::path> folders_;
  std::vector<std::vector<int>> world_ranks_;
};

}  // namespace

std::vector<std::string> mpirun(int ranks) {
  return {"mpirun", "-n", std::to_string(ranks), "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"};
}

std::map<std::string, std::string> mpirun_environment() {
  // One host needs no TCP between ranks; Open MPI 5 warns of interfaces that it cannot pair.
  std::map<std::string, std::string> environment{{"OMPI_MCA_btl", "^tcp"}};
  if (geteuid() == 0) {
    environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
    environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  }
  return environment;
}

void Launcher::write_case(const fs::path& folder, const Case& test_case,
                          const std::vector<int>& world_ranks) {
  CaseManifest manifest{test_case.function, test_case.ranks(), world_ranks, test_case.arguments, {}};
  for (const auto& [name, tensor] : test_case.inputs.at(0)) manifest.inputs.push_back(name);
  for (int rank = 0; rank < test_case.ranks(); ++rank) {
    fs::create_directories(input_folder(folder, rank));
    for (const auto& [name, tensor] : test_case.inputs[rank]) {
      write_npy(input_folder(folder, rank) / (name + ".npy"), tensor);
    }
  }
  write_manifest(folder, manifest);
}

std::vector<Outcome> Launcher::play(const std::vector<Case>& cases) const {
  std::vector<Outcome> outcomes(cases.size());
  std::vector<std::size_t> waiting(cases.size());
  std::iota(waiting.begin(), waiting.end(), 0);
  while (!waiting.empty()) {
    const auto end =
        waiting.begin() + static_cast<std::ptrdiff_t>(std::min(waiting.size(), cases_per_launch));
    const std::vector<std::size_t> chosen(waiting.begin(), end);
    const std::vector<Outcome> played = Launch(options_, cases, chosen).run();
    for (std::size_t i = 0; i < played.size(); ++i) outcomes[chosen[i]] = played[i];
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(played.size()));
    const Outcome::Ending last = played.back().ending;
    if (played.size() == chosen.size() &&
        (last == Outcome::Ending::Finished || last == Outcome::Ending::Todo))
      continue;
    const std::string& group = cases[chosen[played.size() - 1]].group;
    std::erase_if(waiting, [&](std::size_t i) { return cases[i].group == group; });
  }
  return outcomes;
}

}  // namespace course
