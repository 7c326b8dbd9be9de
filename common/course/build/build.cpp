#include "course/build/build.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "course/build/file_lock.hpp"
#include "course/terminal/live_progress.hpp"
#include "course/terminal/terminal.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

/// Every tree lies in build/, and one lock, the launcher's too, keeps two builds apart.
FileLock lock_builds(const fs::path& root) {
  return FileLock(root / "build" / ".lock", "another ./course to finish building",
                  std::getenv("COURSE_NO_WAIT") == nullptr);
}

std::string progress_text(const std::string& title, const BuildCount& count, double seconds) {
  return fmt::format("building {}: {} of {}, {}, about {} left", title, count.done, count.total,
                     duration(seconds), duration(seconds_left(count, seconds)));
}

/// Beside the build tree, so that a configuration which was interrupted is done again.
fs::path configuring_mark(const fs::path& tree) {
  return tree / ".configuring";
}

/// Whether that was done, with these of the course's own settings ("-DCOURSE_SEEDS=3").
bool is_configured(const fs::path& root, const fs::path& tree, const std::vector<std::string>& arguments) {
  const fs::path cache = tree / "CMakeCache.txt";
  if (!fs::exists(cache) || fs::exists(configuring_mark(tree))) return false;
  // A checkout that was moved has a cache that names the old place.
  const std::vector<std::string> entries = lines_of(read_text(cache));
  const auto has = [&](const std::string& name, const std::string& value) {
    return std::ranges::any_of(entries, [&](const std::string& entry) {
      return entry.starts_with(name + ":") && entry.substr(entry.find('=') + 1) == value;
    });
  };
  return has("CMAKE_HOME_DIRECTORY", root.string()) &&
         std::ranges::all_of(arguments, [&](const std::string& argument) {
           const std::size_t equals = argument.find('=');
           return !argument.starts_with("-DCOURSE_") ||
                  has(argument.substr(2, equals - 2), argument.substr(equals + 1));
         });
}

std::string hash_of(const std::vector<fs::path>& sources) {
  std::vector<std::string> texts;
  for (const fs::path& source : sources) texts.push_back(fs::exists(source) ? read_text(source) : "");
  return content_hash(texts);
}

void renew(const std::vector<fs::path>& sources) {
  std::error_code ignored;  // a file that is not there fails its build
  for (const fs::path& source : sources)
    fs::last_write_time(source, fs::file_time_type::clock::now(), ignored);
}

bool any_newer(const std::vector<fs::path>& sources, const fs::path& library) {
  std::error_code error;
  const fs::file_time_type built = fs::last_write_time(library, error);
  if (error) return true;
  return std::ranges::any_of(
      sources, [&](const fs::path& source) { return fs::last_write_time(source, error) > built && !error; });
}

}  // namespace

BuildResult build(const BuildOrder& order) {
  const FileLock lock = lock_builds(order.root);
  std::vector<std::string> command{"cmake", "--build", order.tree, "--target"};
  command.insert(command.end(), order.targets.begin(), order.targets.end());
  if (order.jobs > 0) command.insert(command.end(), {"-j", std::to_string(order.jobs)});
  NinjaOutput output;
  LiveProgress progress("building " + order.title);
  const Exit exit = run({.argv = command, .environment = {{"NINJA_STATUS", output.ninja_status}}},
                        [&](const std::string& line) {
                          const std::optional<BuildCount> count = output.add(line);
                          if (!count) return;
                          progress.show([title = order.title, count = *count](double seconds) {
                            return progress_text(title, count, seconds);
                          });
                        });
  return {exit.code == 0, output.steps()};
}

void require_built(const BuildResult& built, const std::string& what) {
  if (!built.succeeded) throw std::runtime_error(what + " could not be built:\n" + failure_text(built));
}

BuildResult build_as_saved(const BuildOrder& order, const std::vector<fs::path>& sources,
                           const fs::path& library) {
  constexpr int most_rounds = 10;  // of compiling what was saved meanwhile
  // What was compiled into the library, unless a build of it was interrupted.
  const fs::path mark = library.string() + ".compiled";
  BuildResult built;
  for (int round = 0; round < most_rounds; ++round) {
    const std::string hash = hash_of(sources);
    const bool is_compiled = fs::exists(mark) && read_text(mark) == hash;
    const bool saved_meanwhile = round > 0;
    if (saved_meanwhile || (!is_compiled && !any_newer(sources, library))) renew(sources);
    fs::remove(mark);
    built = build(order);
    built.hash = hash;
    if (hash_of(sources) != hash) continue;
    if (built.succeeded) write_text(mark, hash);
    break;
  }
  return built;
}

void configure(const fs::path& root, const fs::path& tree, const std::vector<std::string>& arguments) {
  const FileLock lock = lock_builds(root);
  if (is_configured(root, tree, arguments)) return;
  ProgressLine progress;
  progress.show("configuring " + fs::relative(tree, root).string());
  write_text(configuring_mark(tree), "");
  std::vector<std::string> command{"cmake", "--fresh", "-B", tree};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const Captured said = capture({.argv = command, .folder = root});
  progress.clear();
  if (said.exit.code != 0)
    throw std::runtime_error("cmake could not configure " + tree.string() + ":\n" + said.output);
  fs::remove(configuring_mark(tree));
}

std::string failure_text(const BuildResult& result) {
  std::string text;
  for (const BuildStep& step : result.steps) {
    if (!step.failed && !step.title.empty()) continue;
    if (!step.title.empty()) text += step.title + "\n";
    for (const std::string& line : step.lines) text += line + "\n";
  }
  return text;
}

}  // namespace course::program
