#include "grader/workshop.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "audit/answer_includes.hpp"
#include "audit/answer_symbols.hpp"
#include "course/build/build_output.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/judging.hpp"
#include "gpu/cuda_to_cpp/cuda_to_cpp.hpp"
#include "protocol/errors.hpp"
#include "runner/mpirun.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program::grader {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

namespace {

/// A lesson's file compiles in a few seconds and half a gigabyte; templates that never end take more.
/// The time is the compiler's own: with other submissions beside it everything takes longer.
constexpr Limits for_compiling{.launch_limit_s = 120,
                               .cpu_s = 30,
                               .memory_bytes = std::int64_t{3} << 30,
                               .file_bytes = std::int64_t{64} << 20,
                               .written_bytes = std::int64_t{128} << 20,
                               .processes = 64};
constexpr std::size_t shown_errors = 3;
constexpr std::size_t longest_error = 600;  ///< in bytes
constexpr std::uintmax_t room_for_a_workshop = std::uintmax_t{64} << 20;

/// The compiler's first errors, without what surrounds them.
std::string errors_in(const std::string& output) {
  std::vector<std::string> errors;
  for (const std::string& line : lines_of(output)) {
    const bool is_error = line.find("error: ") != std::string::npos ||
                          line.find("undefined reference") != std::string::npos ||
                          line.find("multiple definition") != std::string::npos;
    if (is_error && errors.size() < shown_errors) errors.push_back(line.substr(0, longest_error));
  }
  return joined(errors, {}, "\n");
}

/// The first things that the linker lacks.
std::string first_link_errors(const std::string& output, const LessonInfo& lesson) {
  std::vector<std::string> errors = link_errors(output, lesson.tag());
  errors.resize(std::min(errors.size(), shown_errors));
  for (std::string& error : errors) error.resize(std::min(error.size(), longest_error));
  return errors.empty() ? first_complaint(output) : joined(errors, {}, "\n");
}

bool is_cuda(const fs::path& file) {
  return file.extension() == ".cu";
}

/// What the compiler gets of a student's file: itself, or what common/cmake/Gpu.cmake makes of a CUDA source.
fs::path compiled_file(const Checkout& checkout, const LessonInfo& lesson, const std::string& file) {
  const fs::path inside = Checkout::student_file(lesson, file);
  return is_cuda(file) ? checkout.build() / "simulated" / (inside.string() + ".cpp") : checkout.root / inside;
}

/// The compiler and its options for a file, as CMake wrote them down. Warnings are between student and
/// compiler; where headers lie and what is compiled is the grader's affair.
Words compile_command(const Checkout& checkout, const fs::path& file) {
  const fs::path database = checkout.build() / "compile_commands.json";
  const nlohmann::json entries = nlohmann::json::parse(read_text(database));
  const auto entry = std::ranges::find_if(
      entries, [&](const nlohmann::json& each) { return each.at("file") == file.string(); });
  if (entry == entries.end())
    throw std::runtime_error(database.string() + " does not say how " + file.string() + " is compiled");
  Words kept;
  const Words command = words_of(entry->at("command").get<std::string>());
  for (auto word = command.begin(); word != command.end(); ++word) {
    const bool takes_next = *word == "-o" || *word == "-c";
    if (takes_next) ++word;
    if (!takes_next && !word->starts_with("-W") && !word->starts_with("-I" + checkout.root.string()))
      kept.push_back(*word);
  }
  kept.push_back("-w");
  return kept;
}

/// Lets everybody read what lies here, and enter and run it where its owner may: copies have the modes that
/// the checkout has, new files those that the umask leaves.
void show(const fs::path& place) {
  const auto open_one = [](const fs::path& path) {
    const bool enters = (fs::status(path).permissions() & fs::perms::owner_exec) != fs::perms::none;
    fs::permissions(path, enters ? fs::perms(0755) : fs::perms(0644));
  };
  open_one(place);
  if (!fs::is_directory(place)) return;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(place)) open_one(entry.path());
}

