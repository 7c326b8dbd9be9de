#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace course::program {

/// Notices that files were saved, by looking at them twice a second: at what they hold and when they were
/// written. So any file system will do, and an editor may write in place or put a new file under the old
/// name.
class FileWatcher {
 public:
  /// The files as they are now count as seen.
  explicit FileWatcher(std::vector<std::filesystem::path> files);

  /// Waits until a file is not as it was last seen, and has come to rest. A file that is gone is waited for.
  /// `at_each_look` is called before every look. Throws Interrupted.
  void wait(const std::function<void()>& at_each_look = [] {});

 private:
  using Look = std::optional<std::pair<std::string, std::filesystem::file_time_type>>;

  static Look look_at(const std::filesystem::path& file);
  bool news();

  std::vector<std::filesystem::path> files_;
  std::vector<Look> seen_;
};

}  // namespace course::program
