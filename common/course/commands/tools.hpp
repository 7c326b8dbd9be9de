#pragma once

#include <array>
#include <string_view>

namespace course::program {

/// A command of course-tools, the program beside course-program that holds what a student seldom needs: so
/// the first ./course compiles less.
struct ToolCommand {
  const char* name;
  const char* what;  ///< for --help
};

inline constexpr std::array<ToolCommand, 9> tool_commands{{
    {"trace", "run a lesson's code, draw the timeline"},
    {"lab", "a laboratory: rings on a link of a chosen speed"},
    {"doctor", "what was found on this machine, what is skipped and why"},
    {"test", "the course's own tests"},
    {"demo", "ring attention on real data over four MPI ranks"},
    {"bench", "how fast attention is, against Eigen's matrix product; exit 0 whatever it is"},
    {"grade", "the scoreboard: mine, or that of what others have handed in"},
    {"handout", "a copy for students, without solutions"},
    {"release", "give out a lesson's solution"},
}};

constexpr bool is_tool(std::string_view command) {
  for (const ToolCommand& tool : tool_commands) {
    if (command == tool.name) return true;
  }
  return false;
}

}  // namespace course::program
