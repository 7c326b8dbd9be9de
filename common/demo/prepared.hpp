#pragma once

#include <filesystem>

#include "demo/demonstration.hpp"

namespace course::demo {

/// Writes the cases into a folder that is new or empty, with what the report needs beside them. Returns the
/// player's arguments. Throws UsageError for another folder, and where it cannot be written.
std::vector<std::string> prepare(const std::filesystem::path& folder, const Demonstration& shown,
                                 const Libraries& libraries);

/// Reads back what prepare() wrote. Throws UsageError for a folder that it did not write.
Demonstration read_prepared(const std::filesystem::path& folder);

/// What ranks have made of it. Throws std::runtime_error that says what is missing.
std::vector<Outcome> read_played(const std::filesystem::path& folder, const Demonstration& shown);

}  // namespace course::demo
