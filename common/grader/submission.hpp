#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "registry/registry.hpp"

namespace course::program::grader {

/// The files of one lesson as somebody handed them in. Only these are ever looked at.
struct HandedIn {
  std::map<std::string, std::string> texts;  ///< by file name
  std::vector<std::string> missing;
  std::string refusal;  ///< why a file is not taken, naming it; empty when all that are there are
};

/// Takes a lesson's files from a submission: each is lessons/NN_name/FILE, or FILE at its top. Links are not
/// followed and nothing but regular files is opened; a file may have 1 MiB. Throws std::runtime_error when
/// `folder` itself cannot be opened.
HandedIn take(const std::filesystem::path& folder, const LessonInfo& lesson);

/// Tells what was handed in for these lessons from anything else; a refusal counts like a text.
std::string files_hash(const std::filesystem::path& folder, const std::vector<LessonInfo>& lessons);

}  // namespace course::program::grader
