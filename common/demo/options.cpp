#include "demo/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>

#include "protocol/errors.hpp"

namespace course::demo {

namespace {

using Text = std::optional<std::string>;

/// The options as text, which is what lets every message be of one kind.
struct Texts {
  Text ranks, q, k, v, d_o, out, seq, heads, dim, seed;
  Text ring;
  Text blocking_ring, blocking_ring_backward, block, block_backward, overlapped_ring;
  Text prepare, report;
  Text layout = "contiguous";
  Text backend = "mpi";
  bool causal = false, forward = false, mine = false, json = false, verbose = false;
};

/// An option whose value is kept as it was written, even if that is nothing.
CLI::Option* declare(CLI::App& app, const char* name, const char* value, Text& text, const char* help) {
  return app
      .add_option_function<std::string>(
          name, [&text](const std::string& given) { text = given; }, help)
      ->type_name(value);
}

void declare_input(CLI::App& app, Texts& texts) {
  declare(app, "--q", "FILE.npy", texts.q,
          "your own queries: float16, 32 or 64; [seq, dim], [heads, seq, dim] or [batch, heads, seq, dim]");
  declare(app, "--k", "FILE.npy", texts.k, "your own keys, of the same shape");
  declare(app, "--v", "FILE.npy", texts.v, "your own values, of the same shape");
  declare(
      app, "--do", "FILE.npy", texts.d_o,
      "the gradient that arrives at the output, of the same shape; without it own tensors run forward only");
  declare(app, "--seq", "N", texts.seq, "generate input of so many tokens (512)");
  declare(app, "--heads", "N", texts.heads, "generate input of so many heads (12)");
  declare(app, "--dim", "N", texts.dim, "generate input of this head_dim (32)");
  declare(app, "--seed", "N", texts.seed, "of the generated input (1)");
}

void declare_run(CLI::App& app, Texts& texts) {
  declare(app, "--ranks", "N", texts.ranks, "MPI ranks, 1 to 64 (4)");
  declare(app, "--out", "DIR", texts.out,
          "write o.npy, lse.npy, dq.npy, dk.npy, dv.npy, timeline.svg and trace.json there; of two rings the "
          "tensors are those of the blocking one");
  declare(app, "--ring", "NAME", texts.ring,
          "blocking (lessons 05 and 07), overlapped (lesson 08), or both, in turns, to compare them (both)");
  app.add_flag("--forward", texts.forward, "leave the backward pass out");
  app.add_flag("--causal", texts.causal, "causal mask (lesson 13)");
  declare(app, "--layout", "NAME", texts.layout, "contiguous; striped, zigzag (lesson 14)");
  declare(app, "--backend", "NAME", texts.backend, "mpi; sim, cuda (lesson 12)");
  app.add_flag("--mine", texts.mine, "your own lessons 04 to 08, not the solutions");
  app.add_flag("--json", texts.json, "print one JSON object and nothing else");
  app.add_flag("--verbose", texts.verbose, "print every rank's part and the verdicts, too");
  declare(
      app, "--prepare", "DIR", texts.prepare,
      "run nothing: write what the ranks are to play there, and print the line that plays it on any machine");
  declare(app, "--report", "DIR", texts.report, "report on what was prepared there and has been played");
  declare(app, "--blocking-ring", "LIB.so", texts.blocking_ring, "the shared object of lesson 05");
  declare(app, "--blocking-ring-backward", "LIB.so", texts.blocking_ring_backward,
          "the shared object of lesson 07");
  declare(app, "--block", "LIB.so", texts.block, "the shared object of lesson 04");
  declare(app, "--block-backward", "LIB.so", texts.block_backward, "the shared object of lesson 06");
  declare(app, "--overlapped-ring", "LIB.so", texts.overlapped_ring, "the shared object of lesson 08");
}

std::string known_options(const CLI::App& app) {
  std::string names;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) names += (names.empty() ? "" : ", ") + option->get_name();
  }
  return names;
}

/// Throws UsageError with a line of our own for whatever CLI11 dislikes.
void parse_texts(CLI::App& app, std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ArgumentMismatch& error) {
    throw UsageError(std::string(error.what()) + "; expected each option once, with its value");
  } catch (const CLI::CallForHelp&) {
    throw;
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  const std::vector<std::string> extras = app.remaining();
  if (extras.empty()) return;
  throw UsageError("unknown " + std::string(extras[0].starts_with("-") ? "option " : "argument ") +
                   extras[0] + ", expected " + known_options(app));
}

std::uint64_t whole_number(const char* option, const std::string& text, std::uint64_t least,
                           std::uint64_t most) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < least || number > most) {
    throw UsageError(fmt::format("{} {}: expected a whole number from {} to {}", option, text, least, most));
  }
  return number;
}

std::optional<int> read_ranks(const Texts& texts) {
  if (!texts.ranks) return std::nullopt;
  const std::uint64_t most = std::numeric_limits<int>::max();
  try {
    return static_cast<int>(whole_number("--ranks", *texts.ranks, 1, most));
  } catch (const UsageError&) {
    throw UsageError(
        fmt::format("--ranks {}: expected a whole number from 1 to {}", *texts.ranks, most_ranks));
  }
}

