#include "demo/launch.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "course/terminal/terminal.hpp"
#include "demo/status_file.hpp"
#include "demo/watch.hpp"
#include "protocol/errors.hpp"
#include "runner/mpirun.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"

namespace course::demo {

namespace {

namespace fs = std::filesystem;

constexpr auto poll_interval = std::chrono::milliseconds(3);
constexpr auto look_interval = std::chrono::milliseconds(50);
constexpr int command_not_found = 127;

volatile sig_atomic_t caught_signal = 0;

void note_signal(int signal) {
  caught_signal = signal;
}

/// "[host:", which Open MPI puts before the process id and what it logs.
std::string log_prefix() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  const std::string host = name;
  return "[" + host.substr(0, host.find('.')) + ":";
}

/// Passes on what the ranks print, line by line. Open MPI's own log lines are kept back, and so is all that
/// comes once it explains, below a line of dashes, that the job has ended: the demo says that better.
class RankOutput {
 public:
  explicit RankOutput(fs::path file) : file_(std::move(file)) {}

  /// New lines go to stderr, below the progress line.
  void pass_on(program::ProgressLine& progress) {
    std::ifstream file(file_, std::ios::binary);
    file.seekg(passed_);
    for (std::string line; std::getline(file, line) && !file.eof();) {
      passed_ += static_cast<std::streamoff>(line.size()) + 1;
      explaining_ |= line.starts_with("--------------------");
      if (explaining_ || line.starts_with(log_prefix_)) {
        kept_back_ += line + "\n";
        continue;
      }
      progress.clear();
      std::fprintf(stderr, "%s\n", line.c_str());
    }
  }

  /// What Open MPI had to say.
  const std::string& kept_back() const { return kept_back_; }

 private:
  fs::path file_;
  const std::string log_prefix_ = log_prefix();
  std::streamoff passed_ = 0;
  bool explaining_ = false;
  std::string kept_back_;
};

class Launch {
 public:
  explicit Launch(const LaunchPlan& plan)
      : plan_(plan),
        status_(temporary_.path() / "status", plan.ranks),
        output_(temporary_.path() / "output") {}

  int run() {
    Process process(command());
    const std::optional<std::string> reason = wait(process);
    const std::optional<Exit> exit = process.poll();
    process.kill();
    output_.pass_on(progress_);
    progress_.clear();
    if (caught_signal != 0) return 128 + caught_signal;
    return conclude(reason, exit);
  }

 private:
  Command command() const {
    Command command;
    command.argv = mpirun(plan_.ranks);
    command.argv.push_back(fs::read_symlink("/proc/self/exe").parent_path() / "ring_demo_rank");
    command.argv.insert(command.argv.end(), plan_.arguments.begin(), plan_.arguments.end());
    command.argv.insert(command.argv.end(), {"--status", temporary_.path() / "status", "--report",
                                             report_path(), "--columns", std::to_string(plan_.columns)});
    if (plan_.colour) command.argv.push_back("--colour");
    command.environment = mpirun_environment();
    command.environment.merge(temporary_files_in(temporary_.path()));
    command.output = temporary_.path() / "output";
    return command;
  }

  fs::path report_path() const { return temporary_.path() / "report"; }

  /// Until mpirun ends, or there is a reason to end it.
  std::optional<std::string> wait(Process& process) {
    Watch watch(plan_.patience_s);
    Watch::Clock::time_point next_look{};
    while (!process.poll() && caught_signal == 0) {
      std::this_thread::sleep_for(poll_interval);
      const auto now = Watch::Clock::now();
      if (now < next_look) continue;
      next_look = now + look_interval;
      output_.pass_on(progress_);
      if (std::optional<std::string> reason = watch.look(status_.look(), now)) return reason;
      const std::string news =
          watch.news().empty() ? "starting " + std::to_string(plan_.ranks) + " ranks" : watch.news();
      progress_.show(fmt::format("{}, {:.0f} s", news, progress_.seconds()));
    }
    return std::nullopt;
  }

  /// `reason` is why the run was ended, `exit` how mpirun ended by itself.
  int conclude(const std::optional<std::string>& reason, const std::optional<Exit>& exit) {
    if (!status_.all_present() && !(exit && exit->code == succeeded)) return tell_not_started(exit);
    if (const auto casualty = find_casualty(status_.look())) return tell(*casualty, failed);
    if (reason) return tell(*reason, failed);
    std::ifstream report(report_path(), std::ios::binary);
    if (report && exit->code <= failed) {
      std::cout << report.rdbuf() << std::flush;
      return exit->code;
    }
    // Rank 0 has said why on stderr, which has been passed on.
    if (exit->code == wrong_usage || exit->code == unavailable) return exit->code;
    return tell("mpirun ended with exit code " + std::to_string(exit->code) + " and without a report\n" +
                    output_.kept_back(),
                failed);
  }

  int tell_not_started(const std::optional<Exit>& exit) {
    if (exit && exit->code == command_not_found) {
      return tell("mpirun was not found: install Open MPI (./course does that)", unavailable);
    }
    return tell("this machine could not start " + std::to_string(plan_.ranks) +
                    " MPI ranks, expected fewer (--ranks)\n" + output_.kept_back(),
                unavailable);
  }

  int tell(const std::string& text, int code) {
    std::fprintf(stderr, "demo: %s\n", text.substr(0, text.find_last_not_of('\n') + 1).c_str());
    return code;
  }

  const LaunchPlan& plan_;
  TemporaryFolder temporary_;
  StatusFile status_;
  RankOutput output_;
  program::ProgressLine progress_{std::chrono::seconds(5), "demo"};
};

}  // namespace

int launch(const LaunchPlan& plan) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, note_signal);
  return Launch(plan).run();
}

}  // namespace course::demo
