#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "course/workspace/checkout.hpp"

namespace course::program {

/// Makes a lesson's shared object of the student's from other contents of one of the files, beside the build:
/// with the build's own commands, but without optimisation and with what the file includes compiled once.
class EditedBuild {
 public:
  /// @param file what is edited, from the root
  /// @param folder an empty one, which outlives this
  /// Throws std::runtime_error where the build tool names no command for the file.
  EditedBuild(const Checkout& checkout, const LessonInfo& lesson, const std::filesystem::path& file,
              const std::filesystem::path& folder);

  /// Compiles into `folder`, which is its caller's alone, and links. Nothing where that fails. May be called
  /// from several threads.
  std::filesystem::path make(const std::string& source, const std::filesystem::path& folder) const;

 private:
  void compile_headers(const std::string& source, const std::filesystem::path& folder);

  std::filesystem::path tree_, file_;
  std::vector<std::string> commands_;
  std::vector<std::pair<std::string, std::string>>
      outputs_;          ///< as the commands name them, and their endings
  std::string options_;  ///< added to the compiler's
};

/// A compile without compile-answer before it, which looks at its includes: the file's own build had it look,
/// and no edit changes them. Every other command as it is.
std::string without_launcher(const std::string& command);

}  // namespace course::program
