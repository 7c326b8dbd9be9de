#include "course/commands/machine_facts.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "runner/mpirun.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

constexpr double patience_s = 30;

std::string operating_system() {
  std::ifstream file("/etc/os-release");
  const std::string key = "PRETTY_NAME=\"";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return line.substr(key.size(), line.size() - key.size() - 1);
  }
  utsname names{};
  return uname(&names) == 0 ? std::string(names.sysname) + " " + names.release : "unknown";
}

/// The processors that this process may use, which in a container are fewer than the machine's.
int cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::string memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  double kib = 0;
  std::string unit;
  double total = 0;
  double available = 0;
  while (file >> key >> kib) {
    std::getline(file, unit);
    if (key == "MemTotal:") total = kib;
    if (key == "MemAvailable:") available = kib;
  }
  return fmt::format("{:.1f} GiB, {:.1f} GiB of it available", total / (1 << 20), available / (1 << 20));
}

/// A program and the first line that it prints about itself.
MachineFact program(const std::string& name, const std::vector<std::string>& argv, const std::string& skipped,
                    bool needed = false) {
  MachineFact fact{name, false, "", skipped, needed};
  if (find_program(argv[0]).empty()) {
    fact.value = "there is no " + fs::path(argv[0]).filename().string() + " in PATH";
    return fact;
  }
  const Captured said = capture({.argv = argv, .limit_s = patience_s});
  fact.found = said.exit.code == 0;
  fact.value = fact.found ? said.first_line() : argv[0] + " does not work: " + said.first_line();
  return fact;
}

std::string read_if_there(const fs::path& path) {
  return fs::is_regular_file(path) ? read_text(path) : "";
}

MachineFact compiler(const std::string& cache) {
  const std::string path = cache_entry(cache, "CMAKE_CXX_COMPILER");
  if (path.empty()) return {"C++ compiler", false, "not configured yet", "everything", true};
  const Captured said = capture({.argv = {path, "--version"}, .limit_s = patience_s});
  return {"C++ compiler", said.exit.code == 0, path + ": " + said.first_line(), "everything", true};
}

/// A library that CMake found, with the version that its own files state.
MachineFact library(const std::string& cache, const std::string& package) {
  const std::string folder = cache_entry(cache, package + "_DIR");
  MachineFact fact{package, false, "CMake has not found " + package, "everything", true};
  if (folder.empty() || folder.ends_with("-NOTFOUND")) return fact;
  fact.found = true;
  fact.value = folder;
  for (const char* ending : {"ConfigVersion.cmake", "-config-version.cmake"}) {
    const std::string version = package_version(read_if_there(fs::path(folder) / (package + ending)));
    if (!version.empty()) fact.value = version;
  }
  return fact;
}

/// The python3 that CMake has found for the tests of the Python player.
MachineFact python(const std::string& cache) {
  MachineFact fact{"Python", false, "", "./course test: the player for Python", false};
  const std::string path = cache_entry(cache, "COURSE_PYTHON_FOUND");
  if (path.empty()) {
    fact.value =
        "no python3 with numpy and mpi4py when this was configured; cmake --preset student looks again";
    return fact;
  }
  const char* versions =
      "import numpy, mpi4py; print('NumPy', numpy.__version__ + ', mpi4py', mpi4py.__version__)";
  const Captured said = capture({.argv = {path, "-c", versions}, .limit_s = patience_s});
  fact.found = said.exit.code == 0;
  fact.value = path + (fact.found ? ": " + said.first_line() : " has lost numpy or mpi4py");
  return fact;
}

/// Whether ranks really start, which a container or a host name that does not resolve can prevent.
MachineFact two_ranks() {
  MachineFact fact{"two MPI ranks", false, "", "every lesson that needs MPI, and the demo", true};
  if (find_program("mpirun").empty()) {
    fact.value = "there is no mpirun in PATH";
    return fact;
  }
  std::vector<std::string> command = mpirun(2);
  command.push_back("true");
  const Captured said =
      capture({.argv = command, .environment = mpirun_environment(), .limit_s = patience_s});
  fact.found = said.exit.code == 0;
  fact.value = fact.found ? "mpirun starts them" : "mpirun does not start them: " + said.first_line();
  return fact;
}

MachineFact gpu() {
  MachineFact fact = program(
      "GPU", {"nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"}, "");
  if (!fact.found) fact.value = "none found (" + fact.value + "); no lesson of this checkout needs one";
  return fact;
}

