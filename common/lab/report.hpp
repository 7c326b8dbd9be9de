#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/laboratory.hpp"
#include "timed/timed.hpp"

namespace course::lab {

/// For people: settings, timelines, and what became of the course's promises.
std::string laboratory_text(const Laboratory& laboratory, const std::vector<Measured>& settings,
                            const timed::Page& page);
/// One JSON object.
std::string laboratory_json(const Laboratory& laboratory, const std::vector<Measured>& settings,
                            const std::vector<std::filesystem::path>& files);
/// The three timelines of a setting, one above the other, on one axis.
std::string laboratory_svg(const Laboratory& laboratory, const Measured& measured);

/// "Written", and the files below.
std::string written(const std::vector<std::filesystem::path>& files);

}  // namespace course::lab
