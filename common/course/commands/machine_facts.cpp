#include "course/commands/machine_facts.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <regex>

#include "course/build/build.hpp"
#include "protocol/player_options.hpp"
#include "runner/launcher.hpp"
#include "runner/mpirun.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

constexpr const char* for_ranks = "every lesson that needs MPI, and the demo";

/// What follows the key on the line that begins with it, without quotes and blanks around; empty: no line
/// does.
std::string value_of(const std::string& text, const std::string& key) {
  for (const std::string& line : lines_of(text)) {
    if (!line.starts_with(key)) continue;
    const std::size_t first = std::min(line.find_first_not_of(" \"", key.size()), line.size());
    return line.substr(first, line.find_last_not_of(" \"") + 1 - first);
  }
  return "";
}

std::string read_if_there(const fs::path& path) {
  return fs::is_regular_file(path) ? read_text(path) : "";
}

std::string operating_system() {
  const std::string name = value_of(read_if_there("/etc/os-release"), "PRETTY_NAME=");
  utsname names{};
  if (!name.empty() || uname(&names) != 0) return name;
  return std::string(names.sysname) + " " + names.release;
}

std::string memory() {
  const std::string text = read_if_there("/proc/meminfo");
  const auto gib = [&](const char* key) {
    return std::strtod(value_of(text, key).c_str(), nullptr) / (1 << 20);
  };
  return fmt::format("{:.1f} GiB, {:.1f} GiB of it available", gib("MemTotal:"), gib("MemAvailable:"));
}

/// What a program says of itself, or whether something works, as far as running it tells.
struct Trial {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment = {};
  std::string works = {};  ///< what is then told; empty: the first line that it prints
  std::string fails = {};  ///< what is told before that line
};

/// @param skipped what is skipped for want of it
MachineFact tried(const std::string& name, const Trial& trial, const std::string& skipped) {
  const std::string program = fs::path(trial.argv[0]).filename();
  if (find_program(trial.argv[0]).empty())
    return {name, false, "there is no " + program + " in PATH", skipped};
  const Captured said = capture({.argv = trial.argv, .environment = trial.environment, .limit_s = 30});
  if (said.exit.code != 0) return {name, false, trial.fails + said.first_line(), skipped};
  return {name, true, trial.works.empty() ? said.first_line() : trial.works, skipped};
}

MachineFact program(const std::string& name, const std::vector<std::string>& argv,
                    const std::string& skipped) {
  return tried(name, {.argv = argv, .fails = argv[0] + " does not work: "}, skipped);
}

MachineFact needed(MachineFact fact) {
  fact.needed = true;
  return fact;
}

MachineFact compiler(const std::string& cache) {
  const std::string path = cache_entry(cache, "CMAKE_CXX_COMPILER");
  if (path.empty()) return {"C++ compiler", false, "not configured yet", "everything"};
  MachineFact fact = program("C++ compiler", {path, "--version"}, "everything");
  if (fact.found) fact.value = path + ": " + fact.value;
  return fact;
}

/// A library that CMake found, with the version that its own files state.
MachineFact library(const std::string& cache, const std::string& package) {
  const std::string folder = cache_entry(cache, package + "_DIR");
  if (folder.empty() || folder.ends_with("-NOTFOUND"))
    return {package, false, "CMake has not found " + package, "everything"};
  MachineFact fact{package, true, folder, "everything"};
  for (const char* ending : {"ConfigVersion.cmake", "-config-version.cmake"}) {
    const std::string version = package_version(read_if_there(fs::path(folder) / (package + ending)));
    if (!version.empty()) fact.value = version;
  }
  return fact;
}

/// The python3 that CMake has found for the tests of the Python player.
MachineFact python(const std::string& cache) {
  const std::string skipped = "./course test: the player for Python";
  const std::string path = cache_entry(cache, "COURSE_PYTHON_FOUND");
  if (path.empty()) {
    return {"Python", false,
            "no python3 with numpy and mpi4py when this was configured; cmake --preset student looks again",
            skipped};
  }
  const char* versions =
      "import numpy, mpi4py; print('NumPy', numpy.__version__ + ', mpi4py', mpi4py.__version__)";
  MachineFact fact = tried("Python", {.argv = {path, "-c", versions}}, skipped);
  fact.value = path + (fact.found ? ": " + fact.value : " has lost numpy or mpi4py");
  return fact;
}

/// mpirun, held against the MPI library that the players find.
MachineFact mpi(const fs::path& player) {
  MachineFact fact = program("MPI", {"mpirun", "--version"}, for_ranks);
  const Captured library = capture({.argv = {player, mpi_library_option}});
  if (!fact.found || library.exit.code != 0) return fact;
  const std::string other = other_mpi(fact.value, library.output);
  return other.empty() ? fact
                       : MachineFact{fact.name, false, other + ": PATH finds another one first", for_ranks};
}

