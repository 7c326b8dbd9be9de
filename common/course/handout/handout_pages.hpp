#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "registry/registry.hpp"

namespace course::program {

// What pages say in a handout that holds a part of the course.

/// A page without what stands between a line "<!-- not in a handout -->", or "<!-- in a handout with
/// lessons 04 05 -->" where one of these is not held, and the line "<!-- in a handout, too -->". Throws
/// std::invalid_argument with the page's name where one stands without the other.
std::string without_instructors_parts(const std::string& name, const std::string& page,
                                      const std::vector<LessonInfo>& held);

/// README.md without the table rows, list items and pictures that link to files which `exists` (given the
/// link's target, from the root) denies, and without the titles of rows that then have none.
std::string without_dead_items(const std::string& page,
                               const std::function<bool(const std::string&)>& exists);

/// A page whose links to files that `exists` (given the target, from the page's folder) denies are plain
/// text, and without such pictures; the lines of their paragraphs are filled again. What is code stays as it
/// is.
std::string without_dead_links(const std::string& page,
                               const std::function<bool(const std::string&)>& exists);

/// A page whose examples are of the course's lessons, such as README.md, with commands on lessons that are
/// held: where one is not, on the first that is. A comment beside a command names the same lesson.
std::string with_held_lessons(const std::string& page, const std::vector<LessonInfo>& all,
                              const std::vector<LessonInfo>& held);

/// A page of the interview bank with the questions that need lessons of these alone; nullopt where none is
/// left of a page that had some.
std::optional<std::string> with_questions_of(const std::string& page, const std::vector<LessonInfo>& held);

/// The bank's own page, whose table counts the questions of each page as they are in `folder`.
std::string with_questions_counted(const std::string& page, const std::filesystem::path& folder);

/// The lessons that these build on, directly or not, and that are not among them, in the registry's order.
/// @param registry the text of lessons/registry.json
std::vector<std::string> lessons_built_on(const std::string& registry, const std::vector<LessonInfo>& held);

}  // namespace course::program