MachineFact nccl() {
  for (const char* folder : {"/usr/include", "/usr/local/include", "/usr/local/cuda/include"}) {
    const fs::path header = fs::path(folder) / "nccl.h";
    if (fs::exists(header)) return {"NCCL", true, header.string(), "", false};
  }
  return {"NCCL", false, "no nccl.h found; no lesson of this checkout needs it", "", false};
}

MachineFact cuda() {
  MachineFact fact{"CUDA toolkit", false, "there is no nvcc in PATH; no lesson of this checkout needs it", "",
                   false};
  if (find_program("nvcc").empty()) return fact;
  const Captured said = capture({.argv = {"nvcc", "--version"}, .limit_s = patience_s});
  fact.found = said.exit.code == 0;
  fact.value = said.first_line();
  for (const std::string& line : lines_of(said.output)) {
    if (line.find("release ") != std::string::npos) fact.value = line;
  }
  return fact;
}

MachineFact namespaces() {
  MachineFact fact{"namespaces", false, "", "", false};
  if (find_program("unshare").empty()) {
    fact.value = "there is no unshare in PATH";
    return fact;
  }
  const Captured said = capture(
      {.argv = {"unshare", "--user", "--map-root-user", "--pid", "--fork", "true"}, .limit_s = patience_s});
  fact.found = said.exit.code == 0;
  fact.value = fact.found ? "a process can have its own users and processes" : said.first_line();
  return fact;
}

/// Whether a process can have a network of its own whose link is shaped, by tc's words in `shape`.
MachineFact shaped_link(const std::string& name, const std::string& shape, const std::string& skipped) {
  MachineFact fact{name, false, "", skipped, false};
  std::vector<std::string> trial{
      "unshare", "--net", "sh", "-c",
      "PATH=$PATH:/usr/sbin:/sbin; ip link set lo up && tc qdisc add dev lo root " + shape};
  if (geteuid() != 0) trial.insert(trial.begin() + 1, {"--user", "--map-root-user"});
  if (find_program("unshare").empty()) {
    fact.value = "there is no unshare in PATH";
    return fact;
  }
  const Captured said = capture({.argv = trial, .limit_s = patience_s});
  fact.found = said.exit.code == 0;
  fact.value = fact.found ? "a process can have its own network with one" : said.first_line();
  return fact;
}

}  // namespace

std::string package_version(const std::string& version_file) {
  for (const std::string key : {"set(PACKAGE_VERSION \"", "set (PACKAGE_VERSION \""}) {
    const std::size_t at = version_file.find(key);
    if (at == std::string::npos) continue;
    const std::size_t start = at + key.size();
    return version_file.substr(start, version_file.find('"', start) - start);
  }
  return "";
}

std::string cache_entry(const std::string& cache, const std::string& name) {
  for (const std::string& line : lines_of(cache)) {
    if (line.starts_with(name + ":")) return line.substr(line.find('=') + 1);
  }
  return "";
}

std::vector<MachineFact> look_at_machine(const Checkout& checkout) {
  const std::string cache = read_if_there(checkout.build() / "CMakeCache.txt");
  std::vector<MachineFact> facts{
      {"system", true, operating_system(), "", false},
      {"cores", true, std::to_string(cores()), "", false},
      {"memory", true, memory(), "", false},
      compiler(cache),
      program("CMake", {"cmake", "--version"}, "everything", true),
      program("Ninja", {"ninja", "--version"}, "everything", true),
      program("MPI", {"mpirun", "--version"}, "every lesson that needs MPI, and the demo", true),
      two_ranks()};
  for (const char* package : {"Eigen3", "GTest", "fmt", "nlohmann_json", "CLI11"})
    facts.push_back(library(cache, package));
  facts.push_back(python(cache));
  facts.push_back(program("gdb", {"gdb", "--version"}, "./course replay --gdb"));
  facts.push_back(program("clang++", {"clang++", "--version"}, "./course test --all: the second compiler"));
  facts.push_back(program("clang-format", {"clang-format", "--version"}, "./course test --all: formatting"));
  facts.insert(facts.end(), {cuda(), gpu(), nccl(), namespaces(),
                             shaped_link("token bucket", "tbf rate 500mbit burst 128kb limit 1mb",
                                         "./course lab: a slow link and two hosts"),
                             shaped_link("netem", "netem delay 1ms", "./course lab --latency")});
  return facts;
}

}  // namespace course::program