/// Whether two ranks of the player meet and come to a case, which a container, a host's name or another MPI's
/// mpirun can prevent. The case cannot be played: the file that should hold its function is the player.
MachineFact two_ranks(const fs::path& player) {
  Case nothing{{"none"}};
  nothing.inputs.resize(2);
  MachineFact fact{"two MPI ranks", true, "the player's ranks find each other", for_ranks};
  try {
    Launcher({.subject = player, .player = {player}, .mpi = true}).play({nothing});
  } catch (const std::runtime_error& error) {
    fact.found = false;
    fact.value = error.what();
  }
  return fact;
}

/// The player of ranks, built where that is needed; or why it cannot be.
std::pair<fs::path, std::string> built_player(const Checkout& checkout) {
  const BuildResult built = build({checkout.root, checkout.build(), {"player_mpi"}, "the player of ranks"});
  return {checkout.build() / "bin" / "player_mpi", built.succeeded ? "" : failure_text(built)};
}

/// Something that no lesson of this checkout needs.
MachineFact unneeded(MachineFact fact) {
  if (!fact.found) fact.value += "; no lesson of this checkout needs it";
  return fact;
}

/// nvcc says its version on a line further down.
MachineFact cuda() {
  if (find_program("nvcc").empty()) return {"CUDA toolkit", false, "there is no nvcc in PATH"};
  return program("CUDA toolkit", {"sh", "-c", "nvcc --version | grep release"}, "");
}

MachineFact nccl() {
  for (const char* folder : {"/usr/include", "/usr/local/include", "/usr/local/cuda/include"}) {
    const fs::path header = fs::path(folder) / "nccl.h";
    if (fs::exists(header)) return {"NCCL", true, header.string()};
  }
  return {"NCCL", false, "no nccl.h found"};
}

/// Whether a process can have a network of its own whose link is shaped, by tc's words in `shape`.
MachineFact shaped_link(const std::string& name, const std::string& shape, const std::string& skipped) {
  std::vector<std::string> trial{
      "unshare", "--net", "sh", "-c",
      "PATH=$PATH:/usr/sbin:/sbin; ip link set lo up && tc qdisc add dev lo root " + shape};
  if (geteuid() != 0) trial.insert(trial.begin() + 1, {"--user", "--map-root-user"});
  return tried(name, {.argv = trial, .works = "a process can have its own network with one"}, skipped);
}

}  // namespace

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::string package_version(const std::string& version_file) {
  static const std::regex statement(R"re(set ?\(PACKAGE_VERSION "([^"]*))re");
  std::smatch found;
  return std::regex_search(version_file, found, statement) ? found[1].str() : "";
}

std::string cache_entry(const std::string& cache, const std::string& name) {
  const std::string entry = value_of(cache, name + ":");  // TYPE=VALUE
  return entry.substr(entry.find('=') + 1);
}

std::vector<MachineFact> look_at_machine(const Checkout& checkout) {
  const std::string cache = read_if_there(checkout.build() / "CMakeCache.txt");
  const auto [player, obstacle] = built_player(checkout);
  std::vector<MachineFact> facts{
      {"system", true, operating_system()},
      {"cores", true, std::to_string(usable_cores())},
      {"memory", true, memory()},
      needed(compiler(cache)),
      needed(program("CMake", {"cmake", "--version"}, "everything")),
      needed(program("Ninja", {"ninja", "--version"}, "everything")),
      needed(mpi(player)),
      needed(obstacle.empty() ? two_ranks(player)
                              : MachineFact{"two MPI ranks", false, obstacle, for_ranks})};
  for (const char* package : {"Eigen3", "GTest", "fmt", "nlohmann_json", "CLI11"})
    facts.push_back(needed(library(cache, package)));
  const std::vector<MachineFact> more{
      python(cache), program("gdb", {"gdb", "--version"}, "./course replay --gdb"),
      program("clang++", {"clang++", "--version"}, "./course test --all: the second compiler"),
      program("clang-format", {"clang-format", "--version"}, "./course test --all: formatting"),
      // Debian's launcher may complain before it says its version.
      tried("Chromium",
            {.argv = {"chromium", "--version"}, .works = "it starts", .fails = "chromium does not work: "},
            "./course test --all: docs/visualizer"),
      unneeded(cuda()),
      unneeded(program(
          "GPU", {"nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"},
          "")),
      unneeded(nccl()),
      tried("namespaces",
            {.argv = {"unshare", "--user", "--map-root-user", "--pid", "--fork", "true"},
             .works = "a process can have its own users and processes"},
            ""),
      shaped_link("token bucket", "tbf rate 500mbit burst 128kb limit 1mb",
                  "./course lab: a slow link and two hosts"),
      shaped_link("netem", "netem delay 1ms", "./course lab --latency")};
  facts.insert(facts.end(), more.begin(), more.end());
  return facts;
}

}  // namespace course::program
