#include "course/terminal/progress_line.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace course::demo {

namespace {

bool terminal_rewrites() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

ProgressLine::ProgressLine(std::string program)
    : program_(std::move(program)),
      rewrites_(terminal_rewrites()),
      next_(begin_ + std::chrono::seconds(rewrites_ ? 1 : 5)) {}

void ProgressLine::say(const std::string& text) {
  const Clock::time_point now = Clock::now();
  if (text.empty() || now < next_) return;
  const long long seconds = std::chrono::duration_cast<std::chrono::seconds>(now - begin_).count();
  std::fprintf(stderr, "%s%s: %s, %lld s%s", rewrites_ ? "\r\033[K" : "", program_.c_str(), text.c_str(),
               seconds, rewrites_ ? "" : "\n");
  std::fflush(stderr);
  shown_ = true;
  next_ = now + (rewrites_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(5000));
}

void ProgressLine::clear() {
  if (shown_ && rewrites_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

}  // namespace course::demo
