#include "course/build/saved_build.hpp"

#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

constexpr int most_rounds = 10;  ///< of compiling what was saved meanwhile

std::string hash_of(const std::vector<fs::path>& sources) {
  std::vector<std::string> texts;
  for (const fs::path& source : sources) texts.push_back(fs::exists(source) ? read_text(source) : "");
  return content_hash(texts);
}

/// What was compiled into the library, unless a build of it was interrupted.
fs::path compiled_mark(const fs::path& library) {
  return library.string() + ".compiled";
}

bool is_compiled(const fs::path& library, const std::string& hash) {
  return fs::exists(compiled_mark(library)) && read_text(compiled_mark(library)) == hash;
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
  for (const fs::path& source : sources) {
    if (fs::last_write_time(source, error) > built && !error) return true;
  }
  return false;
}

}  // namespace

SavedBuild build_as_saved(const BuildOrder& order, const std::vector<fs::path>& sources,
                          const fs::path& library) {
  SavedBuild built;
  for (int round = 0; round < most_rounds; ++round) {
    built.hash = hash_of(sources);
    const bool saved_meanwhile = round > 0;
    const bool put_in_place = !is_compiled(library, built.hash) && !any_newer(sources, library);
    if (saved_meanwhile || put_in_place) renew(sources);
    fs::remove(compiled_mark(library));
    built.result = build(order);
    if (hash_of(sources) != built.hash) continue;
    if (built.result.succeeded) write_text(compiled_mark(library), built.hash);
    break;
  }
  return built;
}

}  // namespace course::program
