#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/workspace/checkout.hpp"

namespace course::grader {

using Words = std::vector<std::string>;

/// How this checkout's own build compiles and links what a student edits of a lesson.
struct Toolchain {
  Words compile;  ///< compiler and options, without the checkout's include folders and without file names
  Words link;     ///< the whole command; subject_mark and objects_mark stand for what differs
  std::vector<std::filesystem::path> link_files;  ///< of the build, absolute: the adapter, libraries
  std::vector<std::filesystem::path> headers;     ///< that a submission may include, from the checkout's root
};

inline constexpr const char* subject_mark = "@subject@";
inline constexpr const char* objects_mark = "@objects@";

/// Reads it off the configured build tree. Throws std::runtime_error naming what the tree lacks.
Toolchain toolchain_of(const program::Checkout& checkout, const LessonInfo& lesson);

/// A header's place below an include folder: "tensor/view.hpp", or for a lesson's contract its bare name.
std::filesystem::path include_name(const std::filesystem::path& header);

}  // namespace course::grader
