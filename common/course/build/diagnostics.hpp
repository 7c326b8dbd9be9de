#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/build/ninja_output.hpp"
#include "registry/registry.hpp"

namespace course::program {

/// What the compiler and the linker said of a student's files, without the build tool's lines: paths from the
/// root, a function that is declared but not written named once. Empty when nothing was said of them.
/// `target` is what was built of them, such as lesson05_student.
std::string student_diagnostics(const std::vector<BuildStep>& steps, const std::string& target,
                                const std::filesystem::path& root);

/// The first line of these that reports an error, or the first of all.
std::string first_error(const std::string& diagnostics);

}  // namespace course::program
