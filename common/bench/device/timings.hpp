#pragma once

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/device/sizes.hpp"
#include "bench/rows.hpp"

namespace course::bench::device {

/// The rows, and what was timed of them. They are written to a file whenever there is one more, so that a run
/// that is cut off leaves what it had.
class Timings {
 public:
  /// @param file where the rows go as JSON; empty: nowhere
  /// @param about what holds for all of them: the device, the sizes
  /// @param simulated each unit says so
  Timings(std::filesystem::path file, std::vector<std::pair<std::string, std::string>> about, bool simulated)
      : file_(std::move(file)), about_(std::move(about)), simulated_(simulated) {}

  /// Adds a row whose rate has been measured; what it stands `against` was before it.
  void add(Row row, double rate);
  std::vector<Row> rows() const { return with_rates(rows_, rates_); }

 private:
  std::filesystem::path file_;
  std::vector<std::pair<std::string, std::string>> about_;
  bool simulated_;
  std::vector<Row> rows_;
  std::map<std::string, double> rates_;
};

/// What others' rows are held against.
inline constexpr const char* copy_row = "copy on the device";
inline constexpr const char* multiply_adds_row = "multiply-adds without memory";

/// What require_right() throws.
struct WrongAnswer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// @param relative_error of an answer. Throws WrongAnswer with `name` where it is too large: what is
/// wrong is not timed.
void require_right(const std::string& name, double relative_error);

/// Lesson 09's kernels, and a copy. Each of these functions throws what the lesson's code throws.
void time_softmax(Timings& timings, const Sizes& sizes);
/// A loop of float32 multiply-adds on all multiprocessors.
void time_multiply_adds(Timings& timings, const Sizes& sizes);
/// Lesson 10's kernel, and with `backward` lesson 11's, against the multiply-adds.
void time_attention(Timings& timings, const Sizes& sizes, int head_dim, bool backward);
/// Lesson 10's kernel and copies beside it, in the order of lesson 12's ring.
void time_two_streams(Timings& timings, const Sizes& sizes);

}  // namespace course::bench::device
