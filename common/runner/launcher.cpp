#include "runner/launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <fstream>
#include <iterator>
#include <numeric>
#include <regex>
#include <set>
#include <stdexcept>

#include "protocol/errors.hpp"
#include "runner/descriptor.hpp"
#include "runner/launch_files.hpp"
#include "runner/launch_monitor.hpp"
#include "runner/mpirun.hpp"
#include "runner/sanitizer_report.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"
#include "tensor/npy.hpp"

namespace course {

namespace fs = std::filesystem;

namespace {

constexpr auto poll_interval = std::chrono::milliseconds(3);
constexpr double look_interval_s = 0.05;
constexpr std::size_t sanitizers_words = 1 << 16;  ///< bytes at the end of the output that hold a report
constexpr int could_not_start = 127;               // as a shell has it
constexpr std::size_t first_words = 1
                                    << 13;  ///< bytes at the beginning of the output, of a launch that failed
constexpr std::uintmax_t room_for_a_rank = 8 << 20;  ///< for what MPI keeps of each rank, and for its outputs

/// A launch reads all its cases before it plays the first, and those after one that ends it are written and
/// read again. Where one did, the next launch has few, and each that comes to its end lets the next have
/// more. The lesson with the most cases has 291 with one seed, and so one launch.
constexpr std::size_t most_cases_a_launch = 512, cases_after_an_early_end = 16;

std::string tail(const fs::path& path, std::size_t bytes) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - static_cast<std::streamoff>(bytes)));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string head(const fs::path& path, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

/// What the C library says of a heap that somebody has written over, in brackets; empty where it says
/// nothing.
std::string heap_complaint(const std::string& printed) {
  static const std::regex complaint(
      "^((free|malloc|realloc|calloc|munmap_chunk|malloc_consolidate)\\(\\): .*|double free or corruption.*|"
      "corrupted (size vs|double-linked).*)$",
      std::regex::multiline);
  std::smatch found;
  return std::regex_search(printed, found, complaint) ? " (" + found.str() + ")" : "";
}

/// What a player that is shown alone would not find, such as the simulated GPU.
std::vector<fs::path> libraries_beside(const fs::path& player) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(player.parent_path(), none)) {
    if (entry.path().extension() == ".so") found.push_back(entry.path());
  }
  return found;
}

/// Whether no rank has removed the seal that this is.
bool is_whole(const Descriptor& seal) {
  struct stat status {};
  return fstat(seal.get(), &status) == 0 && status.st_nlink > 0;
}

/// A player that ended before all its cases: a rank that a signal killed, or one that left without a word.
Outcome ended_early(const std::vector<RankSnapshot>& ranks, Exit exit, const fs::path& status,
                    const fs::path& output) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const fs::path printed = stderr_beside(status, ranks[rank].pid);
    // Submitted code may have put something else there, which must not be waited for or followed.
    if (!fs::is_regular_file(fs::symlink_status(printed))) continue;
    const std::string report = sanitizer_report(tail(printed, sanitizers_words));
    if (report.empty()) continue;
    const std::string who = ranks.size() == 1 ? ""
                                              : fmt::format("{}, {}: ", rank_label(rank, ranks.size()),
                                                            after_receives(ranks[rank].receives));
    return {.ending = Outcome::Ending::Crashed, .text = who + report};
  }
  if (std::optional<Outcome> crashed = crashed_by(ranks)) {
    crashed->text += heap_complaint(tail(output, 2000));
    return *crashed;
  }
  if (exit.signal != 0)
    return {.ending = Outcome::Ending::Crashed,
            .text = "the program died " + of_signal(exit.signal),
            .by_signal = true};
  // What mpirun prints about a rank that left is long, and names the wrong rank; its exit code tells of a
  // signal that no handler saw.
  const std::string computing = computing_ranks(ranks);
  if (!computing.empty()) {
    return {.ending = Outcome::Ending::Lost,
            .text = "the process ended in the midst of the function" +
                    (ranks.size() > 1 ? ", on " + computing : "") +
                    (exit.code > 128 ? ", " + of_signal(exit.code - 128)
                                     : ": a function returns or throws, it does not exit")};
  }
  const std::string printed = tail(output, 2000);
  return {
      .ending = Outcome::Ending::Lost,
      .text = fmt::format("the program ended with exit code {} before the function returned; it printed:\n{}",
                          exit.code, printed)};
}

