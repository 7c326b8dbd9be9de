#include "judge/program/options.hpp"

#include <getopt.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <vector>

// getopt and not CLI11, which alone takes longer to compile than the rest of judge_main.cpp: everybody's
// first check of a lesson waits for it.

namespace course {

namespace {

/// An option's text as a number that is at least `least`.
template <class Number>
void set_number(Number& number, const std::string& text, Number least) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least) {
    throw std::invalid_argument("expected a number of at least " + std::to_string(least) + ", got '" + text +
                                "'");
  }
}

struct Option {
  const char* name;
  const char* argument;  ///< what --help calls it; nullptr: the option has none
  const char* what;
  void (*set)(JudgeOptions&, const std::string&);
};

using O = JudgeOptions;
using S = const std::string;

template <auto member>
void set_text(O& o, S& text) {
  o.*member = text;
}

const std::array options{
    Option{"write-case", "FOLDER", "only write an input of --task on --ranks there",
           set_text<&O::write_case>},
    Option{"task", "ID", "with --write-case", set_text<&O::task>},
    Option{"ranks", "N", "with --write-case", [](O& o, S& text) { set_number(o.ranks, text, 1); }},
    Option{"subject", "FILE", "the shared object to judge", [](O& o, S& text) { o.launcher.subject = text; }},
    Option{"player", "WORD...", "the command that plays cases",
           [](O& o, S& text) { o.launcher.player.push_back(text); }},
    Option{"registry", "FILE", "lessons/registry.json", set_text<&O::registry>},
    Option{"case-limit", "SECONDS", "without progress before a case is stuck",
           [](O& o, S& text) { set_number(o.launcher.quiet_limit_s, text, 0.0); }},
    Option{"seed", "N", "the seed that inputs are drawn with",
           [](O& o, S& text) { set_number(o.seed, text, std::uint64_t{0}); }},
    Option{"seeds", "N", "how many seeds, counted up from --seed; after the first one world size each",
           [](O& o, S& text) { set_number(o.seeds, text, 1); }},
    Option{"expect", "WHAT", "pass, todo, mistake:ID, mistakes:ID,ID, fails or fails:ID,ID: exit 0 if so",
           set_text<&O::expect>},
    Option{"candidates", "FILE", "in place of --subject: a file with many, and what to expect of each",
           set_text<&O::candidates>},
    Option{"verdicts", "FOLDER", "with --candidates: where to write what came of them",
           set_text<&O::verdicts>},
    Option{"ledger", "FILE", "with --candidates: the recorded verdicts, which the first seed's must equal",
           set_text<&O::ledger>},
    Option{"outcomes", "FILE", "the recorded outcomes of known mistakes, in place of the lesson's own",
           set_text<&O::outcomes>},
    Option{"record-outcomes", "FILE", "record what comes of --forms there; --subject is a right answer",
           set_text<&O::record_outcomes>},
    Option{"forms", "FILE",
           "with --record-outcomes: a line a form: its name, and its subjects as mutants and as a student's "
           "file are compiled",
           set_text<&O::forms>},
    Option{"most-ranks", "N",
           "with --candidates: those with mistakes are played on so many ranks at most, in the tasks that "
           "they fail",
           [](O& o, S& text) { set_number(o.most_ranks, text, 1); }},
    Option{"most-ranks-of-further-forms", "N", "the same of a mistake's forms but its first",
           [](O& o, S& text) { set_number(o.most_ranks_of_further_forms, text, 1); }},
    Option{"most-seeds-of-mistakes", "N", "so many seeds at most of wrong answers",
           [](O& o, S& text) { set_number(o.most_seeds_of_mistakes, text, 1); }},
    Option{"report", "FILE", "write the verdicts as JSON", set_text<&O::report>},
    Option{"columns", "N", "break lines that are wider",
           [](O& o, S& text) { set_number(o.columns, text, std::size_t{1}); }},
    Option{"keep", "FOLDER", "keep the first failing case of each test there", set_text<&O::keep>},
    Option{"replay", "FOLDER", "only play this kept case again, and show the numbers that are wrong",
           set_text<&O::replayed>},
    Option{"as-checked", nullptr,
           "with --replay: the answer is the one that the case was kept of: say what was said then",
           [](O& o, S&) { o.as_checked = true; }},
    Option{"replay-options", "TEXT",
           "with --keep: what to type after ./course replay CASE for it to be played as here",
           set_text<&O::replay_options>},
    Option{"isolation", "KIND", "play code that is not trusted: namespaces, user or none, each with limits",
           [](O& o, S& text) { o.isolation = to_string(isolation_named(text)); }},
    Option{"user", "UID", "with --isolation: the user that it runs as; root only",
           [](O& o, S& text) { set_number(o.user.emplace(), text, uid_t{0}); }},
    Option{"hidden", nullptr, "the lesson's hidden tests, too", [](O& o, S&) { o.hidden = true; }},
    Option{"memory-limit", "BYTES", "with --isolation: what a launch may hold",
           [](O& o, S& text) { set_number(o.limits.memory_bytes, text, std::int64_t{0}); }},
    Option{"process-limit", "N", "with --isolation: how many processes and threads a launch may have",
           [](O& o, S& text) { set_number(o.limits.processes, text, 1); }},
};

