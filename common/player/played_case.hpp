#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "player/library.hpp"
#include "player/stage.hpp"
#include "protocol/case.hpp"

namespace course {

/// A case as this process has read it.
struct LoadedCase {
  std::filesystem::path folder;
  CaseManifest manifest;
  int rank = -1;  ///< -1: this process has no part in the case
  std::map<std::string, Tensor> inputs;
};

/// Throws std::runtime_error naming what is wrong with the case, and std::invalid_argument with both numbers
/// when it needs more processes than there are.
LoadedCase load_case(const std::filesystem::path& folder, const Stage& stage, bool keep_inputs);

/// The shared objects that cases are played with, each loaded once, when it is first asked for.
class Libraries {
 public:
  const Library& at(const std::filesystem::path& path) {
    return loaded_.try_emplace(path, path).first->second;
  }

 private:
  std::map<std::filesystem::path, Library> loaded_;
};

/// Calls the function; returns how that ended, with what it threw.
RankReport call_function(const Library& subject, const std::string& function, Call& call);

/// Writes the report, and before it the outputs of a call that finished.
void write_outputs(const std::filesystem::path& folder, const std::map<std::string, Tensor>& outputs,
                   RankReport report);

}  // namespace course
