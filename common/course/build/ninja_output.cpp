#include "course/build/ninja_output.hpp"

#include <cstdio>

namespace course::program {

namespace {

bool is_noise(const std::string& line) {
  return line.empty() || line.starts_with("-- ") || line.starts_with("ninja: no work to do") ||
         line.starts_with("ninja: Entering directory") || line.starts_with("ninja: build stopped");
}

/// Whether ninja plans the build again after this step.
bool counts_anew(const std::string& title) {
  return title.starts_with("Re-checking ") || title.starts_with("Re-running ");
}

}  // namespace

double seconds_left(const BuildCount& count, double seconds) {
  constexpr int usual_steps = 3;
  return (count.total - count.done) * (seconds + usual_steps) / (count.done + usual_steps);
}

BuildStep& NinjaOutput::current() {
  if (!open_) steps_.push_back({title_, false, {}});
  open_ = true;
  return steps_.back();
}

std::optional<BuildCount> NinjaOutput::add(const std::string& line) {
  BuildCount count;
  int length = 0;
  if (std::sscanf(line.c_str(), "[%d/%d] %n", &count.done, &count.total, &length) == 2 && length > 0) {
    title_ = line.substr(static_cast<std::size_t>(length));
    open_ = false;
    if (counts_anew(title_)) return std::nullopt;
    return count;
  }
  if (line.starts_with("FAILED: ")) {
    current().failed = true;
    command_next_ = true;
  } else if (command_next_) {
    command_next_ = false;
  } else if (!is_noise(line)) {
    current().lines.push_back(line);
  }
  return std::nullopt;
}

}  // namespace course::program
