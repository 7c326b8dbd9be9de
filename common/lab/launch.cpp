#include "lab/launch.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "course/terminal/terminal.hpp"
#include "protocol/errors.hpp"
#include "runner/mpirun.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::lab {

namespace fs = std::filesystem;

namespace {

constexpr int command_not_found = 127;

/// Reads what the ranks print: progress, the reason of a failure, and what else there is.
class Listener {
 public:
  void hear(const std::string& line) {
    if (line.starts_with(progress_mark)) {
      progress_.show(line.substr(std::string_view(progress_mark).size()));
    } else if (line.starts_with(failure_mark)) {
      if (failure_.empty()) failure_ = line.substr(std::string_view(failure_mark).size());
    } else {
      rest_ += line + "\n";
    }
  }

  /// Why it failed, in a rank's words or else in mpirun's.
  std::string reason(int code) const {
    if (!failure_.empty()) return failure_;
    return fmt::format("mpirun ended with exit code {}:\n{}", code, rest_);
  }

  void clear() { progress_.clear(); }

 private:
  static constexpr const char* progress_mark = "progress ";
  static constexpr const char* failure_mark = "failure ";

  program::ProgressLine progress_;
  std::string failure_;
  std::string rest_;
};

Command command_for(const fs::path& plan, const LaunchOrder& order, const fs::path& temporary) {
  Command command{};
  command.argv = order.network != nullptr ? order.network->mpirun(order.ranks) : mpirun(order.ranks);
  command.argv.push_back(fs::read_symlink("/proc/self/exe").parent_path() / "ring_lab_rank");
  command.argv.push_back(plan);
  command.environment = order.network != nullptr ? order.network->environment() : mpirun_environment();
  command.environment.merge(temporary_files_in(temporary));
  command.limit_s = order.limit_s;
  return command;
}

}  // namespace

Result launch(Plan plan, const LaunchOrder& order, const fs::path& temporary) {
  plan.result = temporary / "result.json";
  write_text(temporary / "plan.json", to_text(plan));
  Listener listener;
  const Exit exit = run(command_for(temporary / "plan.json", order, temporary),
                        [&](const std::string& line) { listener.hear(line); });
  listener.clear();
  if (exit.timed_out) {
    throw std::runtime_error(fmt::format("the ranks were not done after {}, so they were ended",
                                         program::duration(order.limit_s)));
  }
  if (exit.code == command_not_found) throw Unavailable("there is no mpirun on this machine");
  if (exit.code != 0) throw std::runtime_error(listener.reason(exit.code));
  return result_from(read_text(plan.result));
}

}  // namespace course::lab
