#pragma once

#include <stdlib.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <stdexcept>
#include <string>

namespace course {

/// A folder that goes away with all that is in it.
class TestFolder {
 public:
  TestFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "demo-test-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
    path_ = pattern;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

struct Finished {
  int code;  ///< -1 when a signal ended it
  std::string out;
  std::string err;
};

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs a line of shell in `folder`.
inline Finished run_shell(const std::string& line, const TestFolder& folder) {
  const std::filesystem::path out = folder / ".stdout";
  const std::filesystem::path err = folder / ".stderr";
  const std::string command = "cd '" + folder.path().string() + "' && { " + line + "; } >'" + out.string() +
                              "' 2>'" + err.string() + "' </dev/null";
  const int status = std::system(command.c_str());
  Finished finished{WIFEXITED(status) ? WEXITSTATUS(status) : -1, file_text(out), file_text(err)};
  std::filesystem::remove(out);
  std::filesystem::remove(err);
  return finished;
}

/// Whether a process runs whose command line contains `text`.
inline bool is_running(const std::string& text) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    try {
      if (file_text(entry.path() / "cmdline").find(text) != std::string::npos) return true;
    } catch (const std::ios_base::failure&) {  // it has ended meanwhile
    }
  }
  return false;
}

}  // namespace course
