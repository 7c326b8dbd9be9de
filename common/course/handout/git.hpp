#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runner/subprocess.hpp"

namespace course::program {

/// Throws Unavailable when there is no git on this machine.
void require_git();

/// git with these arguments, in `folder`. The user's hooks, signatures and line endings stay out of it;
/// commits are the course's own.
Command git_command(const std::filesystem::path& folder, const std::vector<std::string>& arguments);

/// Runs it and returns how it ended and what it printed.
Captured ask_git(const std::filesystem::path& folder, const std::vector<std::string>& arguments);

/// What git printed. Throws std::runtime_error with its words when it fails.
std::string git(const std::filesystem::path& folder, const std::vector<std::string>& arguments);

}  // namespace course::program
