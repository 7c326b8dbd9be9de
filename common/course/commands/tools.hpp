#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace course::program {

/// A command that a student seldom needs: of course-tools, the program beside course-program, so that less is
/// compiled by the first ./course, or of a program of its own, which course-program builds and becomes.
struct ToolCommand {
  const char* name;
  const char* what;               ///< for --help
  const char* program = nullptr;  ///< null: course-tools
};

inline constexpr std::array<ToolCommand, 12> tool_commands{{
    {"locate", "the line that a task fails by, found by small changes of my file", "course_locate"},
    {"trace", "run a lesson's code, draw the timeline", "ring_lab"},
    {"lab", "a laboratory: rings on a link of a chosen speed", "ring_lab"},
    {"doctor", "what was found on this machine, what is skipped and why"},
    {"test", "the course's own tests"},
    {"demo", "ring attention on real data over four MPI ranks", "ring_demo"},
    {"bench", "how fast attention is, against Eigen's matrix product; exit 0 whatever it is", "course_bench"},
    {"grade", "the scoreboard: mine, or that of what others have handed in"},
    {"handout", "a copy for students, without solutions"},
    {"release", "give out a lesson's solution"},
    {"pack", "judges and answers for a machine that has a GPU but not the course's packages"},
    {"new-lesson", "begin a lesson like one that there is"},
}};

/// What ./course lab knows.
inline constexpr std::array laboratories{"slow-network", "two-hosts"};

/// The one among the arguments, before which stand only flags; null where there is none.
inline const ToolCommand* tool_among(int argc, char** argv) {
  const auto word =
      std::find_if(argv + std::min(argc, 1), argv + argc, [](const char* one) { return *one != '-'; });
  const auto tool = std::ranges::find_if(tool_commands, [&](const ToolCommand& command) {
    return word != argv + argc && std::string_view(command.name) == *word;
  });
  return tool == tool_commands.end() ? nullptr : &*tool;
}

}  // namespace course::program
