#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace course::timed {

/// The folder of --out. Files are first written into a hidden folder inside it; commit() moves them to their
/// places, so that a failure on the way leaves nothing behind, the folder itself included if it is new.
class OutputFolder {
 public:
  /// Makes the folder if need be. Throws UsageError when that fails or nothing can be written into it.
  explicit OutputFolder(std::filesystem::path folder);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  /// Throws UsageError when something other than a file is called `name` already, NpyError or
  /// std::runtime_error when it cannot be written.
  void add(const std::string& name, const Tensor& tensor);
  void add(const std::string& name, const std::string& text);
  /// An older file that would no longer fit the new ones; commit() removes it.
  void drop(const std::string& name);

  /// Returns the paths of what was added.
  std::vector<std::filesystem::path> commit();

 private:
  void require_replaceable(const std::string& name) const;
  std::filesystem::path stage(const std::string& name);

  std::filesystem::path folder_;
  std::filesystem::path first_new_;  ///< the outermost folder that was made; empty: none
  std::filesystem::path stage_;
  std::vector<std::string> added_;
  std::vector<std::string> dropped_;
};

}  // namespace course::timed
