#pragma once

#include <string>

namespace course {

/// The student's file, cut from a solution by its marks:
///   //> task 1     the start of what the student writes
///   //| text       a line of the skeleton, standing in its place
///   //< task 1     the end
/// Everything outside the marks is kept; of several blank lines in a row, one. Throws std::invalid_argument
/// with the line of a mark that has no partner.
std::string skeleton_of(const std::string& solution);

/// The solution without its marks, for reading.
std::string unmarked(const std::string& solution);

/// Whether two texts are equal but for blanks and comments.
bool same_code(const std::string& one, const std::string& other);

}  // namespace course
