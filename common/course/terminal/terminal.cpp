#include "course/terminal/terminal.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#include "protocol/errors.hpp"
#include "tensor/npy.hpp"

namespace course::program {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool capable_terminal(std::FILE* stream) {
  const std::string term = variable("TERM");
  return isatty(fileno(stream)) != 0 && !term.empty() && term != "dumb";
}

}  // namespace

bool colour_on(std::FILE* stream) {
  return capable_terminal(stream) && variable("NO_COLOR").empty();
}

std::string painted(const std::string& text, Colour colour) {
  static const bool on = colour_on(stdout);
  return on ? fmt::format("\033[{}m{}\033[0m", static_cast<int>(colour), text) : text;
}

bool utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = variable(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

int columns(std::FILE* stream, int otherwise) {
  const int asked = std::atoi(variable("COLUMNS").c_str());
  if (asked > 0) return asked;
  winsize size{};
  if (isatty(fileno(stream)) != 0 && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  return otherwise;
}

std::string fitted(const std::string& text, Wrapping wrapping) {
  return wrapping(text, static_cast<std::size_t>(columns(stdout, 0)));
}

void complain(const std::string& text) {
  std::fflush(stdout);  // so that the two streams stay in order where they go to one place
  std::fprintf(stderr, "course: %s\n", text.c_str());
}

int report_exception() {
  const auto say = [](const char* text, int code) {
    complain(text);
    return code;
  };
  try {
    throw;
  } catch (const WouldWait&) {
    return WouldWait::exit_code;
  } catch (const UsageError& error) {
    return say(error.what(), wrong_usage);
  } catch (const NpyError& error) {
    return say(error.what(), wrong_usage);
  } catch (const Unavailable& error) {
    return say(error.what(), unavailable);
  } catch (const std::bad_alloc&) {
    return say("this machine has too little memory for it", unavailable);
  } catch (const std::exception& error) {
    return say(error.what(), failed);
  }
}

std::string duration(double seconds) {
  const long whole = static_cast<long>(seconds + 0.5);
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

ProgressLine::ProgressLine(std::chrono::seconds interval)
    : start_(std::chrono::steady_clock::now()),
      shown_(start_),
      interval_(interval),
      rewrites_(capable_terminal(stderr)) {}

void ProgressLine::show(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (rewrites_) {
    const std::size_t width = static_cast<std::size_t>(columns(stderr, 80)) - 1;
    std::fprintf(stderr, "\r\033[K%s", text.substr(0, width).c_str());
    visible_ = true;
  } else if (now - shown_ >= interval_) {
    complain(text);
    shown_ = now;
  }
}

void ProgressLine::clear() {
  if (visible_) std::fprintf(stderr, "\r\033[K");
  visible_ = false;
}

double ProgressLine::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  std::string word;
  bool begun = false;
  char quote = 0;
  for (const char c : command) {
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
      begun = true;
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      if (begun) words.push_back(word);
      word.clear();
      begun = false;
    } else {
      word += c;
      begun = true;
    }
  }
  if (quote != 0) throw UsageError("a quote is left open in the command: " + command);
  if (begun) words.push_back(word);
  if (words.empty())
    throw UsageError("expected a command, such as --player 'python3 my_player.py', and got none");
  return words;
}

std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace course::program
