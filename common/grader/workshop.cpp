#include "grader/workshop.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "grader/audit.hpp"
#include "grader/confined_run.hpp"
#include "text/text_file.hpp"

namespace course::grader {

namespace fs = std::filesystem;

namespace {

/// A lesson's file compiles in a few seconds and half a gigabyte; templates that never end take more.
/// The time is the compiler's own: with other submissions beside it everything takes longer.
constexpr Limits for_compiling{.wall_s = 120,
                               .cpu_s = 30,
                               .memory_bytes = std::int64_t{3} << 30,
                               .file_bytes = std::int64_t{64} << 20,
                               .written_bytes = std::int64_t{128} << 20,
                               .processes = 64};
constexpr std::size_t shown_errors = 3;

/// The compiler's first errors, without what surrounds them.
std::string errors_in(const std::string& output) {
  std::string text;
  std::size_t shown = 0;
  for (const std::string& line : lines_of(output)) {
    const bool is_error = line.find("error: ") != std::string::npos ||
                          line.find("undefined reference") != std::string::npos ||
                          line.find("multiple definition") != std::string::npos;
    if (!is_error || ++shown > shown_errors) continue;
    text += (text.empty() ? "" : "\n") + line.substr(0, 300);
  }
  return text;
}

}  // namespace

Workshop::Workshop(const program::Checkout& checkout, const LessonInfo& lesson, Isolation isolation)
    : checkout_(checkout),
      lesson_(lesson),
      tools_(toolchain_of(checkout, lesson)),
      confinement_(isolation, for_compiling),
      subject_(at("subject.so")) {
  for (const char* folder : {"include", "src", "tools", "objects"}) fs::create_directory(at(folder));
  for (const fs::path& header : tools_.headers) {
    const fs::path copy = at("include") / include_name(header);
    fs::create_directories(copy.parent_path());
    fs::copy_file(checkout.root / header, copy);
  }
  for (fs::path& file : tools_.link_files) {
    const std::string original = file;
    file = at("tools") / fmt::format("{}-{}", &file - tools_.link_files.data(), file.filename().string());
    fs::copy_file(original, file);
    std::replace(tools_.link.begin(), tools_.link.end(), original, file.string());
  }
  player_ = at("tools") / (lesson.needs_mpi() ? "player_mpi" : "player_solo");
  fs::copy_file(checkout.build() / "bin" / player_.filename(), player_);
  confinement_.hand_over(at("objects"));
  // Entered by the confined user's group, listed and changed by nobody but the grader.
  if (chown(temporary_.path().c_str(), geteuid(),
            confinement_.user() == geteuid() ? getegid() : confinement_.user()) != 0 ||
      chmod(temporary_.path().c_str(), 0750) != 0) {
    throw std::system_error(errno, std::generic_category(),
                            "cannot open " + temporary_.path().string() + " to its user");
  }
}

std::string Workshop::make(const HandedIn& handed_in, Examination examination) {
  for (const auto& [file, text] : handed_in.texts) {
    std::string problem = compile(file, text);
    if (problem.empty() && examination == Examination::Whole) problem = examine(file);
    if (!problem.empty()) return problem;
  }
  return link(handed_in);
}

fs::path Workshop::object_of(const std::string& file) const {
  return at("objects") / (file + ".o");
}

std::string Workshop::compile(const std::string& file, const std::string& text) const {
  const fs::path source = at("src") / file;
  write_text(source, text);
  Words command = tools_.compile;
  command.insert(command.end(),
                 {"-fmax-errors=10", "-I" + at("include").string(), "-o", object_of(file), "-c", source});
  const ConfinedRun run =
      run_confined(confinement_, command, {{at("include"), at("src")}, at("objects")}, at("compile.txt"));
  if (run.succeeded()) return "";
  if (!run.exceeded.empty()) return file + " does not compile: the compiler was ended, " + run.exceeded;
  const std::string errors = errors_in(without_places(run.output));
  return "does not compile: " + (errors.empty() ? file + ": the compiler gave up" : errors);
}

/// What an object may not hold: names that reach the system past what a lesson needs, and ways into the
/// kernel that need no name.
std::string Workshop::examine(const std::string& file) const {
  const Room room{{}, at("objects")};
  const ConfinedRun names = run_confined(
      confinement_, {"nm", "--undefined-only", "--demangle", object_of(file)}, room, at("nm.txt"));
  const ConfinedRun code =
      run_confined(confinement_, {"objdump", "--disassemble", "--no-show-raw-insn", object_of(file)}, room,
                   at("code.txt"));
  if (!names.succeeded() || !code.succeeded()) return file + " compiles to an object that cannot be examined";
  std::vector<std::string> sections{"all"};
  sections.insert(sections.end(), lesson_.needs.begin(), lesson_.needs.end());
  AllowedSymbols allowed(read_text(checkout_.root / "common/grader/allowed_symbols.txt"), sections);
  allowed.add(lesson_.tag() + "::*");  // of its other files
  // Whole files: what a run shows of its output ends after 256 KiB.
  const std::string forbidden = forbidden_symbol(read_text(at("nm.txt")), allowed);
  if (!forbidden.empty()) return file + " uses " + forbidden + ", which no answer to this lesson needs";
  const std::string entry = kernel_entry(read_text(at("code.txt")));
  if (!entry.empty())
    return file + " holds the instruction " + entry + ", which no answer to this lesson needs";
  return "";
}

std::string Workshop::link(const HandedIn& handed_in) const {
  Words command;
  const fs::path linked = at("objects") / "subject.so";
  for (const std::string& word : tools_.link) {
    if (word == subject_mark) {
      command.push_back(linked);
    } else if (word == objects_mark) {
      for (const auto& [file, text] : handed_in.texts) command.push_back(object_of(file));
    } else {
      command.push_back(word);
    }
  }
  const ConfinedRun run = run_confined(confinement_, command, {{at("tools")}, at("objects")}, at("link.txt"));
  if (!run.succeeded()) return "does not link: " + errors_in(without_places(run.output)) + run.exceeded;
  if (!fs::is_regular_file(fs::symlink_status(linked))) return "does not link: the linker made no file";
  fs::copy_file(linked, subject_, fs::copy_options::overwrite_existing);
  return "";
}

/// Names files as the student knows them.
std::string Workshop::without_places(std::string text) const {
  for (const char* folder : {"src", "include", "objects", "tools"}) {
    const std::string place = at(folder).string() + "/";
    for (std::size_t found; (found = text.find(place)) != std::string::npos;) text.erase(found, place.size());
  }
  return text;
}

}  // namespace course::grader
