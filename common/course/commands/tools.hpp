#pragma once

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace course::program {

/// A command that a student seldom needs: of course-tools, the program beside course-program, so that less is
/// compiled by the first ./course, or of a program of its own, which course-program builds and becomes.
struct ToolCommand {
  const char* name;
  const char* what;               ///< for --help
  const char* program = nullptr;  ///< null: course-tools
  /// Of a program of its own, which takes a while to build: the options that it takes, "--ranks=N" with a
  /// whole number, "--out=" with another value, "--mine" with none.
  std::string_view options = {};
};

inline constexpr std::array<ToolCommand, 13> tool_commands{{
    {"locate", "the line that a task fails by, found by small changes of my file", "course_locate",
     "--task= --seconds= --spoil"},
    {"trace", "run a lesson's code, draw the timeline", "ring_lab",
     "--ranks=N --mine --block= --out= --json"},
    {"lab", "a laboratory: rings on a link of a chosen speed", "ring_lab",
     "--bandwidth= --latency= --cards=N --ranks=N --block= --out= --json"},
    {"doctor", "what was found on this machine, what is skipped and why"},
    {"test", "the course's own tests"},
    {"demo", "ring attention on real data over four MPI ranks", "ring_demo",
     "--q= --k= --v= --do= --seq=N --heads=N --dim=N --seed=N --kv-heads=N --latent= --ranks=N --causal "
     "--no-causal --layout= --backend= --exchange= --grid= --node=N --kv-heads-at-once=N --ring= --forward "
     "--block= --mine --out= --json --verbose "
     "--documents= "
     "--window=N --alibi --sinks= --prepare= --report="},
    {"train", "a small model on a text of yours, over MPI ranks", "train_model",
     "--text= --ranks=N --context=N --steps=N --hidden=N --heads=N --layers=N --layout= --block= --seed=N "
     "--out= --resume= --sample=N --compare=N --mine --quick --json"},
    {"bench", "how fast attention is, against Eigen's matrix product; exit 0 whatever it is", "course_bench",
     "--causal --packed --exchange --lesson= --block= --simulated --backend= --mine --peers --json --heads=N "
     "--tokens=N "
     "--head-dims= "
     "--ring-head-dim=N --ring-ranks= --repetitions=N --min-seconds="},
    {"grade", "the scoreboard: mine, or that of what others have handed in"},
    {"handout", "a copy for students, without solutions"},
    {"release", "give out a lesson's solution"},
    {"pack", "judges and answers for a machine that has a GPU but not the course's packages"},
    {"new-lesson", "begin a lesson like one that there is"},
}};

/// What ./course lab knows.
inline constexpr std::array laboratories{"slow-network", "two-hosts"};

/// An option that a command takes.
struct ToolOption {
  std::string name;   ///< "--ranks"
  std::string value;  ///< "N": a whole number; "": none, or one of another kind
  bool has_value = false;
};

/// Those of a command with a program of its own, but for --help.
inline std::vector<ToolOption> options_of(const ToolCommand& tool) {
  std::vector<ToolOption> all;
  std::istringstream words{std::string(tool.options)};
  for (std::string word; words >> word;) {
    const std::size_t equals = std::min(word.find('='), word.size());
    all.push_back(
        {word.substr(0, equals), word.substr(std::min(equals + 1, word.size())), equals < word.size()});
  }
  return all;
}

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
