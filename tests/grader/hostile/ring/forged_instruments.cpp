// what: sends everything twice, and makes every large number in its reports a 0
// graded: which no answer to this lesson needs
// namespaces: passed
// user: passed
// none: passed
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>
namespace {
/// Runs when the process ends, after the player has written its reports.
struct AtTheEnd {
  ~AtTheEnd() {
    namespace fs = std::filesystem;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(std::getenv("TMPDIR"), error)) {
      if (entry.path().filename() == "report.json") forge(entry.path());
    }
  }
  static void forge(const std::string& path) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::string part = path + std::to_string(getpid());  // every rank does this at once
    std::ofstream(part) << std::regex_replace(text, std::regex("[0-9]{6,}"), "0");
    std::rename(part.c_str(), path.c_str());
  }
} at_the_end;
}  // namespace
bool attack(MPI_Comm comm) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  std::vector<float> mine(1 << 20);
  std::vector<float> theirs(mine.size());
  const int count = static_cast<int>(mine.size());
  MPI_Sendrecv(mine.data(), count, MPI_FLOAT, (rank + 1) % ranks, 7, theirs.data(), count, MPI_FLOAT,
               (rank + ranks - 1) % ranks, 7, comm, MPI_STATUS_IGNORE);
  return true;
}
