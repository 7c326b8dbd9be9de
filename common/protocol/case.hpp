#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/fact.hpp"
#include "protocol/kernel_counts.hpp"
#include "protocol/traffic.hpp"
#include "tensor/tensor.hpp"

namespace course {

/// Numbers that a function is called with beside its tensors; a single number is a list of one.
using Arguments = std::map<std::string, std::vector<double>>;

/// The call of a function, but for its tensors.
struct FunctionCall {
  std::string function = {};
  Arguments arguments = {};
  /// Inputs that are taken from other cases of a timed launch, by the names of those cases' folders, which
  /// lie beside this one's and are played before it: their input of that name, or what their latest call
  /// returned.
  std::map<std::string, std::string> from = {};
  /// Of a timed case: "without_progress" never calls between tiles, "idle" computes nothing; "" computes.
  std::string block_mode = {};
  /// Of a timed case: each rank is alone on its communicator; the ranks only begin together.
  bool apart = false;
  bool spans = true;  ///< of a timed case: whether they are recorded
  /// Of a timed case: whether a simulated GPU looks at every access, as it does when it is graded.
  bool checked = false;
  bool counted = false;  ///< of a graded case: whether a simulated GPU counts what kernels ask of memory
  /// Of a graded case: whether the function is called before, in the same memory with other numbers. Only the
  /// last call counts.
  bool called_before = false;
};

/// One call on one or more ranks, as it lies in a folder (docs/case-format.md):
///   case.json              this manifest
///   rankR/INPUT.npy        the inputs of rank R, float32
///   out/rankR/NAME.npy, out/rankR/report.json   what rank R returned
struct CaseManifest : FunctionCall {
  int ranks = 1;
  /// world_ranks[r] plays rank r. Another order than the world's exposes the use of MPI_COMM_WORLD.
  std::vector<int> world_ranks{0};
  std::vector<std::string> inputs = {};
};

/// What a call of NCCL's has moved, or a group of them together.
struct NcclGroup {
  std::string call;  ///< "the NCCL group on line 12"
  std::int64_t bytes_sent = 0;
  std::int64_t bytes_received = 0;
  std::vector<std::string> beside;  ///< the kernels that nothing orders before or behind it, by range or name
};

/// How a rank's call ended, written to report.json beside its outputs.
struct RankReport {
  std::string ending = "finished";  ///< finished | threw | todo
  std::string what;                 ///< the exception's message
  std::string thrown = {};          ///< its type, "std::invalid_argument"; empty: not known, or none
  std::optional<Fact> told;         ///< the fact that the exception tells, where an instrument has thrown it
  std::int64_t peak_bytes = -1;     ///< memory of the call beyond what was there before it; -1: not measured
  /// What it sent, in the file as bytes_sent_to, too. A player that tells only that has it read into entries
  /// without a call.
  Traffic traffic;
  std::vector<RankStep> steps;        ///< in which order it sent, received and computed; empty: not told
  std::int64_t collective_bytes = 0;  ///< that collectives brought; -1: neither they nor traffic were counted
  std::int64_t device_peak_bytes = -1;  ///< device memory of a named range of the host's code; -1: none
  std::map<int, std::int64_t> nccl_bytes_sent_to;  ///< by ncclSend, of which nothing is counted above
  std::int64_t nccl_collective_bytes = 0;
  std::vector<NcclGroup> nccl_groups;  ///< in the order in which they were issued
  CountsByKernel kernels;              ///< of a counted case
  Facts facts;
  std::vector<std::string> outputs;
};

void write_manifest(const std::filesystem::path& folder, const CaseManifest& manifest);
/// Throws std::runtime_error with the path and what is wrong with it.
CaseManifest read_manifest(const std::filesystem::path& folder);

/// Where a kept case comes from: a judge draws it again from this, drawn.json beside its manifest.
struct DrawnCase {
  std::string test;  ///< by name ("2.ranks3")
  std::uint64_t seed = 0;
  std::size_t example = 0;  ///< which of those that the test has with this seed
};
void write_drawn(const std::filesystem::path& folder, const DrawnCase& drawn);
/// Throws std::runtime_error with the path and what is wrong with it.
DrawnCase read_drawn(const std::filesystem::path& folder);

void write_report(const std::filesystem::path& rank_folder, const RankReport& report);
/// Throws std::runtime_error with what is wrong with it; `name` is what the message calls the text.
RankReport parse_report(const std::string& text, const std::filesystem::path& name);

std::filesystem::path input_folder(const std::filesystem::path& folder, int rank);
std::filesystem::path output_folder(const std::filesystem::path& folder, int rank);

}  // namespace course
