#include "course/workspace/file_watcher.hpp"

#include <chrono>

#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds between_looks{500};
constexpr std::chrono::milliseconds settling_time{50};  ///< between two looks at a file that is being written
constexpr int settling_looks = 20;

}  // namespace

FileWatcher::FileWatcher(std::vector<fs::path> files) : files_(std::move(files)) {
  for (const fs::path& file : files_) seen_.push_back(look_at(file));
}

void FileWatcher::wait(const std::function<void()>& at_each_look) {
  at_each_look();
  while (!news()) {
    pause_for(between_looks);
    at_each_look();
  }
  for (int look = 0; look < settling_looks; ++look) {
    pause_for(settling_time);
    if (!news()) return;
  }
}

FileWatcher::Look FileWatcher::look_at(const fs::path& file) {
  try {
    return std::pair(read_text(file), fs::last_write_time(file));
  } catch (const std::runtime_error&) {
    return std::nullopt;  // gone, or not to be read: as if it were not there
  }
}

bool FileWatcher::news() {
  bool any = false;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    Look now = look_at(files_[i]);
    if (!now || now == seen_[i]) continue;
    seen_[i] = std::move(now);
    any = true;
  }
  return any;
}

}  // namespace course::program