/// What a word of the build's command for an answer stands for.
enum class LinkWord { Output, AnswersObject, FromBuild, Other };

bool is_linkable(const fs::path& path) {
  return path.extension() == ".o" || path.extension() == ".a" || path.extension() == ".so";
}

/// The command by which the build links what a student edits, word by word.
std::vector<std::pair<LinkWord, std::string>> link_words(const Checkout& checkout, const LessonInfo& lesson) {
  const std::string name = subject_target(lesson, "student"), target = "lib/" + name + ".so";
  const Captured said = capture({.argv = {"ninja", "-C", checkout.build(), "-t", "commands", target}});
  const std::vector<std::string> commands = lines_of(said.output);
  if (said.exit.code != 0 || commands.empty())
    throw std::runtime_error("the build does not say how " + target + " is linked: " + said.first_line());
  std::vector<std::pair<LinkWord, std::string>> words;
  for (const std::string& word : words_of(commands.back())) {
    if (word == ":" || word == "&&") continue;
    LinkWord kind = LinkWord::Other;
    if (word == target)
      kind = LinkWord::Output;
    else if (word.find(name + ".dir/") != std::string::npos)
      kind = LinkWord::AnswersObject;
    else if (!word.starts_with("-") && fs::path(word).is_relative() && is_linkable(word))
      kind = LinkWord::FromBuild;
    words.emplace_back(kind, word);
  }
  return words;
}

}  // namespace

std::vector<std::string> link_inputs(const Checkout& checkout, const LessonInfo& lesson) {
  std::set<std::string> inputs;
  for (const auto& [kind, word] : link_words(checkout, lesson)) {
    if (kind == LinkWord::FromBuild) inputs.insert(word);
  }
  return {inputs.begin(), inputs.end()};
}

Workshop::Workshop(const Checkout& checkout, const LessonInfo& lesson, Isolation isolation)
    : checkout_(checkout),
      lesson_(lesson),
      headers_(checkout.root, lesson.folder(), lesson.needs_gpu()),
      confinement_(isolation, for_compiling),
      compile_(compile_command(checkout, compiled_file(checkout, lesson, lesson.files.front()))) {
  temporary_.require_programs();
  temporary_.require_room(room_for_a_workshop);
  for (const char* folder : {"include", "src", "tools", "objects"}) fs::create_directory(at(folder));
  copy_headers();
  link_ = link_command();
  fs::copy_file(built_in_player(checkout.build(), lesson), player());
  for (const char* folder : {"include", "src", "tools"}) show(at(folder));
  confinement_.hand_over(at("objects"));
  open_to_user();
}

fs::path Workshop::copy_of(const fs::path& header) const {
  const bool is_common = *header.begin() == "common";
  return at("include") / (is_common ? header.lexically_relative("common") : header.filename());
}

void Workshop::copy_headers() const {
  for (const fs::path& header : headers_.files) {
    fs::create_directories(copy_of(header).parent_path());
    fs::copy_file(checkout_.root / header, copy_of(header));
  }
}

/// The command by which the build links the lesson's shared object, with the submission's objects in place of
/// the student's, and with copies of the other files that come from the build: the adapter, libraries.
Words Workshop::link_command() const {
  Words link;
  bool with_objects = false;
  for (const auto& [kind, word] : link_words(checkout_, lesson_)) {
    if (kind == LinkWord::Output) {
      link.push_back(at("objects") / "subject.so");
    } else if (kind == LinkWord::AnswersObject) {
      if (std::exchange(with_objects, true)) continue;
      for (const std::string& file : lesson_.files) link.push_back(object_of(file));
    } else if (kind == LinkWord::FromBuild) {
      const fs::path in_build = checkout_.build() / word;
      if (!fs::exists(in_build))
        throw Unavailable("what every answer is linked with is not built: " + word +
                          "; the same command without --prepared builds it");
      // A shared library keeps its name, by which the player finds it beside itself.
      const std::string name = in_build.filename();
      const std::string copy = in_build.extension() == ".so" ? name : fmt::format("{}-{}", link.size(), name);
      link.push_back(at("tools") / copy);
      fs::copy_file(in_build, link.back());
    } else {
      link.push_back(word);
    }
  }
  if (!with_objects) throw std::runtime_error("the build's command for an answer links none of its objects");
  return link;
}

