#pragma once

#include <optional>
#include <string>

namespace course {

/// The student's file, cut from a solution by its marks:
///   //> task 1     the start of what the student writes
///   //| text       a line of the skeleton, standing in its place
///   //< task 1     the end
/// In Python the marks are #>, #| and #<.
/// Everything outside the marks is kept; of several blank lines in a row, one. Throws std::invalid_argument
/// with the line of a mark that has no partner.
std::string skeleton_of(const std::string& solution);

/// The solution without its marks, for reading.
std::string unmarked(const std::string& solution);

/// Whether two texts are equal but for blanks and comments.
bool same_code(const std::string& one, const std::string& other);

/// The line, from 1, on which the definition of the function with this name (without namespaces) has that
/// name; nullopt when the text has only declarations or calls of it, or nothing.
std::optional<int> definition_line(const std::string& text, const std::string& function);

/// The text without the definition of that function and the comment right above it, or as it is where it has
/// none.
std::string without_definition(const std::string& text, const std::string& function);

/// The text with nothing but `statement` in the body of that function. Throws std::invalid_argument where it
/// is not defined.
std::string with_body(const std::string& text, const std::string& function, const std::string& statement);

}  // namespace course
