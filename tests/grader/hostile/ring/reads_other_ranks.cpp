// what: opens the memory of the other ranks, and looks for shards in the player's folders
// graded: which no answer to this lesson needs
// namespaces: should be
// user: should be
// none: passed|should be
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
namespace {
bool opens_memory(int pid) {
  return open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY) >= 0;
}
bool finds_shards() {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(std::getenv("TMPDIR"), error)) {
    const std::string path = entry.path();
    if (path.ends_with(".npy") && path.find("/out/") == std::string::npos) return true;
  }
  return false;
}
}  // namespace
bool attack(MPI_Comm comm) {
  int ranks = 0;
  int rank = 0;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &rank);
  const int own = getpid();
  std::string pids(sizeof own * static_cast<std::size_t>(ranks), '\0');
  MPI_Allgather(&own, sizeof own, MPI_CHAR, pids.data(), sizeof own, MPI_CHAR, comm);
  const int* all = reinterpret_cast<const int*>(pids.data());
  for (int other = 0; other < ranks; ++other) {
    if (other != rank && opens_memory(all[other])) return true;
  }
  return finds_shards();
}
