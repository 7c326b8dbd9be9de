#include "grader/history.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <vector>

#include "runner/descriptor.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program::grader {

namespace fs = std::filesystem;

namespace {

constexpr double git_limit_s = 20;
constexpr off_t largest_list = 16 << 20;  ///< of references

/// A regular file of the repository's own, not reached through a link; empty where there is none.
std::string read_own(const Descriptor& repository, const fs::path& path) {
  const Descriptor file = open_beneath(repository, path);
  struct stat status {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size > largest_list)
    return "";
  return read_text("/proc/self/fd/" + std::to_string(file.get()));
}

bool is_commit_id(const std::string& text) {
  static const std::regex id("[0-9a-f]{40}");
  return std::regex_match(text, id);
}

std::string first_word(const std::string& text) {
  std::istringstream words(text);
  std::string word;
  words >> word;
  return word;
}

/// The commit in a list of lines "ID NAME"; empty where it has none.
std::string packed_commit(const std::string& list, const std::string& name) {
  for (const std::string& line : lines_of(list)) {
    if (line.ends_with(" " + name)) return first_word(line);
  }
  return "";
}

/// The commit that HEAD names; empty where it names none.
std::string head_commit(const Descriptor& repository) {
  const std::string mark = "ref: ";
  const std::string head = read_own(repository, "HEAD");
  if (!head.starts_with(mark)) return first_word(head);
  const std::string name = first_word(head.substr(mark.size()));
  if (!name.starts_with("refs/")) return "";
  const std::string id = first_word(read_own(repository, name));
  return id.empty() ? packed_commit(read_own(repository, "packed-refs"), name) : id;
}

/// Asks git about the objects of another repository, with a configuration that is not that repository's.
class Objects {
 public:
  Objects(const fs::path& objects, const std::string& shallow) : objects_(fs::canonical(objects)) {
    write_text(own_.path() / "HEAD", "ref: refs/heads/none\n");
    write_text(own_.path() / "config", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n");
    for (const char* folder : {"objects", "refs"}) fs::create_directory(own_.path() / folder);
    if (!shallow.empty()) write_text(own_.path() / "shallow", shallow);
  }

  /// What git printed; nullopt where it failed.
  std::optional<std::string> ask(const std::vector<std::string>& arguments) const {
    std::vector<std::string> command{"env",
                                     "-u",
                                     "GIT_WORK_TREE",
                                     "-u",
                                     "GIT_INDEX_FILE",
                                     "GIT_CONFIG_NOSYSTEM=1",
                                     "GIT_CONFIG_GLOBAL=/dev/null",
                                     "GIT_DIR=" + own_.path().string(),
                                     "GIT_OBJECT_DIRECTORY=" + objects_.string(),
                                     "git",
                                     "--no-pager",
                                     "--no-replace-objects",
                                     "--literal-pathspecs",
                                     "-c",
                                     "core.commitGraph=false"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const Captured said = capture({.argv = command, .limit_s = git_limit_s});
    if (said.exit.code != 0) return std::nullopt;
    return said.output;
  }

 private:
  TemporaryFolder own_;
  fs::path objects_;
};

}  // namespace

std::optional<LastCommit> last_commit(const fs::path& folder, const HandedIn& handed_in) {
  const fs::path git = folder / ".git", objects = git / "objects";
  for (const fs::path& own : {git, objects}) {
    if (!fs::is_directory(fs::symlink_status(own))) return std::nullopt;
  }
  const Descriptor repository(open(git.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const std::string head = head_commit(repository);
  if (!is_commit_id(head) || handed_in.places.empty()) return std::nullopt;
  const std::string shallow = read_own(repository, "shallow");
  const Objects history(objects, shallow);
  std::vector<std::string> question{"log", "-1", "--no-show-signature", "--format=%h %cI %ct %H", head, "--"};
  bool changed = false;
  for (const auto& [file, place] : handed_in.places) {
    question.push_back(place.generic_string());
    const auto committed = history.ask({"cat-file", "blob", head + ":" + place.generic_string()});
    changed = changed || !committed || !same_lines(*committed, handed_in.texts.at(file));
  }
  const std::optional<std::string> answer = history.ask(question);
  if (!answer || answer->empty()) return std::nullopt;
  LastCommit commit;
  commit.changed_since = changed;
  std::string whole_id;
  std::istringstream(*answer) >> commit.id >> commit.date >> commit.seconds >> whole_id;
  commit.cut_off = shallow.find(whole_id) != std::string::npos;
  return commit;
}

}  // namespace course::program::grader
