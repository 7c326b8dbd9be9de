#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "player/adapter.hpp"
#include "player/stage.hpp"
#include "protocol/case.hpp"
#include "protocol/player_options.hpp"

namespace course {

/// A lesson's shared object. It stays loaded as long as the process lives.
class Library {
 public:
  /// What is wrong with loading it is told by those who use it.
  explicit Library(const std::filesystem::path& path);
  /// The one at this path, which is loaded when it is first asked for.
  static const Library& at(const std::filesystem::path& path);

  /// Throws std::runtime_error in the loader's own words, or when there is none.
  const Adapter& adapter() const;
  const LessonBlocks& blocks() const;

  /// The function of this name, for programs that know its type.
  template <class Entry>
  Entry* entry(const char* name) const {
    return reinterpret_cast<Entry*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  std::filesystem::path path_;
  void* library_;
  std::string wrong_;
};

/// Throws std::runtime_error where this process may not read the file or not run what it holds, as on a file
/// system that is mounted noexec. Runs nothing of it.
void require_loadable(const std::filesystem::path& subject);

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

/// Calls the function; returns how that ended, with what it threw.
/// @param marks of the call's inputs, which have to stay as they are; null: nobody looks
RankReport call_function(const Library& subject, const std::string& function, Call& call,
                         const Call::InputMarks* marks = nullptr);

/// Writes the report, and before it the outputs of a call that finished.
void write_outputs(const std::filesystem::path& folder, const std::map<std::string, Tensor>& outputs,
                   RankReport report);

/// Plays the cases in turns, so that what else the machine does meets all alike, and writes what each rank
/// saw of them. Throws std::runtime_error with what a function threw.
void play_timed(const PlayerOptions& options, std::vector<LoadedCase> cases, Stage& stage, RankStatus& page);

}  // namespace course
