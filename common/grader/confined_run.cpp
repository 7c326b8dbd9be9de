#include "grader/confined_run.hpp"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "runner/temporary_folder.hpp"

namespace course::grader {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t shown_bytes = 256 << 10;
constexpr std::chrono::milliseconds poll_interval{20};

std::string beginning_of(const fs::path& path) {
  std::string text(shown_bytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

std::string limit_passed(const Confinement& confinement, const Process& process, const Room& room,
                         Clock::time_point begin) {
  if (const auto exceeded = confinement.exceeded(process.pid(), room.writable)) return *exceeded;
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const double limit_s = confinement.limits().wall_s;
  return seconds > limit_s ? fmt::format("it ran for more than {:.0f} s", limit_s) : "";
}

}  // namespace

ConfinedRun run_confined(const Confinement& confinement, const std::vector<std::string>& command,
                         const Room& room, const fs::path& output) {
  ConfinedRun run;
  fs::remove(output);
  Process process({.argv = confinement.wrap(command, {}, room), .output = output});
  const Clock::time_point begin = Clock::now();
  while (!process.poll() && run.exceeded.empty()) {
    std::this_thread::sleep_for(poll_interval);
    run.exceeded = limit_passed(confinement, process, room, begin);
  }
  run.exit = process.poll().value_or(Exit{});
  process.kill();
  confinement.sweep(room.writable);
  run.output = beginning_of(output);
  return run;
}

bool readable_confined(const Confinement& confinement, const fs::path& path) {
  const TemporaryFolder temporary;
  return run_confined(confinement, {"test", "-r", path}, {}, temporary.path() / "output.txt").succeeded();
}

}  // namespace course::grader
