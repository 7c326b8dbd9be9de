#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "text/wrapped.hpp"

namespace course::program {

/// By the numbers that terminals know them by.
enum class Colour { Bold = 1, Red = 31, Green = 32, Yellow = 33, Grey = 90 };

/// Whether colour belongs on this stream: a terminal that is not dumb, and NO_COLOR is not set.
bool colour_on(std::FILE* stream);

/// The text in a colour where stdout takes it.
std::string painted(const std::string& text, Colour colour);

/// Whether the locale's characters are UTF-8.
bool utf8();

/// The width of the terminal on this stream, else `otherwise`; COLUMNS overrules.
int columns(std::FILE* stream, int otherwise);

/// Breaks what takes more columns than so many; 0 is any number: one of text/wrapped.hpp.
using Wrapping = std::string (*)(const std::string& text, std::size_t width);

/// The text with lines that do not fit on stdout's terminal broken; elsewhere only as COLUMNS asks.
std::string fitted(const std::string& text, Wrapping wrapping = wrapped);

/// One line on stderr: "course: TEXT".
void complain(const std::string& text);

/// Says what is being thrown at the moment, in one line as above, and returns the exit code that it means.
/// Call it in a catch block.
int report_exception();

/// "4 s", "3 min 20 s"
std::string duration(double seconds);

/// How far a long work is, on stderr: one line, rewritten in place on a terminal; elsewhere a line now
/// and then.
class ProgressLine {
 public:
  explicit ProgressLine(std::chrono::seconds interval = std::chrono::seconds(10));
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text);
  /// Makes room for other output.
  void clear();
  double seconds() const;  ///< since construction

 private:
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point shown_;
  std::chrono::seconds interval_;
  bool rewrites_;
  bool visible_ = false;
};

/// A command in one string, cut into words at blanks; quotes ('...' and "...") hold a word together. Throws
/// UsageError for an open quote or a command without a word.
std::vector<std::string> words_of(const std::string& command);

/// The text as one word of a shell, in single quotes.
std::string shell_word(const std::string& text);

/// What `text_of`, which may be a member, makes of each item, with `between` between two of them.
template <class Items, class TextOf = std::identity>
std::string joined(const Items& items, const TextOf& text_of = {}, const std::string& between = ", ") {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : between) + std::invoke(text_of, item);
  return text;
}

}  // namespace course::program