void print_help() {
  std::puts("Judges one lesson: plays a submission and compares what it returns with the reference.");
  for (const Option& option : options) {
    const std::string name = std::string("--") + option.name +
                             (option.argument != nullptr ? std::string(" ") + option.argument : "");
    std::printf("  %-24s %s\n", name.c_str(), option.what);
  }
}

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "judge: %s; --help says more\n", why.c_str());
  std::exit(2);
}

/// The options as getopt takes them, --help last.
std::vector<option> for_getopt() {
  std::vector<option> all;
  for (const Option& known : options) {
    all.push_back({known.name, known.argument != nullptr ? required_argument : no_argument, nullptr, 0});
  }
  all.push_back({"help", no_argument, nullptr, 0});
  all.push_back({});
  return all;
}

void require(const std::set<std::string>& given, const std::string& needed) {
  if (!given.contains(needed)) refuse("--" + needed + " is required");
}

}  // namespace

JudgeOptions parse_options(int argc, char** argv) {
  JudgeOptions result;
  std::set<std::string> given;
  const std::vector<option> known = for_getopt();
  int index = 0;
  for (int found = 0; (found = getopt_long(argc, argv, "", known.data(), &index)) != -1;) {
    if (found == '?') std::exit(2);  // getopt has said why
    const std::string name = known[static_cast<std::size_t>(index)].name;
    if (name == "help") {
      print_help();
      std::exit(0);
    }
    try {
      options[static_cast<std::size_t>(index)].set(result, optarg != nullptr ? optarg : "");
    } catch (const std::invalid_argument& error) {
      refuse("--" + name + ": " + error.what());
    }
    given.insert(name);
  }
  // A player's further words.
  if (optind < argc && !given.contains("player")) refuse(std::string("unexpected '") + argv[optind] + "'");
  result.launcher.player.insert(result.launcher.player.end(), argv + optind, argv + argc);
  require(given, "registry");
  for (const auto& [option, needed] : {std::pair{"task", "write-case"},
                                       {"ranks", "write-case"},
                                       {"ledger", "candidates"},
                                       {"record-outcomes", "forms"},
                                       {"forms", "record-outcomes"},
                                       {"candidates", "verdicts"},
                                       {"as-checked", "replay"}}) {
    if (given.contains(option)) require(given, needed);
  }
  if (!given.contains("write-case")) {
    require(given, "player");
    if (!given.contains("candidates")) require(given, "subject");
  }
  return result;
}

}  // namespace course
