#pragma once

#include <filesystem>
#include <string>

#include "protocol/status_page.hpp"

namespace course {

/// This process's page in the file that the judge reads; nobody's where `path` is empty. It stays as long as
/// the process lives. Throws std::runtime_error with the path.
RankStatus& enter_page(const std::filesystem::path& path, int world_rank);

void set_phase(RankStatus& page, Phase phase);
/// What the function threw, or how far it is.
void set_text(RankStatus& page, const std::string& text);

/// From now on a signal that kills this process is first written to the page. A crash must find a stack to
/// run on even when the stack is what overflowed.
void report_crashes(RankStatus& page);

}  // namespace course
