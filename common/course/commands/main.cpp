#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "course/build/build.hpp"
#include "course/commands/command_line.hpp"
#include "course/commands/commands.hpp"
#include "course/commands/tools.hpp"
#include "course/workspace/lesson_argument.hpp"

namespace course::program {

namespace {

/// The commands that a student works with. Those of course-tools are there for --help and for messages.
class StudentLine : public CommandLine {
 public:
  StudentLine() : CommandLine([this](const Checkout& checkout) { return show_status(checkout, json_); }) {
    add_check();
    add_watch();
    add_hint();
    add_show();
    add_reset();
    add_drill();
    add_quiz();
    add_replay();
    for (const ToolCommand& tool : tool_commands) app_.add_subcommand(tool.name, tool.what);
    app_.add_subcommand("docs", "all of this as pages for a browser, offline");  // the launcher's own
  }

 private:
  void add_check() {
    CLI::App* command = add_command("check", "grade my answer to a lesson", [this](const Checkout& checkout) {
      check_.json = check_.json || json_;
      return check(checkout, check_);
    });
    command->add_option("lesson", check_.lesson, "05, 05.2, ring_attention or a path in its folder")
        ->required();
    command->add_option("--task", check_.task, "only this task");
    command->add_option("--ranks", check_.ranks, "only on so many ranks");
    command->add_option("--seed", check_.seed, "the seed that inputs are drawn with")
        ->check(whole_number_from_0);
    command->add_option("--player", check_.player,
                        "a command that plays cases in place of the built-in player");
    command
        ->add_option_function<std::string>(
            "--backend", [this](const std::string& name) { check_.backend = backend_named(name); },
            "of a lesson that needs a GPU: sim, or cuda for the device of this machine")
        ->check(CLI::IsMember({"sim", "cuda"}));
    command
        ->add_option_function<std::string>(
            "--transport",
            [this](const std::string& name) {
              check_.transport = name == "host" ? Transport::Host : Transport::Nccl;
            },
            "with --backend cuda: nccl, or host for MPI through the host's memory where NCCL will not")
        ->check(CLI::IsMember({"nccl", "host"}));
    command->add_flag("--sanitize", check_.sanitize, "with address and undefined-behaviour sanitizers");
    print_as_json(command);
    command->add_flag("--json", check_.json, "one JSON object on stdout and nothing else");
    command->add_flag("--problems", check_.problems,
                      "a line of the form FILE:LINE: error: ... a task, for editors");
  }

  void add_watch() {
    CLI::App* command =
        add_command("watch", "check at each save; on to the next lesson after a pass",
                    [this](const Checkout& checkout) { return watch(checkout, lesson_, check_.problems); });
    command->add_option("lesson", lesson_, "05 or ring_attention; without it, what ./course says is next");
    command->add_flag("--problems", check_.problems, "as for check");
  }

  void add_hint() {
    CLI::App* command = add_command("hint", "what to make of the last failure; called again, the next hint",
                                    [this](const Checkout& checkout) { return hint(checkout, hint_); });
    command->add_option("lesson", hint_.lesson, "05 or 05.2; without a task, the first that failed")
        ->required();
    command->add_option("--task", hint_.task, "for this task");
    command->add_flag("--again", hint_.again, "the last hint once more");
  }

  void add_show() {
    CLI::App* command = add_command("show", "the solution beside mine", [this](const Checkout& checkout) {
      return show(checkout, lesson_, spoil_);
    });
    command->add_option("lesson", lesson_, "05 or ring_attention")->required();
    command->add_flag("--spoil", spoil_, "before a pass, too");
  }

  void add_reset() {
    CLI::App* command = add_command("reset", "back to the skeleton; keeps a backup",
                                    [this](const Checkout& checkout) { return reset(checkout, lesson_); });
    command->add_option("lesson", lesson_, "05 or ring_attention")->required();
  }

  void add_drill() {
    CLI::App* command = add_command("drill", "write a routine from an empty body, against the clock",
                                    [this](const Checkout& checkout) { return drill(checkout, drill_); });
    command->add_option("task", drill_.task,
                        "05.2; 05: one of its tasks; without it, one of a passed lesson");
    command->add_flag("--history", drill_.history, "the times so far, and start nothing");
  }

