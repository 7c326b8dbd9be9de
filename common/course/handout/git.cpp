#include "course/handout/git.hpp"

#include "course/terminal/terminal.hpp"
#include "course/workspace/checkout.hpp"
#include "protocol/errors.hpp"

namespace course::program {

void require_git() {
  if (find_program("git").empty()) throw Unavailable("there is no git on this machine: install git");
}

Command git_command(const std::filesystem::path& folder, const std::vector<std::string>& arguments) {
  // A hook that calls ./course has set the variables that name a repository: they would lead git elsewhere.
  std::vector<std::string> command = words_of(
      "env -u GIT_DIR -u GIT_WORK_TREE -u GIT_INDEX_FILE git -c 'user.name=The course' "
      "-c user.email=course@localhost -c commit.gpgsign=false -c core.hooksPath=/dev/null "
      "-c core.autocrlf=false -c core.quotePath=false -c advice.detachedHead=false");
  command.insert(command.end(), arguments.begin(), arguments.end());
  return {.argv = command, .folder = folder};
}

Captured ask_git(const std::filesystem::path& folder, const std::vector<std::string>& arguments) {
  return capture(git_command(folder, arguments));
}

std::string git(const std::filesystem::path& folder, const std::vector<std::string>& arguments) {
  const Captured said = ask_git(folder, arguments);
  if (said.exit.code != 0)
    throw std::runtime_error("git " + arguments.front() + " failed in " + folder.string() + ": " +
                             said.output);
  return said.output;
}

}  // namespace course::program
