#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "registry/registry.hpp"
#include "runner/descriptor.hpp"

namespace course::program::grader {

/// The files of one lesson as somebody handed them in. Only these are ever played.
struct HandedIn {
  std::map<std::string, std::string> texts;             ///< by file name
  std::map<std::string, std::filesystem::path> places;  ///< by file name: where it lay, from the top
  std::vector<std::string> missing;
  std::string refusal;  ///< why a file is not taken, naming it; empty when all that are there are
};

/// A file that is there and is not taken.
struct NotTaken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The file at a path below `folder`; nullopt when there is none. Throws NotTaken for a link, for anything
/// but a regular file, and for one of more than 1 MiB.
std::optional<std::string> read_below(const Descriptor& folder, const std::filesystem::path& path);

/// The files below a folder, from it, in order; none in hidden folders, in its build/ and behind links. Not
/// more than 20000 entries and ten folders deep are looked at.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder);

/// Takes a lesson's files from a submission: each is lessons/NN_name/FILE, or FILE at its top. Links are not
/// followed and nothing but regular files is opened; a file may have 1 MiB. Throws std::runtime_error when
/// `folder` itself cannot be opened.
HandedIn take(const std::filesystem::path& folder, const LessonInfo& lesson);

/// What lies in the submission under a name like that of a lesson's file, and where it has to be moved; empty
/// where there is none. Left out are copies of the skeleton, and what the course in `root` has at the same
/// place.
std::string found_elsewhere(const std::filesystem::path& folder, const std::filesystem::path& root,
                            const LessonInfo& lesson, const std::string& file,
                            const std::optional<std::string>& skeleton);

/// What to say of an answer in Python that lies where the lesson's file would be taken; empty where there is
/// none, or the skeleton that the course in `root` has.
std::string answered_in_python(const std::filesystem::path& folder, const std::filesystem::path& root,
                               const LessonInfo& lesson, const std::string& file);

/// Of a file of the lesson that is missing: found_elsewhere, or where it was looked for and
/// answered_in_python.
std::string where_it_was_looked_for(const std::filesystem::path& folder, const std::filesystem::path& root,
                                    const LessonInfo& lesson, const std::string& file);

/// Tells what was handed in for a lesson from anything else; a refusal counts like a text.
std::string files_hash(const HandedIn& handed_in);

/// The text with the line ends of Unix.
std::string with_unix_lines(const std::string& text);

/// Whether two texts are equal but for the ends of their lines.
bool same_lines(const std::string& one, const std::string& other);

}  // namespace course::program::grader