/// An empty file beside the status file, which the player removes before it loads what was submitted.
Descriptor sealed(const fs::path& status) {
  const fs::path seal = seal_beside(status);
  Descriptor file(open(seal.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (file.get() < 0) throw_errno("cannot make " + seal.string());
  return file;
}

/// Open MPI 4.1.4 ends with "stack smashing detected" where the machine's name is longer than this.
std::string long_host_name() {
  constexpr std::size_t longest = 56;
  char bytes[HOST_NAME_MAX + 1] = "";
  gethostname(bytes, HOST_NAME_MAX);
  const std::string name = bytes;
  if (name.size() <= longest) return "";
  return fmt::format("this machine's name has {} characters, and Open MPI 4.1 needs one of at most {}",
                     name.size(), longest);
}

std::vector<int> own_order(int ranks) {
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// One start of the player over some of the cases.
class Launch {
 public:
  Launch(const LauncherOptions& options, const std::vector<Case>& cases,
         const std::vector<std::size_t>& chosen)
      : options_(options), world_size_(1) {
    const uid_t owner = options.confinement != nullptr ? options.confinement->user() : geteuid();
    for (const std::size_t i : chosen) world_size_ = std::max(world_size_, cases[i].ranks());
    for (const int rank : options.world_ranks) world_size_ = std::max(world_size_, rank + 1);
    std::uintmax_t bytes = static_cast<std::uintmax_t>(world_size_) * room_for_a_rank;
    for (const std::size_t i : chosen) {
      const Case& one = cases[i];
      for (const auto& shard : one.inputs)
        for (const auto& [name, tensor] : shard) bytes += tensor.values().size() * sizeof(float);
      planned_.push_back({temporary_.path() / (one.name.empty() ? "case" + std::to_string(i) : one.name),
                          one.subject.empty() ? options.subject : one.subject});
      world_ranks_.push_back(!one.world_ranks.empty()       ? one.world_ranks
                             : !options.world_ranks.empty() ? options.world_ranks
                             : options.timed                ? own_order(one.ranks())
                                                            : shuffled_world_ranks(one.ranks(), world_size_));
      folders_.push_back({temporary_.path(), planned_.back().folder.filename(), owner});
      case_limits_s_.push_back(options.timed ? std::numeric_limits<double>::infinity()
                                             : one.limit_s * options.quiet_limit_s /
                                                   LauncherOptions::usual_quiet_limit_s);
      outputs_.push_back(&one.outputs);
    }
    temporary_.require_room(bytes);
    for (std::size_t i = 0; i < chosen.size(); ++i)
      Launcher::write_case(planned_[i].folder, cases[chosen[i]], world_ranks_[i]);
  }

  struct Played {
    std::vector<Outcome>
        outcomes;     ///< of the first cases, up to and with the one in which the launch was over
    bool to_the_end;  ///< every case has been played, whatever came of it
  };

  Played run() {
    WatchedRanks watched(status(), folders_, world_ranks_, world_size_);
    const Descriptor seal = sealed(status());
    if (options_.confinement != nullptr) options_.confinement->hand_over(temporary_.path());
    Process process(command());
    // A timed case may send large messages over a slow network.
    const double deadlock_patience_s = options_.timed ? options_.quiet_limit_s : deadlock_s;
    LaunchMonitor watch(world_ranks_, options_.quiet_limit_s, process.pid(), deadlock_patience_s,
                        case_limits_s_);
    std::optional<Outcome> failure;
    const double begin_s = now_s();
    double looked_s = begin_s;
    while (!process.poll() && !failure) {
      pause_for(poll_interval);
      if (now_s() - looked_s < look_interval_s) continue;
      looked_s = now_s();
      const std::vector<RankSnapshot> ranks = watched.look();
      failure = watch.look(ranks);
      if (!failure) failure = over_limit(process, now_s() - begin_s);
      show(ranks);
    }
    const std::optional<Exit> exit = process.poll();
    process.kill();
    if (options_.confinement != nullptr) options_.confinement->sweep(temporary_.path());
    // A player that knows no seal has told of a case.
    if (is_whole(seal) && watched.first_unreported() == 0)
      throw Unavailable(why_not_started(failure, exit.value_or(Exit{})));
    const std::vector<RankSnapshot> last = watched.look();
    show(last);
    watch.look(last);
    // An exit code of 0 proves nothing: the code that was played may have ended the process.
    const bool well = !failure && exit && exit->code == 0;
    if (!well && !failure) failure = full_output();
    const int last_case = static_cast<int>(planned_.size()) - 1;
    const int ended =
        well ? static_cast<int>(watched.first_unreported()) : std::clamp(watch.case_index(), 0, last_case);
    return {gather(failure, exit, last, ended), ended == last_case + 1};
  }

 private:
  void show(const std::vector<RankSnapshot>& ranks) const {
    if (options_.on_look) options_.on_look({ranks, output()});
  }

  static Outcome ended_for(const std::string& exceeded) {
    return {.ending = Outcome::Ending::OverLimit, .text = "ended: " + exceeded};
  }

  /// Where nothing more that is printed has room. A signal ends a player that prints on; mpirun takes from
  /// its ranks all the same, and holds that in memory.
  std::optional<Outcome> full_output() const {
    if (options_.confinement == nullptr) return std::nullopt;
    const std::int64_t most = options_.confinement->limits().file_bytes;
    std::error_code none;
    const std::uintmax_t printed = fs::file_size(output(), none);
    if (none || printed < static_cast<std::uintmax_t>(most)) return std::nullopt;
    return ended_for(fmt::format("it printed more than {} MiB", most >> 20));
  }

  std::optional<Outcome> over_limit(const Process& process, double seconds) const {
    if (std::optional<Outcome> full = full_output()) return full;
    std::optional<std::string> exceeded;
    double limit_s = options_.launch_limit_s;
    if (options_.confinement != nullptr) {
      exceeded = options_.confinement->exceeded(process.pid(), temporary_.path());
      limit_s = std::min(limit_s, options_.confinement->limits().launch_limit_s);
    }
    if (!exceeded && seconds > limit_s) exceeded = fmt::format("it ran for more than {:.0f} s", limit_s);
    if (!exceeded) return std::nullopt;
    return ended_for(*exceeded);
  }

  /// Why no rank came as far as to load what was submitted: the machine's failure, whoever submitted it.
  std::string why_not_started(const std::optional<Outcome>& failure, Exit exit) const {
    if (exit.code == could_not_start && options_.confinement == nullptr && options_.mpi && !options_.starter)
      return "mpirun was not found: install Open MPI (./course does that)";
    std::vector<std::string> causes;
    if (failure) causes.push_back(failure->text);
    causes.push_back(first_complaint(head(output(), first_words)));
    if (causes.back().empty())
      causes.back() =
          fmt::format("{} ended with exit code {} and said nothing", command().argv[0], exit.code);
    if (options_.mpi) causes.insert(causes.end(), {other_mpi_here(), long_host_name()});
    std::erase(causes, "");
    const std::string who = options_.mpi
                                ? fmt::format("this machine could not start {} MPI ranks", world_size_)
                                : "the player did not start";
    return fmt::format("{}: {}", who, fmt::join(causes, "; "));
  }

  /// Whether the first mpirun in PATH is another MPI's than the one that the course's own player is linked
  /// with.
  std::string other_mpi_here() const {
    std::vector<std::string> ask{"mpirun", "--version"};
    if (options_.confinement != nullptr) ask = options_.confinement->wrap(ask, {}, {});
    const Captured started = capture({.argv = ask}),
                   linked = capture({.argv = {player_program(true), mpi_library_option}});
    return started.exit.code == 0 && linked.exit.code == 0 ? other_mpi(started.output, linked.output) : "";
  }

  Command command() const {
    Command command;
    if (options_.mpi) command.argv = options_.starter ? options_.starter->words : mpirun(world_size_);
    const auto add = [&](const std::vector<std::string>& words) {
      command.argv.insert(command.argv.end(), words.begin(), words.end());
    };
    add(options_.player);
    add(player_arguments({planned_, status(), false, options_.timed}));
    command.environment = options_.starter ? options_.starter->environment : mpirun_environment();
    command.environment.merge(temporary_files_in(temporary_.path()));
    command.output = output();
    command.spared = options_.spared;
    if (options_.confinement != nullptr) confine(command);
    return command;
  }

  void confine(Command& command) const {
    std::set<fs::path> subjects;
    for (const PlannedCase& planned : planned_) subjects.insert(fs::absolute(planned.subject));
    Room room{{subjects.begin(), subjects.end()}, temporary_.path()};
    for (const std::string& word : options_.player) {
      if (!fs::path(word).is_absolute()) continue;
      room.readable.emplace_back(word);
      std::ranges::copy(libraries_beside(word), std::back_inserter(room.readable));
    }
    command.argv = options_.confinement->wrap(command.argv, command.environment, room);
    command.environment.clear();
  }

  fs::path status() const { return temporary_.path() / "status"; }
  fs::path output() const { return temporary_.path() / "output.txt"; }

  /// The outcomes of the `ended` first cases, and that of the one in which the launch was over. A timed
  /// launch that was over too early has no outcomes but that one: cases take turns, and write when all have
  /// had theirs.
  std::vector<Outcome> gather(const std::optional<Outcome>& failure, const std::optional<Exit>& exit,
                              const std::vector<RankSnapshot>& last, int ended) const {
    std::vector<Outcome> outcomes;
    const bool early = ended < static_cast<int>(planned_.size());
    for (int i = 0; i < ended; ++i) outcomes.push_back(options_.timed && early ? Outcome{} : read(i));
    if (early) {
      const std::vector<RankSnapshot> ranks = in_case_order(last, world_ranks_[ended]);
      std::optional<Outcome> end = failure;
      const bool crashed = std::ranges::count(ranks, Phase::Crashed, &RankSnapshot::phase) > 0;
      if (options_.timed && crashed) end.reset();  // what the others then wait for says less
      if (!end && options_.timed) end = thrown_by(ranks);
      outcomes.push_back(end ? *std::move(end)
                             : ended_early(ranks, exit.value_or(Exit{}), status(), output()));
      for (const RankSnapshot& rank : ranks) outcomes.back().facts.push_back(rank.facts);
    }
    for (std::size_t i = 0; i < outcomes.size(); ++i) outcomes[i].world_ranks = world_ranks_[i];
    return outcomes;
  }

  Outcome read(int i) const {
    try {
      return read_outcome(folders_[i], static_cast<int>(world_ranks_[i].size()), *outputs_[i],
                          options_.timed.has_value());
    } catch (const std::runtime_error& error) {
      return {.ending = Outcome::Ending::Lost, .text = std::string("no usable result: ") + error.what()};
    }
  }

  const LauncherOptions& options_;
  TemporaryFolder temporary_;
  int world_size_;
  std::vector<PlannedCase> planned_;
  std::vector<PlayedFolder> folders_;
  std::vector<const std::map<std::string, WantedOutput>*> outputs_;
  std::vector<std::vector<int>> world_ranks_;
  std::vector<double> case_limits_s_;
};

}  // namespace

fs::path player_program(bool mpi) {
  return fs::read_symlink("/proc/self/exe").parent_path() / (mpi ? "player_mpi" : "player_solo");
}

std::vector<int> shuffled_world_ranks(int ranks, int world_size) {
  // A reflection with an odd sum leaves no rank of an even world in its place and one of an odd world, which
  // then changes places with the next.
  const int sum = world_size / 2 | 1;
  std::vector<int> order(world_size);
  for (int rank = 0; rank < world_size; ++rank) order[rank] = (sum - rank + world_size) % world_size;
  for (int rank = 0; rank < world_size; ++rank) {
    if (order[rank] == rank) std::swap(order[rank], order[(rank + 1) % world_size]);
  }
  order.resize(ranks);
  return order;
}

void Launcher::write_case(const fs::path& folder, const Case& test_case,
                          const std::vector<int>& world_ranks) {
  CaseManifest manifest{test_case, test_case.ranks(), world_ranks};
  for (const auto& [name, tensor] : test_case.inputs.at(0)) manifest.inputs.push_back(name);
  for (int rank = 0; rank < test_case.ranks(); ++rank) {
    fs::create_directories(input_folder(folder, rank));
    for (const auto& [name, tensor] : test_case.inputs[rank]) {
      write_npy(input_folder(folder, rank) / (name + ".npy"), tensor);
    }
  }
  write_manifest(folder, manifest);
}

std::vector<Outcome> Launcher::play(const std::vector<Case>& cases) {
  std::vector<Outcome> outcomes(cases.size());
  std::vector<std::size_t> waiting(cases.size());
  std::iota(waiting.begin(), waiting.end(), 0);
  const auto drop_ended = [&] {
    std::erase_if(waiting, [&](std::size_t i) {
      return ended_groups_.contains(cases[i].group) || ended_tasks_.contains(cases[i].task);
    });
  };
  drop_ended();
  std::size_t most = most_cases_a_launch;
  while (!waiting.empty()) {
    const auto end = waiting.begin() + static_cast<std::ptrdiff_t>(std::min(waiting.size(), most));
    const std::vector<std::size_t> chosen(waiting.begin(), end);
    const auto [played, to_the_end] = Launch(options_, cases, chosen).run();
    for (std::size_t i = 0; i < played.size(); ++i) outcomes[chosen[i]] = played[i];
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(played.size()));
    most = to_the_end ? std::min(4 * most, most_cases_a_launch) : cases_after_an_early_end;
    if (to_the_end) continue;
    if (options_.timed) break;
    const Case& last_played = cases[chosen[played.size() - 1]];
    ended_groups_.insert(last_played.group);
    const Outcome::Ending last = played.back().ending;
    if (last == Outcome::Ending::Stuck || last == Outcome::Ending::OverLimit)
      ended_tasks_.insert(last_played.task);
    drop_ended();
  }
  return outcomes;
}

}  // namespace course
