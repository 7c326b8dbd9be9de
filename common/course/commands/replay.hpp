#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/workspace/checkout.hpp"

namespace course::program {

struct ReplayOptions {
  std::string case_name;            ///< a name in .course/cases or the path of a case's folder
  std::optional<int> gdb_rank;      ///< this rank runs under gdb
  std::optional<int> gdb_port;      ///< there it waits for a debugger, in place of gdb at the keyboard
  std::string subject = "student";  ///< or "solution"
  /// A command in place of the built-in player; it is given the lesson's folder, and nothing is compiled.
  std::optional<std::string> player;
  double limit_s = 60;  ///< then a replay that is not under gdb is ended
};

/// Plays a kept case again on the student's code, or the solution's, with what it prints on screen. Nothing
/// is judged.
int replay(const Checkout& checkout, const ReplayOptions& options);

/// The lesson of a case, from its folder's name: "lesson05.2.ranks3". Throws UsageError.
const LessonInfo& lesson_of_case(const std::vector<LessonInfo>& lessons, std::string_view folder_name);

/// What goes before a command to debug it: gdb, or gdbserver on a port.
std::vector<std::string> debugger(std::optional<int> port);

/// The command that starts `ranks` players under mpirun, world rank `gdb_rank`, if it is given, under this
/// debugger.
std::vector<std::string> ranks_command(const std::vector<std::string>& player, int ranks,
                                       std::optional<int> gdb_rank,
                                       const std::vector<std::string>& debugger_words);

}  // namespace course::program
