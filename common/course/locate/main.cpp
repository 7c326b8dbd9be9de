#include "course/commands/command_line.hpp"
#include "course/locate/locate.hpp"

namespace course::program {

namespace {

class LocateLine : public CommandLine {
 public:
  LocateLine() {
    CLI::App* command =
        add_command("locate", "the line that a task fails by, found by small changes of my file",
                    [this](const Checkout& checkout) { return locate(checkout, options_); });
    command->add_option("lesson", options_.lesson, "05 or 05.2; without a task, the first that fails")
        ->required();
    command->add_option("--task", options_.task, "of this task");
    command->add_option("--seconds", options_.seconds, "after which nothing more is tried")
        ->check(more_than_0_seconds);
    command->add_flag("--spoil", options_.spoil, "what was changed, too");
  }

 private:
  LocateOptions options_;
};

}  // namespace

}  // namespace course::program

int main(int argc, char** argv) {
  return course::program::LocateLine().run(argc, argv);
}