  void add_quiz() {
    CLI::App* command = add_command("quiz", "interview questions, spaced by what was missed",
                                    [this](const Checkout& checkout) { return quiz(checkout, quiz_); });
    command->add_option("lesson", quiz_.lesson, "05 or ring_attention; without it, questions on any lesson");
    command->add_option("--lessons", quiz_.within, "only what these lessons are enough for: 02-05 or 02,04");
    command->add_option("--topic", quiz_.topic, "only a page of docs/interview, such as numerics");
    command->add_flag("--classics", quiz_.classics, "first those that almost every interview asks");
    command->add_option("--difficulty", quiz_.difficulties, "only 1, 2 or 3, or several: 1,2")
        ->delimiter(',')
        ->check(between(1, 3));
    command->add_option("--count", quiz_.count, "ask so many at most")->check(whole_number_from_1);
    command->add_flag("--history", quiz_.history, "how many are known by topic, and ask nothing");
  }

  void add_replay() {
    CLI::App* command = add_command("replay", "play a kept case again and compare its numbers",
                                    [this](const Checkout& checkout) { return replay(checkout, replay_); });
    command
        ->add_option("case", replay_.case_name,
                     "a name in .course/cases, 05.2 where one fits, or a case's folder")
        ->required();
    command->add_option("--gdb", replay_.gdb_rank, "run this rank under gdb");
    command
        ->add_option("--gdb-port", replay_.gdb_port,
                     "with --gdb: wait there for a debugger, such as an editor's")
        ->check(between(1, 65535));
    command->add_option("--subject", replay_.subject, "whose code to run")
        ->check(CLI::IsMember({"student", "solution"}));
    command->add_option("--player", replay_.player,
                        "a command that plays the case in place of the built-in player");
    command
        ->add_option("--limit", replay_.limit_s, "seconds without progress before it is ended; not under gdb")
        ->check(more_than_0_seconds);
  }

  CheckOptions check_;
  HintOptions hint_;
  DrillOptions drill_;
  QuizOptions quiz_;
  ReplayOptions replay_;
  std::string lesson_;
  bool spoil_ = false;
};

/// Becomes course-tools, which lies beside this program. Returns an exit code where it does not.
int become_tools(const std::string& command, char** argv) {
  execv((std::filesystem::read_symlink("/proc/self/exe").parent_path() / "course-tools").c_str(), argv);
  complain("course-tools, which has this command, is not built: ./course " + command + " builds it");
  return unavailable;
}

/// Whether a word is an option's name, perhaps with its value: "--ranks", "--ranks=4". "-1" may be a value.
bool is_option(const std::string& word) {
  return word.starts_with("--") && word.size() > 2;
}

/// The option of that name; null where the command has none.
const ToolOption* option_named(const std::vector<ToolOption>& options, const std::string& name) {
  const auto found = std::ranges::find(options, name, &ToolOption::name);
  return found == options.end() ? nullptr : &*found;
}

/// The first argument after the command that is neither an option nor an option's value; may be empty.
std::string first_argument(const std::vector<ToolOption>& options, const std::vector<std::string>& words) {
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const ToolOption* const option = option_named(options, words[i]);
    if (option != nullptr && option->has_value) {
      ++i;
    } else if (!words[i].starts_with("-")) {
      arguments.push_back(words[i]);
    }
  }
  return arguments.size() < 2 ? "" : arguments[1];
}

std::vector<std::string> names_of(const std::vector<ToolOption>& options) {
  std::vector<std::string> names;
  for (const ToolOption& option : options) names.push_back(option.name);
  return names;
}

/// Throws UsageError where a word is no option of the command, or a number's value none.
void require_options(const ToolCommand& tool, const std::vector<ToolOption>& options,
                     const std::vector<std::string>& words) {
  const std::string more = std::string("; ./course ") + tool.name + " --help says more";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_option(words[i])) continue;
    const std::size_t equals = std::min(words[i].find('='), words[i].size());
    const std::string name = words[i].substr(0, equals);
    const ToolOption* const option = option_named(options, name);
    if (option == nullptr)
      throw UsageError(std::string("./course ") + tool.name + " has no option " + name +
                       did_you_mean(name, names_of(options)) + more);
    const bool is_apart = option->has_value && equals == words[i].size();
    if (is_apart && i + 1 == words.size()) throw UsageError(name + " needs a value" + more);
    const std::string value = is_apart ? words[++i] : words[i].substr(std::min(equals + 1, words[i].size()));
    const std::size_t sign = value.starts_with("-") || value.starts_with("+") ? 1 : 0;
    const bool is_number =
        value.size() > sign && value.find_first_not_of("0123456789", sign) == std::string::npos;
    if (option->value == "N" && !is_number)
      throw UsageError(name + ": expected a whole number, found '" + value + "'" + more);
  }
}

