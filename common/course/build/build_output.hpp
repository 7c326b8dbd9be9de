#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace course::program {

/// One step of a build and what it printed.
struct BuildStep {
  std::string title;  ///< "Building CXX object CMakeFiles/lesson05_student.dir/..."
  bool failed = false;
  std::vector<std::string> lines;
};

/// How far a build is.
struct BuildCount {
  int done = 0;
  int total = 0;
};

/// The seconds that a build may yet take, which has taken `seconds` so far: as long a step as these and three
/// more of a second each, so that the first of them decides little.
double seconds_left(const BuildCount& count, double seconds);

/// Takes ninja's output apart. NINJA_STATUS must be `ninja_status`.
class NinjaOutput {
 public:
  static constexpr const char* ninja_status = "[%f/%t] ";

  /// One more line; returns how far the build is when the line says so.
  std::optional<BuildCount> add(const std::string& line);

  /// The steps that printed something or failed. What no step printed (CMake configuring anew, ninja's own
  /// errors) is a step without a title.
  std::vector<BuildStep> steps() const;

 private:
  bool command_next_ = false;         ///< the line after FAILED: is the command
  std::vector<BuildStep> steps_{{}};  ///< the last one is under way
};

/// What the compiler and the linker said of a student's files, without the build tool's lines: paths from the
/// root, a function that is declared but not written named once. Empty when nothing was said of them.
/// `target` is what was built of them, such as lesson05_student.
std::string student_diagnostics(const std::vector<BuildStep>& steps, const std::string& target,
                                const std::filesystem::path& root);

/// What a linker that failed printed: each name that is defined nowhere once, in the words of
/// student_diagnostics, then its other lines, without warnings and without where in which function.
/// `contract` is the namespace of the lesson's functions, such as lesson05.
std::vector<std::string> link_errors(const std::string& output, const std::string& contract);

/// The first line of these that reports an error, or the first of all. Of an error in a header, which code in
/// a source led to, the line starts with the place in the source: "lessons/.../ring.cpp:7:3: error: ... (in
/// common/tensor/view.hpp:30:5)".
std::string first_error(const std::string& diagnostics);

/// What to show of these: a dozen lines at most. Of more the first error with the code that it is about, and
/// where all of them have been written to: a file of the target's name in .course/compiler.
std::string abridged(const std::string& diagnostics, const std::string& target,
                     const std::filesystem::path& root);

}  // namespace course::program