std::optional<OwnFiles> read_files(const Texts& texts) {
  if (!texts.q && !texts.k && !texts.v) {
    if (texts.d_o)
      throw UsageError("--do without --q, --k and --v: expected the gradient to come with all three");
    return std::nullopt;
  }
  for (const auto& [name, text] : {std::pair{"--q", texts.q}, {"--k", texts.k}, {"--v", texts.v}}) {
    if (!text) throw UsageError(fmt::format("{} is missing: expected --q, --k and --v together", name));
  }
  for (const auto& [name, text] : {std::pair{"--seq", texts.seq},
                                   {"--heads", texts.heads},
                                   {"--dim", texts.dim},
                                   {"--seed", texts.seed}}) {
    if (text)
      throw UsageError(fmt::format("{} with --q: expected own tensors or generated ones, not both", name));
  }
  if (texts.d_o && texts.forward)
    throw UsageError("--do with --forward: expected a gradient or no backward pass, not both");
  OwnFiles files{*texts.q, *texts.k, *texts.v};
  if (texts.d_o) files.d_o = *texts.d_o;
  return files;
}

std::optional<Sizes> read_sizes(const Texts& texts) {
  Sizes sizes;
  bool generated = false;
  const std::uint64_t most = std::numeric_limits<int>::max();
  for (const auto& [name, text, extent] : {std::tuple{"--seq", texts.seq, &sizes.seq},
                                           {"--heads", texts.heads, &sizes.heads},
                                           {"--dim", texts.dim, &sizes.head_dim}}) {
    if (!text) continue;
    generated = true;
    *extent = static_cast<Index>(whole_number(name, *text, 1, most));
  }
  if (texts.seed) {
    sizes.seed = whole_number("--seed", *texts.seed, 0, std::numeric_limits<std::uint64_t>::max());
    if (!generated)
      throw UsageError("--seed without generated input: expected --seq, --heads or --dim with it");
  }
  return generated ? std::optional(sizes) : std::nullopt;
}

void require_one_of(const char* option, const std::string& value, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  std::string names;
  for (const std::string& name : known)
    names += (names.empty() ? "" : name == known.back() ? " or " : ", ") + name;
  throw UsageError(fmt::format("{} {}: expected {}", option, value, names));
}

/// What is designed and comes with a later lesson.
void require_present(const Texts& texts) {
  const auto lesson = [](const std::string& what, const char* number) {
    throw Unavailable(fmt::format(
        "{} comes with lesson {}, which this version of the course does not have yet", what, number));
  };
  if (texts.backend != "mpi") lesson("--backend " + *texts.backend, "12");
  if (texts.layout != "contiguous") lesson("--layout " + *texts.layout, "14");
  if (texts.causal) lesson("--causal", "13");
}

std::filesystem::path library(const Text& given, const char* lesson, bool mine) {
  if (given) return *given;
  return std::filesystem::path(COURSE_LIBRARY_DIR) /
         fmt::format("{}_{}.so", lesson, mine ? "student" : "solution");
}

/// What was prepared says itself what is shown.
void require_report_alone(const Texts& texts) {
  if (!texts.report) return;
  for (const auto& [name, given] : {std::pair{"--prepare", texts.prepare.has_value()},
                                    {"--q", texts.q.has_value()},
                                    {"--seq", texts.seq.has_value()},
                                    {"--heads", texts.heads.has_value()},
                                    {"--dim", texts.dim.has_value()},
                                    {"--ranks", texts.ranks.has_value()},
                                    {"--ring", texts.ring.has_value()},
                                    {"--forward", texts.forward},
                                    {"--mine", texts.mine}}) {
    if (given) throw UsageError(fmt::format("{} with --report: expected it with --prepare", name));
  }
}

}  // namespace

std::vector<RingKind> picked_rings(const std::string& word) {
  std::vector<std::string> known;
  std::vector<RingKind> picked;
  for (const RingKind& kind : ring_kinds) {
    known.emplace_back(kind.name);
    if (word == "both" || word == kind.name) picked.push_back(kind);
  }
  known.push_back("both");
  require_one_of("--ring", word, known);
  return picked;
}

Options parse_options(const std::vector<std::string>& arguments) {
  CLI::App app("Ring attention over MPI ranks, compared with float64 attention.", "./course demo");
  app.footer(
      "Exit codes: 0 the answer is right, 1 something failed, 2 a wrong option or file, 3 something is not "
      "there.");
  app.allow_extras();
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  Texts texts;
  declare_input(app, texts);
  declare_run(app, texts);
  Options options;
  try {
    parse_texts(app, arguments);
  } catch (const CLI::CallForHelp&) {
    options.help = app.help();
    return options;
  }
  options.ranks = read_ranks(texts);
  options.files = read_files(texts);
  options.sizes = read_sizes(texts);
  require_one_of("--layout", *texts.layout, {"contiguous", "striped", "zigzag"});
  require_one_of("--backend", *texts.backend, {"mpi", "sim", "cuda"});
  if (texts.out) options.out = *texts.out;
  options.mine = texts.mine;
  options.json = texts.json;
  options.rings = picked_rings(texts.ring.value_or("both"));
  options.libraries = {library(texts.blocking_ring, "lesson05", texts.mine),
                       library(texts.block, "lesson04", texts.mine),
                       library(texts.blocking_ring_backward, "lesson07", texts.mine),
                       library(texts.block_backward, "lesson06", texts.mine),
                       library(texts.overlapped_ring, "lesson08", texts.mine)};
  options.backward =
      !texts.forward && (options.files ? options.files->d_o.has_value() : !options.sizes.has_value());
  options.verbose = texts.verbose;
  if (texts.prepare) options.prepare = *texts.prepare;
  if (texts.report) options.report = *texts.report;
  require_report_alone(texts);
  require_present(texts);
  return options;
}

}  // namespace course::demo
