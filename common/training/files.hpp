#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "training/run.hpp"

namespace course::training {

/// The disk, as a checkpoint uses it. Paths are taken as a whole: "runs/a/step-000020". Each function throws
/// std::runtime_error with the path, and what the system says, where it fails, such as on a full disk.
struct Files {
  /// Makes a folder, and those above it; one that is there stays as it is.
  std::function<void(const std::string& folder)> make_folder;
  /// Writes a file of numbers (NAME.npy) and returns when it is on the disk. One of that name is replaced.
  std::function<void(const std::string& path, std::span<const float> numbers)> write_numbers;
  /// Writes facts as a file of JSON, likewise.
  std::function<void(const std::string& path, const Facts& facts)> write_facts;
  /// Gives a file or a folder another name, at once: whoever looks sees the old name or the new one. Fails
  /// where a folder of that name has files in it.
  std::function<void(const std::string& from, const std::string& to)> rename;
  /// Removes a file, or a folder with all that is in it, file by file; nothing happens where there is none.
  std::function<void(const std::string& path)> remove;
  /// The names in a folder, in alphabetical order; none where there is no such folder.
  std::function<std::vector<std::string>(const std::string& folder)> names_in;
  /// Reads what write_numbers has written; a file that is cut short fails.
  std::function<std::vector<float>(const std::string& path)> read_numbers;
  std::function<Facts(const std::string& path)> read_facts;
};

}  // namespace course::training
