#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/settings.hpp"

/// What ./course train and the ranks that it starts tell each other, as files of one folder:
///   order.json     what the ranks are to do
///   steps.jsonl    a line for each step that is done, from rank 0
///   stop           is there once the ranks are to end after the step that they are in
///   rankR.json     what rank R used, once it is done
///   troubleR       what rank R says where numbers are not finite
///   sample         what the model wrote
/// Files, since they are the same under every launcher: mpirun hands on no signal but two, which Open MPI 4
/// and 5 choose differently, and gathers what ranks print when it likes.
namespace course::train {

/// What rank 0 says of a step begins with it; of anything else it does not.
inline constexpr const char* step_word = "step ";

/// What the ranks are to do.
struct Order {
  Settings settings = {};                                 ///< whose text is a file that ranks read
  std::filesystem::path library = {};                     ///< the shared object of the lesson that trains
  std::filesystem::path layer = {};                       ///< of that with the layer
  std::filesystem::path block = {}, block_backward = {};  ///< of those with blocks
  std::filesystem::path ring = {};                        ///< of that with the causal ring
  std::string ring_forward = {}, ring_backward = {};      ///< as its adapter calls its passes
  std::filesystem::path from = {};  ///< a folder with a checkpoint; empty: from the first step on
  std::filesystem::path out = {};   ///< where checkpoints go; empty: none are written
  Index last = 0;                   ///< the step before which to end
  Index evaluate = 0;               ///< after every so many steps, and the last; 0: never
  Index save = 100;                 ///< after every so many steps, and the last
  double step_operations = 0;       ///< that a step takes, on all ranks together
};

void write_order(const std::filesystem::path& folder, const Order& order);
Order read_order(const std::filesystem::path& folder);

inline std::filesystem::path steps_file(const std::filesystem::path& folder) {
  return folder / "steps.jsonl";
}

/// One step, as rank 0 saw it.
struct StepNews {
  Index step = 0;  ///< from 0
  double loss = 0, norm = 0;
  std::optional<double> held_out = {};
  double seconds = 0;  ///< that it took, with the held-out loss
};

/// Of rank 0: steps.jsonl.
std::string to_line(const StepNews& news);
StepNews step_of_line(const std::string& line);

/// Of the launcher: the steps that have come since the last look.
class StepReader {
 public:
  explicit StepReader(std::filesystem::path folder) : file_(steps_file(folder)) {}
  std::vector<StepNews> read();

 private:
  std::filesystem::path file_;
  std::streamoff read_ = 0;
};

/// What one rank used in the whole run.
struct RankUse {
  int rank = 0;
  Index tokens = 0;
  std::int64_t peak_bytes = 0;       ///< resident in the process
  std::int64_t bytes_sent = 0;       ///< in messages and collectives
  double compute_s = 0, wait_s = 0;  ///< outside MPI's calls and inside
};

void write_use(const std::filesystem::path& folder, const RankUse& use);
RankUse read_use(const std::filesystem::path& folder, int rank);

inline std::filesystem::path stop_file(const std::filesystem::path& folder) {
  return folder / "stop";
}
inline std::filesystem::path trouble_file(const std::filesystem::path& folder, int rank) {
  return folder / ("trouble" + std::to_string(rank));
}
inline std::filesystem::path sample_file(const std::filesystem::path& folder) {
  return folder / "sample";
}

}  // namespace course::train
