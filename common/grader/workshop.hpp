#pragma once

#include <filesystem>
#include <string>

#include "grader/submission.hpp"
#include "grader/toolchain.hpp"
#include "runner/confinement.hpp"
#include "runner/temporary_folder.hpp"

namespace course::grader {

/// Whether objects are searched for what they may not use. Left out only to test what else holds them.
enum class Examination { Whole, Skipped };

/// Where one lesson of one submission is made into something that can be played: a folder that the confined
/// user may enter, with copies of the headers, tools and player that it needs, and nothing else of the
/// course.
class Workshop {
 public:
  /// Throws std::runtime_error when the course itself cannot be set up.
  Workshop(const program::Checkout& checkout, const LessonInfo& lesson, Isolation isolation);

  /// What was handed in, compiled, examined and linked confined. Returns why there is nothing to play, or an
  /// empty string.
  std::string make(const HandedIn& handed_in, Examination examination = Examination::Whole);

  const std::filesystem::path& subject() const { return subject_; }
  const std::filesystem::path& player() const { return player_; }
  uid_t user() const { return confinement_.user(); }

 private:
  std::filesystem::path at(const char* name) const { return temporary_.path() / name; }
  std::filesystem::path object_of(const std::string& file) const;
  std::string compile(const std::string& file, const std::string& text) const;
  std::string examine(const std::string& file) const;
  std::string link(const HandedIn& handed_in) const;
  std::string without_places(std::string text) const;

  const program::Checkout& checkout_;
  const LessonInfo& lesson_;
  Toolchain tools_;
  Confinement confinement_;
  TemporaryFolder temporary_;
  std::filesystem::path subject_;
  std::filesystem::path player_;
};

}  // namespace course::grader
