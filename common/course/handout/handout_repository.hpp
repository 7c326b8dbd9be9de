#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "course/workspace/checkout.hpp"
#include "runner/temporary_folder.hpp"

namespace course::program {

/// The last commit of the instructor's checkout, unpacked into a folder that goes away. What lies uncommitted
/// in the working tree, a student's own answers among it, is not there.
class CommittedCourse {
 public:
  /// Throws Unavailable when the checkout has no git history, or is a handout.
  explicit CommittedCourse(const Checkout& checkout);

  const Checkout& course() const { return course_; }
  const std::string& commit() const { return commit_; }  ///< its abbreviated name

 private:
  TemporaryFolder folder_;
  Checkout course_;
  std::string commit_;
};

/// A handout: a git repository of its own in which every handout and every release is a commit on top of the
/// one before, so that students pull them.
class HandoutRepository {
 public:
  /// Throws UsageError where `folder` is neither an earlier handout nor free to become one.
  explicit HandoutRepository(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  bool is_new() const { return last_.empty(); }

  /// What the last update holds: ids of lessons, and the folders under solutions/.
  const std::set<std::string>& lessons() const { return lessons_; }
  const std::set<std::string>& released() const { return released_; }

  /// What there is to do to the files of the last update, whose folder it is given.
  using Change = std::function<void(const std::filesystem::path&)>;

  /// Commits the changed files as the next update and merges it into what the folder has now. The change is
  /// made elsewhere: when something fails, nothing has happened. Returns the update's number, or 0 when
  /// nothing has changed. Throws std::runtime_error with git's words where it contradicts what was edited in
  /// the folder.
  int publish(const Change& change, const std::string& message);

 private:
  void look_at_last_update();
  void publish_first(const Change& change, const std::string& message) const;
  int publish_next(const Change& change, const std::string& message) const;
  void merge(const std::filesystem::path& place, int number) const;

  std::filesystem::path folder_;
  std::string last_;  ///< the last update's commit; empty where there is none
  std::set<std::string> lessons_;
  std::set<std::string> released_;
};

}  // namespace course::program
