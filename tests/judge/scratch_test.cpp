#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "runner/temporary_folder.hpp"

namespace course {

namespace {

namespace fs = std::filesystem;

/// Makes a folder in `parent` in a process of its own, which prints its path and is then killed or goes on.
class Other {
 public:
  explicit Other(const fs::path& parent) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    pid_ = fork();
    if (pid_ == 0) {
      setenv("TMPDIR", parent.c_str(), 1);
      const TemporaryFolder temporary;
      const std::string path = temporary.path();
      [[maybe_unused]] const auto written = write(ends[1], path.c_str(), path.size());
      for (;;) pause();
    }
    char path[1024];
    const ssize_t length = read(ends[0], path, sizeof path);
    folder_ = std::string(path, static_cast<std::size_t>(std::max<ssize_t>(0, length)));
    close(ends[0]);
    close(ends[1]);
    fs::last_write_time(folder_, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  ~Other() { end(); }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  void end() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    pid_ = 0;
  }
  const fs::path& folder() const { return folder_; }

 private:
  pid_t pid_;
  fs::path folder_;
};

TEST(ScratchFolder, OfAProcessThatWasKilledIsRemovedByTheNext) {
  const TemporaryFolder parent;
  Other living(parent.path());
  Other killed(parent.path());
  killed.end();
  ASSERT_TRUE(fs::exists(killed.folder()));
  const Other next(parent.path());
  EXPECT_FALSE(fs::exists(killed.folder()));
  EXPECT_TRUE(fs::exists(living.folder()));
  EXPECT_TRUE(fs::exists(next.folder()));
}

TEST(ScratchFolder, LeavesWhatOthersHaveMade) {
  const TemporaryFolder parent;
  const Other killed(parent.path());
  const std::string name = killed.folder().filename();
  std::vector<fs::path> theirs{parent.path() / "course.backup", parent.path() / (name + "s"),
                               parent.path() / ("my-" + name)};
  for (const fs::path& folder : theirs) fs::create_directory(folder);
  if (geteuid() == 0) {
    theirs.push_back(parent.path() / (name.substr(0, name.size() - 6) + "nobody"));
    fs::create_directory(theirs.back());
    ASSERT_EQ(chown(theirs.back().c_str(), 65534, 65534), 0);
  }
  for (const fs::path& folder : theirs)
    fs::last_write_time(folder, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const Other next(parent.path());
  for (const fs::path& folder : theirs) EXPECT_TRUE(fs::exists(folder)) << folder;
}

TEST(ScratchFolder, GoesWithItsObject) {
  fs::path folder;
  {
    const TemporaryFolder temporary;
    folder = temporary.path();
    EXPECT_TRUE(fs::is_directory(folder));
  }
  EXPECT_FALSE(fs::exists(folder));
}

}  // namespace

}  // namespace course
