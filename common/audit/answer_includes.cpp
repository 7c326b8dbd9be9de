#include "audit/answer_includes.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <utility>

#include "text/text_file.hpp"

namespace course {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

namespace {

constexpr const char* toolkit = "common/gpu/include";

/// What the text of a header includes.
Words includes_of(const std::string& text) {
  static const std::regex include(R"(^\s*#\s*include\s*["<]([^">]+)[">])");
  Words names;
  for (const std::string& line : lines_of(text)) {
    if (std::smatch found; std::regex_search(line, found, include)) names.push_back(found[1]);
  }
  return names;
}

bool is_inside(const fs::path& file, const fs::path& folder) {
  const fs::path inside = file.lexically_relative(folder);
  return !inside.empty() && *inside.begin() != "..";
}

fs::path normal(const fs::path& file, const fs::path& folder) {
  return (folder / file).lexically_normal();
}

/// A compile's command without what it writes, and with other options.
Words with_options(const AnswerCompile& compile, const Words& options) {
  Words words;
  for (auto word = compile.command.begin(); word != compile.command.end(); ++word) {
    const bool takes_next = *word == "-o" || *word == "-MF" || *word == "-MT" || *word == "-MQ";
    if (takes_next && word + 1 != compile.command.end())
      ++word;
    else if (*word != "-c" && *word != "-MD" && *word != "-MMD")
      words.push_back(*word);
  }
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

/// Where the compiler looks for headers: the folders that its command, its environment (CPATH,
/// CPLUS_INCLUDE_PATH) and its own installation name.
std::vector<fs::path> searched_folders(const AnswerCompile& compile) {
  Words command = with_options(compile, {"-E", "-x", "c++", "/dev/null", "-o", "/dev/null"});
  std::erase(command, compile.source.string());
  // nvcc's own -v says nothing of folders; the compiler behind it does.
  if (fs::path(command.front()).filename() == "nvcc") command.push_back("-Xcompiler");
  command.push_back("-v");
  std::vector<fs::path> folders;
  bool listed = false;
  for (const std::string& line : lines_of(compile.run(command))) {
    const bool is_folder = listed && line.starts_with(" ");
    if (is_folder) folders.push_back(normal(line.substr(1), compile.folder));
    listed = is_folder || line.starts_with("#include <...>");
  }
  return folders;
}

/// The folders whose headers are the system's: its own, the compiler's installation, and all that the
/// compiler searches, such as MPI's and Eigen's.
std::vector<fs::path> system_folders(const AnswerCompile& compile) {
  std::vector<fs::path> folders = searched_folders(compile);
  folders.insert(folders.end(), {"/usr", "/lib", "/lib32", "/lib64"});
  std::error_code none;
  const fs::path compiler = fs::canonical(compile.command.front(), none).parent_path().parent_path();
  if (compiler.has_relative_path()) folders.push_back(compiler);
  return folders;
}

/// The first file that is not to be read; an empty path when there is none.
fs::path refused_file(const AnswerCompile& compile, const AnswerHeaders& allowed,
                      const std::vector<fs::path>& read) {
  const std::vector<fs::path> system = system_folders(compile);
  const fs::path source = normal(compile.source, compile.folder);
  for (const fs::path& each : read) {
    const fs::path file = normal(each, compile.folder);
    if (file == source || compile.headers.contains(file)) continue;
    std::error_code none;
    const bool courses =
        is_inside(file, allowed.root) || is_inside(fs::weakly_canonical(file, none), allowed.root);
    const bool systems =
        std::ranges::any_of(system, [&](const fs::path& folder) { return is_inside(file, folder); });
    if (courses || !systems) return file;
  }
  return {};
}

/// "FILE:LINE" of the #include that led to a file, by what the preprocessor notes: `# 1 "FILE" 1` where it
/// begins. The source alone where it notes nothing, as where the assembler has read it.
std::string place_of_include(const AnswerCompile& compile, const fs::path& file) {
  static const std::regex mark(R"re(^# (\d+) "((?:[^"\\]|\\.)*)"((?: \d)*)$)re");
  std::string name = compile.source;
  int line = 0;
  for (const std::string& text : lines_of(compile.run(with_options(compile, {"-E"})))) {
    std::smatch found;
    if (!text.starts_with("# ") || !std::regex_match(text, found, mark)) {
      ++line;
      continue;
    }
    const bool begins = found[3].str().starts_with(" 1");
    if (begins && normal(found[2].str(), compile.folder) == file) return name + ":" + std::to_string(line);
    name = found[2];
    line = std::stoi(found[1]);
  }
  return compile.source;
}

/// "FILE:LINE: error: HEADER may not be included", and what may.
std::string refused_at(const std::string& place, const fs::path& file, const AnswerHeaders& allowed) {
  const fs::path name = is_inside(file, allowed.root) ? file.lexically_relative(allowed.root) : file;
  return place + ": error: " + name.string() + " may not be included; " + allowed.in_words();
}

/// The file that an answer in the course's own folder would include by this name; an empty path where the
/// course has none.
fs::path file_of_course(const std::string& name, const AnswerHeaders& allowed) {
  for (const fs::path& folder : {allowed.files.front().parent_path(), fs::path("common")}) {
    const fs::path file = normal(name, allowed.root / folder);
    if (is_inside(file, allowed.root) && fs::is_regular_file(file)) return file;
  }
  return {};
}

/// Whether the assembler may be told to read files, of which the compiler knows nothing.
bool may_assemble(const std::string& text) {
  return std::ranges::any_of(std::array{"asm", "##", "%:", "\\\n"},
                             [&](const char* sign) { return text.find(sign) != std::string::npos; });
}

/// What the assembler reads, GNU's own, since others do not say.
std::vector<fs::path> assembled_files(const AnswerCompile& compile) {
  fs::remove(compile.scratch);
  Words options{"-c", "-o", "/dev/null", "-w", "-Wa,--MD," + compile.scratch.string()};
  if (compile.run({compile.command.front(), "--version"}).find("clang") != std::string::npos)
    options.push_back("-fno-integrated-as");
  compile.run(with_options(compile, options));
  if (!fs::exists(compile.scratch)) return {};
  std::vector<fs::path> files = dependencies_in(read_text(compile.scratch));
  // The text that the compiler gave it is one of them, and is gone.
  std::erase_if(files, [&](const fs::path& file) { return !fs::exists(normal(file, compile.folder)); });
  return files;
}

/// Whether a build, which sees the whole course, and a grade answer alike whether there is such a header.
bool answered_alike(const std::string& name, const AnswerHeaders& allowed) {
  const bool listed =
      std::ranges::any_of(allowed.files, [&](const fs::path& file) { return as_included(file) == name; });
  const bool bare = !fs::path(name).is_absolute() && name.find("..") == std::string::npos;
  return listed ||
         (bare && !fs::exists(allowed.root / "common" / name) && !fs::exists(allowed.root / toolkit / name));
}

/// Where a source asks whether there is a header that a grade may not have, as "LINE: WORDS".
std::string refused_question(const std::string& text, const AnswerHeaders& allowed) {
  static const std::regex asks("__has_include(_next)?"), named(R"(^\s*\(\s*<([^>]*)>)"),
      defined(R"((ifdef|ifndef|defined\s*\(?)\s*$)"), numbered(R"(^#line (\d+))");
  int number = 0;
  for (const std::string& line : lines_of(text)) {
    std::smatch found;
    number = std::regex_search(line, found, numbered) ? std::stoi(found[1]) - 1 : number + 1;
    for (std::sregex_iterator ask(line.begin(), line.end(), asks), end; ask != end; ++ask) {
      const std::string before = ask->prefix(), after = ask->suffix();
      if (std::regex_search(before, defined)) continue;
      if (std::regex_search(after, found, named) && answered_alike(found[1], allowed)) continue;
      return std::to_string(number) + ": error: " + ask->str() + after +
             " may find another answer in a grade: ask for a header of the system, in < and >";
    }
  }
  return "";
}

/// The header itself, and what it includes of the course, where it stands or by an include folder.
void add_with_includes(const fs::path& header, const fs::path& root, const std::vector<fs::path>& folders,
                       std::vector<fs::path>& files) {
  if (std::ranges::find(files, header) != files.end()) return;
  files.push_back(header);
  for (const std::string& name : includes_of(read_text(root / header))) {
    std::vector<fs::path> places{header.parent_path()};
    places.insert(places.end(), folders.begin(), folders.end());
    const auto place = std::ranges::find_if(
        places, [&](const fs::path& folder) { return fs::exists(root / folder / name); });
    if (place != places.end()) add_with_includes((*place / name).lexically_normal(), root, folders, files);
  }
}

/// The headers in a folder and below it, from the root.
std::vector<fs::path> headers_below(const fs::path& root, const fs::path& folder) {
  std::vector<fs::path> headers;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
    if (!entry.is_directory()) headers.push_back(fs::relative(entry.path(), root));
  }
  std::ranges::sort(headers);
  return headers;
}

bool needs_toolkit(const fs::path& root, const fs::path& header) {
  return std::ranges::any_of(includes_of(read_text(root / header)),
                             [&](const std::string& name) { return fs::exists(root / toolkit / name); });
}

}  // namespace

AnswerHeaders::AnswerHeaders(fs::path course, const std::string& folder, bool on_gpu)
    : root(std::move(course)), lesson(folder.substr(0, folder.find('_'))) {
  std::vector<fs::path> folders{"common"};
  if (on_gpu) folders.push_back(toolkit);
  const fs::path contract = fs::path("lessons") / folder / (folder.substr(lesson.size() + 1) + ".hpp");
  std::vector<fs::path> first{contract};
  for (const std::string& name : includes_of(read_text(root / contract))) {
    if (fs::exists(root / "common" / name)) first.push_back(fs::path("common") / name);
  }
  for (const fs::path& header : headers_below(root, "common/lesson")) {
    if (on_gpu || !needs_toolkit(root, header)) first.push_back(header);
  }
  if (on_gpu) {
    for (const fs::path& header : headers_below(root, toolkit)) first.push_back(header);
  }
  for (const fs::path& header : first) {
    named.push_back(as_included(header));
    add_with_includes(header, root, folders, files);
  }
  std::vector<fs::path> of_contract;
  add_with_includes(contract, root, folders, of_contract);
  const bool on_ranks = std::ranges::any_of(of_contract, [&](const fs::path& header) {
    return std::ranges::count(includes_of(read_text(root / header)), "mpi.h") > 0;
  });
  if (on_ranks) systems.push_back("MPI");
  if (on_gpu) systems.push_back("CUDA");
}

std::string AnswerHeaders::in_words() const {
  return "an answer to lesson " + lesson + " may include " + listed(named) +
         " of the course, and the system's headers: those of " + listed(systems);
}

fs::path as_included(const fs::path& file) {
  for (const char* folder : {toolkit, "common"}) {
    if (is_inside(file, folder)) return file.lexically_relative(folder);
  }
  return file.filename();
}

std::vector<fs::path> dependencies_in(const std::string& rule) {
  std::vector<fs::path> files;
  std::string file;
  const auto end_file = [&] {
    if (!file.empty()) files.emplace_back(std::exchange(file, {}));
  };
  for (std::size_t i = rule.find(": "); i < rule.size(); ++i) {
    const char next = i + 1 < rule.size() ? rule[i + 1] : '\n';
    if (i == rule.find(": ")) continue;
    if (rule[i] == '\\' && next == '\n')
      ++i, end_file();
    else if ((rule[i] == '\\' && (next == ' ' || next == '#')) || (rule[i] == '$' && next == '$'))
      file += rule[++i];
    else if (std::isspace(static_cast<unsigned char>(rule[i])))
      end_file();
    else
      file += rule[i];
  }
  end_file();
  return files;
}

std::string refusal(const AnswerCompile& compile, const AnswerHeaders& allowed) {
  const std::string text = read_text(compile.folder / compile.source);
  if (const std::string question = refused_question(text, allowed); !question.empty())
    return compile.source.string() + ":" + question;
  std::vector<fs::path> read = dependencies_in(read_text(compile.dependencies));
  if (may_assemble(text)) std::ranges::copy(assembled_files(compile), std::back_inserter(read));
  const fs::path refused = refused_file(compile, allowed, read);
  if (refused.empty()) return "";
  return refused_at(place_of_include(compile, refused), refused, allowed);
}

std::string with_refusals(const std::string& output, const AnswerHeaders& allowed) {
  static const std::regex misses(
      "^(.+:[0-9]+):[0-9]+: fatal error: (?:(.+): No such file or directory|'(.+)' file not found)$");
  std::string text;
  for (const std::string& line : lines_of(output)) {
    std::smatch found;
    const bool is_missing = std::regex_match(line, found, misses);
    const fs::path file = is_missing ? file_of_course(found[2].str() + found[3].str(), allowed) : "";
    text += (file.empty() ? line : refused_at(found[1], file, allowed)) + "\n";
  }
  return text;
}

bool misses_header(const std::string& output) {
  return output.find("No such file or directory") != std::string::npos ||
         output.find("file not found") != std::string::npos;
}

}  // namespace course
