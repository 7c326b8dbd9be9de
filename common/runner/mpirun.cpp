#include "runner/mpirun.hpp"

#include <unistd.h>

#include <regex>
#include <sstream>
#include <utility>

namespace course {

namespace {

constexpr std::size_t longest_complaint = 700;

/// A line that only sets text apart, such as Open MPI's dashes.
bool is_rule(const std::string& line) {
  return line.find_first_not_of("-=*# \t\r") == std::string::npos;
}

/// Its words with one blank between them.
std::string on_one_line(const std::string& text) {
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

/// "Open MPI 4.1.4" out of what an mpirun or an MPI library says of itself; its first line where that is not
/// known.
std::string implementation(const std::string& said) {
  static const std::regex number("[0-9]+\\.[0-9]+(\\.[0-9]+)?");
  std::smatch version;
  const bool numbered = std::regex_search(said, version, number);
  for (const auto& [word, name] :
       {std::pair{"Open MPI", "Open MPI"}, {"MPICH", "MPICH"}, {"HYDRA", "MPICH"}, {"Intel", "Intel MPI"}}) {
    if (numbered && said.find(word) != std::string::npos) return name + (" " + version.str());
  }
  return said.substr(0, said.find('\n'));
}

}  // namespace

std::vector<std::string> mpirun(int ranks) {
  return {"mpirun", "-n", std::to_string(ranks), "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"};
}

std::map<std::string, std::string> mpirun_environment() {
  // One host needs no TCP between ranks; Open MPI 5 warns of interfaces that it cannot pair. The others are
  // what Debian leaves out, which this setting replaces: looking for such devices takes a second.
  // Ranks of one host speak through ob1 and look for no cards on the PCI bus, which takes longer than all
  // else.
  std::map<std::string, std::string> environment{{"OMPI_MCA_btl", "^tcp,uct,openib,ofi"},
                                                 {"OMPI_MCA_pml", "ob1"},
                                                 {"HWLOC_COMPONENTS", "-pci,-linuxio,-opencl,-gl"}};
  // mpirun closes what a rank's end leaves while libevent still looks at it, and with epoll libevent
  // complains. Version 5 asks libevent for epoll and for nothing else unless it is told what to ask for.
  environment["EVENT_NOEPOLL"] = "1";
  environment["OMPI_MCA_opal_event_include"] = "poll";
  // Ranks that hide from each other (player.cpp) cannot copy out of each other's memory; version 5 names it
  // anew.
  environment["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none";
  environment["OMPI_MCA_smsc"] = "^cma,xpmem";
  if (geteuid() == 0) {
    environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
    environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  }
  return environment;
}

std::map<std::string, std::string> temporary_files_in(const std::filesystem::path& folder) {
  std::map<std::string, std::string> environment;
  for (const char* name :
       {"TMPDIR", "OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"}) {
    environment[name] = folder;
  }
  return environment;
}

std::string first_complaint(const std::string& printed) {
  std::istringstream lines(printed);
  std::string said;
  bool is_whole = false;  // a paragraph has ended, and no colon says that the next one belongs to it
  for (std::string line; !is_whole && std::getline(lines, line);) {
    if (is_rule(line)) {
      is_whole = !said.empty() && !said.ends_with(':');
    } else {
      said += (said.empty() ? "" : " ") + on_one_line(line);
    }
  }
  if (said.size() > longest_complaint) said = said.substr(0, said.rfind(' ', longest_complaint)) + " ...";
  return said;
}

std::string other_mpi(const std::string& mpirun_version, const std::string& library_version) {
  const std::string started = implementation(mpirun_version), linked = implementation(library_version);
  if (started == linked) return "";
  return "mpirun is that of " + started + ", and the course was built with " + linked;
}

}  // namespace course