/// Entered by the confined user's group, listed and changed by nobody but the grader.
void Workshop::open_to_user() const {
  const gid_t group = user() == geteuid() ? getegid() : user();
  if (chown(temporary_.path().c_str(), geteuid(), group) != 0 ||
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
  const std::string problem = link();
  if (!problem.empty()) require_linker();
  return problem;
}

fs::path Workshop::object_of(const std::string& file) const {
  return at("objects") / (file + ".o");
}

std::string Workshop::compile(const std::string& file, const std::string& text) const {
  const fs::path source = at("src") / (is_cuda(file) ? file + ".cpp" : file);
  try {
    write_text(source, is_cuda(file) ? gpu::simulated_source(text, file) : text);
  } catch (const std::invalid_argument& error) {
    return std::string("does not compile: ") + error.what();
  }
  show(source);
  const fs::path dependencies = at("objects") / "dependencies.txt";
  Words command = compile_words(source, object_of(file));
  command.insert(command.end(), {"-MD", "-MF", dependencies});
  const ConfinedRun run = run_compiler(command);
  if (run.succeeded()) return refused_include(command, source, dependencies);
  require_compiler();
  if (!run.exceeded.empty()) return file + " does not compile: the compiler was ended, " + run.exceeded;
  const std::string output = with_refusals(without_places(run.output), headers_);
  std::string errors = errors_in(output);
  if (!errors.empty() && misses_header(output)) errors += "\n" + headers_.in_words();
  return "does not compile: " + (errors.empty() ? file + ": the compiler gave up" : errors);
}

/// Confined code may see more than the headers here, and the build on a student's machine sees more, too:
/// both refuse the same.
std::string Workshop::refused_include(const Words& command, const fs::path& source,
                                      const fs::path& dependencies) const {
  AnswerCompile compile{
      .command = command,
      .folder = at("src"),
      .source = source,
      .dependencies = dependencies,
      .scratch = at("objects") / "assembled.txt",
      .headers = {},
      .run = [&](const Words& words) {
        run_confined(confinement_, words, {{at("include"), at("src")}, at("objects")}, at("look.txt"));
        return read_text(at("look.txt"));  // all of it
      }};
  for (const std::string& file : lesson_.files) compile.headers.insert(at("src") / file);
  for (const fs::path& header : headers_.files) compile.headers.insert(copy_of(header));
  const std::string why = refusal(compile, headers_);
  return why.empty() ? "" : "does not compile: " + without_places(why);
}

std::vector<std::string> Workshop::compile_words(const fs::path& source, const fs::path& object) const {
  Words command = compile_;
  for (const char* headers : {"include", "include/gpu/include"})
    command.push_back("-I" + at(headers).string());
  command.insert(command.end(), {"-fmax-errors=10", "-o", object, "-c", source});
  return command;
}

ConfinedRun Workshop::run_compiler(const Words& command) const {
  return run_confined(confinement_, command, {{at("include"), at("src")}, at("objects")}, at("compile.txt"));
}

/// Throws Unavailable where the compiler fails on an empty file as well: no submission is to blame then.
void Workshop::require_compiler() const {
  const fs::path empty = at("src") / "empty.cpp";
  write_text(empty, "");
  show(empty);
  const ConfinedRun run = run_compiler(compile_words(empty, at("objects") / "empty.o"));
  if (!run.succeeded())
    throw Unavailable("the compiler fails on an empty file, too: " + first_complaint(run.output) +
                      run.exceeded);
}

/// Throws Unavailable where the lesson's skeleton, which defines all and does nothing, does not link as well:
/// no submission is to blame then.
void Workshop::require_linker() const {
  std::string problem;
  for (const std::string& file : lesson_.files) {
    const std::optional<std::string> skeleton = checkout_.skeleton(lesson_, file);
    if (!skeleton) throw std::runtime_error("the course has no skeleton of " + file);
    if (problem.empty()) problem = compile(file, *skeleton);
  }
  if (problem.empty()) problem = link();
  if (!problem.empty()) throw Unavailable("the lesson's skeleton " + problem);
}

/// What an object may not hold: names that reach the system past what a lesson needs, and ways into the
/// kernel that need no name.
std::string Workshop::examine(const std::string& file) const {
  const Room room{{}, at("objects")};
  // Whole files: what a run shows of its output ends after 256 KiB.
  const fs::path names = at("nm.txt"), own_names = at("own_nm.txt"), code = at("code.txt");
  const Words list_names{"nm", "--undefined-only", "--demangle", object_of(file)};
  const Words list_own_names{"nm", "--defined-only", "--demangle", object_of(file)};
  const Words disassemble{"objdump", "--disassemble", "--no-show-raw-insn", object_of(file)};
  if (!run_confined(confinement_, list_names, room, names).succeeded() ||
      !run_confined(confinement_, list_own_names, room, own_names).succeeded() ||
      !run_confined(confinement_, disassemble, room, code).succeeded())
    return file + " compiles to an object that cannot be examined";
  const std::string lists = read_text(checkout_.root / "common/audit/allowed_symbols.txt");
  const ObjectListing listing{read_text(names), read_text(own_names)};
  if (const std::string refused = refused_symbol(listing, lists, lesson_.needs, lesson_.tag());
      !refused.empty())
    return file + " " + refused;
  if (const std::string entry = kernel_entry(read_text(code)); !entry.empty())
    return file + " holds the instruction " + entry + ", which no answer to this lesson needs";
  return "";
}

std::string Workshop::link() const {
  const fs::path linked = at("objects") / "subject.so";
  const ConfinedRun run = run_confined(confinement_, link_, {{at("tools")}, at("objects")}, at("link.txt"));
  if (!run.succeeded())
    return "does not link: " + first_link_errors(without_places(run.output), lesson_) + run.exceeded;
  if (!fs::is_regular_file(fs::symlink_status(linked))) return "does not link: the linker made no file";
  fs::copy_file(linked, subject(), fs::copy_options::overwrite_existing);
  show(subject());
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

ConfinedRun run_confined(const Confinement& confinement, const std::vector<std::string>& command,
                         const Room& room, const fs::path& output) {
  constexpr std::size_t shown_bytes = 256 << 10;
  const std::chrono::duration<double> limit(confinement.limits().launch_limit_s);
  ConfinedRun run;
  fs::remove(output);
  Process process({.argv = confinement.wrap(command, {}, room), .output = output});
  const auto begin = std::chrono::steady_clock::now();
  while (!process.poll() && run.exceeded.empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    run.exceeded = confinement.exceeded(process.pid(), room.writable).value_or("");
    if (run.exceeded.empty() && std::chrono::steady_clock::now() - begin > limit)
      run.exceeded = fmt::format("it ran for more than {:.0f} s", limit.count());
  }
  run.exit = process.poll().value_or(Exit{});
  process.kill();
  confinement.sweep(room.writable);
  run.output = read_text(output).substr(0, shown_bytes);
  return run;
}

bool readable_confined(const Confinement& confinement, const fs::path& path) {
  const TemporaryFolder temporary;
  // Of a folder: what lies in it, which can be guessed where it is not listed.
  const char* what = fs::is_directory(path) ? "-x" : "-r";
  return run_confined(confinement, {"test", what, path}, {}, temporary.path() / "output.txt").succeeded();
}

}  // namespace course::program::grader
