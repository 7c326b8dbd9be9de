#include "timed/output_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "protocol/errors.hpp"
#include "running.hpp"

namespace course::timed {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(OutputFolder, LeavesNothingUnlessCommitted) {
  const TestFolder folder;
  {
    OutputFolder output(folder / "new/deeper");
    output.add("a.txt", std::string("text"));
    EXPECT_TRUE(fs::exists(folder / "new/deeper"));
  }
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(OutputFolder, LeavesAnOlderFolderAsItWas) {
  const TestFolder folder;
  std::ofstream(folder / "a.txt") << "old";
  {
    OutputFolder output(folder.path());
    output.add("a.txt", std::string("new"));
    output.drop("b.txt");
  }
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a.txt"});
  EXPECT_EQ(file_text(folder / "a.txt"), "old");
}

TEST(OutputFolder, ReplacesDropsAndCleansUpWhenCommitted) {
  const TestFolder folder;
  std::ofstream(folder / "a.txt") << "old";
  std::ofstream(folder / "b.txt") << "stale";
  std::ofstream(folder / "c.txt") << "another's";
  {
    OutputFolder output(folder.path());
    output.add("a.txt", std::string("new"));
    output.drop("b.txt");
    output.drop("never_there.txt");
    output.commit();
  }
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"a.txt", "c.txt"}));
  EXPECT_EQ(file_text(folder / "a.txt"), "new");
}

TEST(OutputFolder, RefusesWhatIsNoFolderOrHasNoRoom) {
  const TestFolder folder;
  std::ofstream(folder / "file") << "text";
  EXPECT_THROW(OutputFolder{folder / "file"}, UsageError);
  EXPECT_THROW(OutputFolder{folder / "file/below"}, UsageError);
  EXPECT_THROW(OutputFolder{"/proc/nowhere"}, UsageError);
  EXPECT_THROW(OutputFolder{""}, UsageError);
  fs::create_symlink(folder / "gone", folder / "link");
  EXPECT_THROW(OutputFolder{folder / "link"}, UsageError);
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  fs::create_directories(folder / "out/o.npy");
  OutputFolder output(folder / "out");
  EXPECT_THROW(output.add("o.npy", std::string("text")), UsageError);
}

}  // namespace
}  // namespace course::timed
