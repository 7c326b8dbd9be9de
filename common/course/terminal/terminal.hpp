#pragma once

#include <chrono>
#include <cstdio>
#include <string>

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

/// One line on stderr: "course: TEXT".
void complain(const std::string& text, const char* program = "course");

/// Says what is being thrown at the moment, in one line as above, and returns the exit code that it means.
/// Call it in a catch block.
int report_exception(const char* program = "course");

/// "4 s", "3 min 20 s"
std::string duration(double seconds);

/// How far a long work is, on stderr: one line, rewritten in place on a terminal; elsewhere a line of
/// `program` now and then.
class ProgressLine {
 public:
  explicit ProgressLine(std::chrono::seconds interval = std::chrono::seconds(10),
                        const char* program = "course");
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
  const char* program_;
  bool rewrites_;
  bool visible_ = false;
};

}  // namespace course::program