/// Throws UsageError where a word that is not empty is none of these.
void require_known(const std::string& what, const std::string& word, const std::vector<std::string>& known) {
  if (!word.empty() && std::ranges::find(known, word) == known.end())
    throw UsageError(unknown(what, word, known) + joined(known));
}

/// Throws Unavailable where the demo would refuse these arguments for lessons that are missing or not passed.
void require_lessons_of_demo(const Checkout& checkout, const std::vector<std::string>& words) {
  const auto given = [&](const std::string& option) {
    return std::ranges::any_of(
        words, [&](const std::string& word) { return word == option || word.starts_with(option + "="); });
  };
  const auto value = [&](const std::string& option) -> std::string {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i].starts_with(option + "=")) return words[i].substr(option.size() + 1);
      if (words[i] == option && i + 1 < words.size()) return words[i + 1];
    }
    return "";
  };
  if (given("--help") || given("-h") || given("--report")) return;
  const std::string backend = value("--backend"), ring = value("--ring"), exchange = value("--exchange");
  require_known("ring", ring, compared_rings());
  require_known("exchange", exchange, exchanges());
  const bool on_gpu = backend == "sim" || backend == "cuda";
  constexpr std::array of_packed_rows{"--documents", "--window", "--alibi", "--sinks"};
  const bool causal = given("--causal"), shares_heads = given("--kv-heads");
  const bool packed = std::ranges::any_of(of_packed_rows, given) || value("--layout") == "documents";
  const bool by_exchange = !exchange.empty() && exchange != ring_exchange;
  const RingFor what = by_exchange                          ? RingFor::Exchange
                       : packed || (causal && shares_heads) ? RingFor::PackedRows
                       : given("--latent")                  ? RingFor::Latent
                       : shares_heads                       ? RingFor::SharedHeads
                       : causal                             ? RingFor::Causal
                                                            : RingFor::Everything;
  const auto kind = std::ranges::find_if(ring_kinds, [&](const RingKind& one) {
    return one.is_asked_for(what, on_gpu, by_exchange ? exchange : ring);
  });
  if (kind == std::end(ring_kinds)) return;  // the demo says what is wrong with that
  const Role block = given("--block") ? Role::BlockRegisters : Role::Block;
  runs_own_lessons(checkout, read_progress(checkout), "demo", kind->needed(block), given("--mine"));
}

/// The same of ./course train.
void require_lessons_of_training(const Checkout& checkout, const std::vector<std::string>& words) {
  const auto begins = [&](const char* option) {
    return std::ranges::any_of(words, [&](const std::string& word) { return word.starts_with(option); });
  };
  if (begins("--help") || begins("-h")) return;
  runs_own_lessons(checkout, read_progress(checkout), "train", roles_of_training(begins("--block")),
                   begins("--mine"));
}

/// Throws what a command's program would refuse these arguments with, as far as names and whole numbers go:
/// the program, which reads them in earnest, takes a minute or two to build.
void look_at_arguments(const ToolCommand& tool, const Checkout& checkout,
                       const std::vector<std::string>& words) {
  const auto given = [&](const char* option) { return std::ranges::count(words, option) > 0; };
  if (given("--help") || given("-h")) return;
  const std::vector<ToolOption> options = options_of(tool);
  require_options(tool, options, words);
  const std::string_view name = tool.name;
  const std::string argument = first_argument(options, words);
  if (name == "demo") require_lessons_of_demo(checkout, words);
  if (name == "train") require_lessons_of_training(checkout, words);
  if (name == "lab") require_known("laboratory", argument, {laboratories.begin(), laboratories.end()});
  if ((name == "locate" || name == "trace") && !argument.empty()) choose_lesson(checkout.lessons, argument);
}

/// Builds the program of a command and becomes it. Returns an exit code where that fails.
int become_built(const ToolCommand& tool, int argc, char** argv) {
  try {
    const Checkout checkout = Checkout::find();
    look_at_arguments(tool, checkout, {argv + 1, argv + argc});
    const std::string what = std::string("./course ") + tool.name;
    require_built(build({checkout.root, checkout.build(), {tool.program}, what}), what);
    execv((checkout.build() / "bin" / tool.program).c_str(), argv);
    throw std::system_error(errno, std::generic_category(), tool.program);
  } catch (...) {
    return report_exception();
  }
}

}  // namespace

}  // namespace course::program

int main(int argc, char** argv) {
  using namespace course::program;
  if (const ToolCommand* tool = tool_among(argc, argv))
    return tool->program != nullptr ? become_built(*tool, argc, argv) : become_tools(tool->name, argv);
  return StudentLine().run(argc, argv);
}
