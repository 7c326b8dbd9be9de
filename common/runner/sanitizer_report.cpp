#include "runner/sanitizer_report.hpp"

#include <vector>

#include "text/text_file.hpp"

namespace course {

namespace {

/// Where a path into what a student edits starts in the line; npos when there is none.
std::size_t submission_path(const std::string& line) {
  for (const std::string folder : {"/.course/drill/", "/lessons/"}) {
    const std::size_t at = line.find(folder);
    if (at != std::string::npos) return at + 1;
  }
  return std::string::npos;
}

/// A line without its path's start: "lessons/01_safe_softmax/safe_softmax.cpp:28:9: ..." of a line that
/// starts with a path, "in softmax(...) lessons/..." of a line of a stack.
std::string shortened(const std::string& line) {
  const std::size_t path = submission_path(line);
  if (path == std::string::npos) return line;
  const std::size_t words = line.find(" in ");
  if (words == std::string::npos || words > path) return line.substr(path);
  const std::size_t of_root = line.rfind(" /", path);
  const std::size_t before_path = of_root == std::string::npos ? line.rfind(' ', path) : of_root;
  const std::string any_length = ", 18446744073709551615ul";  // of a std::span, as its type says
  std::string call = line.substr(words + 1, before_path - words);
  for (std::size_t at; (at = call.find(any_length)) != std::string::npos;) call.erase(at, any_length.size());
  return call + line.substr(path);
}

std::string up_to(const std::string& text, const std::string& end) {
  return text.substr(0, text.find(end));
}

/// "MPI_Send" of a stack's line "    #1 0x7f in MPI_Send /home/...", empty of another's.
std::string mpi_call(const std::string& line) {
  const std::size_t at = line.find(" in MPI_");
  return at == std::string::npos ? "" : up_to(line.substr(at + 4), " ");
}

/// AddressSanitizer's report, which starts at line `i`: the kind, the access, and the first line of the stack
/// that is the submission's own.
std::string address_report(const std::vector<std::string>& lines, std::size_t i) {
  const std::string kind = lines[i].substr(lines[i].find("AddressSanitizer"));
  std::string report = up_to(up_to(kind, " on address"), " on unknown address");
  for (++i; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.starts_with("READ ") || line.starts_with("WRITE ")) report += ", " + up_to(line, " at 0x");
    if (!line.starts_with("    #")) continue;
    if (const std::string call = mpi_call(line); !call.empty()) report += " in " + call;
    if (submission_path(line) != std::string::npos) return report + "\n" + shortened(line);
  }
  return report;
}

/// UndefinedBehaviorSanitizer's report, in line `i`. What a library's line did, the first line of the stack
/// that is the submission's own made it do.
std::string undefined_report(const std::vector<std::string>& lines, std::size_t i) {
  const std::string& error = lines[i];
  if (submission_path(error) != std::string::npos) return shortened(error);
  for (++i; i < lines.size() && lines[i].starts_with("    #"); ++i) {
    if (submission_path(lines[i]) != std::string::npos)
      return error.substr(error.find("runtime error: ")) + "\n" + shortened(lines[i]);
  }
  return error;
}

}  // namespace

std::string sanitizer_report(const std::string& printed) {
  const std::vector<std::string> lines = lines_of(printed);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find("ERROR: AddressSanitizer: ") != std::string::npos) return address_report(lines, i);
    if (lines[i].find(": runtime error: ") != std::string::npos) return undefined_report(lines, i);
  }
  return "";
}

}  // namespace course
