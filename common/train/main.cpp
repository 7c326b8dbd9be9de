#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <limits>
#include <thread>

#include "course/commands/command_line.hpp"
#include "course/workspace/lesson_status.hpp"
#include "protocol/timing.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"
#include "timed/output_folder.hpp"
#include "train/progress.hpp"
#include "train/report.hpp"
#include "train/sizes.hpp"

namespace course::train {

namespace {

namespace fs = std::filesystem;

constexpr Index steps_a_checkpoint = 100;

/// Whose code trains, built.
class Lessons {
 public:
  /// Throws Unavailable where this checkout lacks a lesson, or the student's own are asked for and not
  /// passed.
  Lessons(const program::Checkout& checkout, Settings& settings) : checkout_(checkout) {
    settings.mine = program::runs_own_lessons(checkout, program::read_progress(checkout), "train",
                                              roles_of_training(settings.in_registers), settings.mine);
    const std::string subject = settings.mine ? "student" : "solution";
    const auto code = [&](Role role) {
      return codes_.emplace_back(
          timed::code_of(checkout, program::held_lesson(checkout, role, "./course train"), subject));
    };
    const timed::Code trainer = code(Role::Training), layer = code(Role::Layer),
                      ring = code(Role::RingLayout);
    const bool registers = settings.in_registers;
    const timed::Code block = code(registers ? Role::BlockRegisters : Role::Block);
    const timed::Code backward = registers ? block : code(Role::BlockBackward);
    order_ = {.library = trainer.library,
              .layer = layer.library,
              .block = block.library,
              .block_backward = backward.library,
              .ring = ring.library,
              .ring_forward = ring.ring,
              .ring_backward = ring.ring_backward};
  }

  /// Throws std::runtime_error with what a failed build printed.
  void build() const { timed::build(checkout_, "the training", codes_, {"player_train"}); }

  /// An order with their shared objects.
  Order order(const Settings& settings) const {
    Order order = order_;
    order.settings = settings;
    return order;
  }

 private:
  const program::Checkout& checkout_;
  std::vector<timed::Code> codes_;
  Order order_;
};

/// What ranks read of a start, as files for as long as this lives: the text as it was read and measured, and
/// the checkpoint, which the run removes once there is a newer one.
class StartFiles {
 public:
  explicit StartFiles(const Start& start) : text_(folder_.path() / "text") {
    write_text(text_, start.text);
    if (start.from.path.empty()) return;
    from_ = folder_.path() / "from";
    fs::create_directories(from_);
    fs::copy(start.from.path, from_ / start.from.path.filename(), fs::copy_options::recursive);
  }
  void enter(Order& order) const {
    order.settings.text = text_;
    order.from = from_;
  }

 private:
  TemporaryFolder folder_;
  fs::path text_, from_;
};

class TrainLine : public program::CommandLine {
 public:
  TrainLine() {
    CLI::App* command = add_command("train", "A small model trained on a text of yours, over MPI ranks.",
                                    [this](const program::Checkout& checkout) { return train(checkout); });
    command->footer(
        "Ctrl-C finishes the step, saves, and says how to go on. Exit codes: 0 trained to the last step, 1 "
        "stopped "
        "before it or something failed, 2 a wrong option or file, 3 something is not there.");
    add_model(*command);
    add_run(*command);
  }

 private:
  CLI::Option* number(CLI::App& command, const char* name, Index& value, Index least, const char* what) {
    return command.add_option(name, value, what)
        ->check(program::between<Index>(least, std::numeric_limits<int>::max()));
  }

  void add_model(CLI::App& command) {
    Settings& settings = asked_.settings;
    options_ = {
        command.add_option("--text", settings.text, "the file to learn from (the course's own pages)"),
        number(command, "--context", settings.context, 1, "bytes that a step sees, over all ranks (1024)"),
        number(command, "--hidden", settings.hidden, 2, "the width of a layer (96; with --quick 64)"),
        number(command, "--heads", settings.heads, 1, "heads of attention (6; with --quick 4)"),
        number(command, "--layers", settings.layers, 1, "layers (3; with --quick 2)"),
        command.add_option("--seed", settings.seed, "of the first weights and of the windows (1)")
            ->check(program::whole_number_from_0),
        number(command, "--steps", settings.steps, 1, "steps in all (1000; with --quick 300)")};
  }

  void add_run(CLI::App& command) {
    Settings& settings = asked_.settings;
    const std::vector<std::string> layouts(std::begin(layout_names), std::end(layout_names));
    options_.push_back(command.add_option("--ranks", settings.ranks, "MPI ranks (2)")
                           ->check(program::between(1, std::numeric_limits<int>::max())));
    options_.push_back(
        command
            .add_option("--layout", settings.layout,
                        fmt::format("{}: which rank has which tokens (zigzag)", fmt::join(layouts, ", ")))
            ->check(CLI::IsMember(layouts)));
    options_.push_back(program::add_block_option(command, block_lesson_));
    options_.push_back(command.add_option(
        "--out", asked_.out, "where checkpoints and loss.svg go (a new folder in .course/train)"));
    options_.push_back(command.add_option("--resume", asked_.resume,
                                          "go on from the newest checkpoint there, on any number of ranks"));
    options_.push_back(
        number(command, "--sample", settings.sample, 0, "write so many bytes in the end (400)"));
    options_.push_back(number(command, "--compare", settings.compare, 0,
                              "make the first so many steps again on one rank, and compare (20)"));
    command.add_flag("--mine", settings.mine, "your own lessons, not the solutions");
    command.add_flag("--quick", asked_.quick, "a smaller model and fewer steps: half a minute");
    print_as_json(&command);
    command.add_flag("--json", json_, "print one JSON object and nothing else");
  }

  /// Which options were given, and what --quick says in place of the others.
  void take_options() {
    for (const CLI::Option* option : options_)
      if (option->count() > 0) asked_.said.insert("--" + option->get_lnames().front());
    Settings& settings = asked_.settings;
    settings.in_registers = !block_lesson_.empty();
    const auto require_name = [&](const char* option, const fs::path& name, const char* expected) {
      if (asked_.has(option) && name.empty())
        throw UsageError(fmt::format("{} '': expected {}", option, expected));
    };
    require_name("--text", settings.text, "a file of text");
    require_name("--out", asked_.out, "a folder");
    require_name("--resume", asked_.resume, "a folder");
    if (!asked_.quick) return;
    const auto otherwise = [&](const char* option, Index& value, Index quick) {
      if (!asked_.has(option)) value = quick;
    };
    otherwise("--steps", settings.steps, quick_steps);
    otherwise("--hidden", settings.hidden, quick_hidden);
    otherwise("--heads", settings.heads, quick_heads);
    otherwise("--layers", settings.layers, quick_layers);
  }

  int train(const program::Checkout& checkout) {
    take_options();
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    Start start = start_of(checkout, asked_, cores);
    const Lessons lessons(checkout, start.settings);
    {
      const Interruptible interruptible;
      lessons.build();
    }
    const StopRequest stop;
    if (!json_) std::cout << program::fitted(heading(start)) << std::flush;
    RunReport run{.start = start};
    const double begin_s = now_s();
    const StartFiles files(start);
    Order order = lessons.order(start.settings);
    files.enter(order);
    std::error_code none;
    if (!start.from.path.empty() && fs::equivalent(start.out, start.from.path.parent_path(), none))
      remove_newer_than(start.from);
    run.made = make_run(order, start, cores);
    if (start.settings.ranks > 1 && start.settings.compare > 0 && !run.made.stopped)
      run.compared = compared(run.made.steps, on_one_rank(order, start));
    run.seconds = now_s() - begin_s;
    return conclude(run);
  }

  Made make_run(Order order, const Start& start, int cores) {
    order.out = fs::absolute(start.out);
    order.last = start.settings.steps;
    order.evaluate = steps_between_evaluations(std::ssize(start.text), start.settings.context);
    order.save = steps_a_checkpoint;
    order.step_operations = cost_of(start.settings, cores).operations;
    RunProgress progress(order, start.from.step, !json_);
    try {
      return run_ranks(
          order, [&](const StepNews& news) { progress.add(news); },
          [&](const std::string& doing) { progress.show(doing); });
    } catch (const Unavailable&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      throw std::runtime_error(error.what() + what_is_left(start));
    }
  }

  /// "; step-000400 is kept: ./course train --resume ..." after a failure.
  std::string what_is_left(const Start& start) const {
    const std::vector<Checkpoint> there = checkpoints_in(start.out);
    if (there.empty()) return "; no checkpoint was written";
    return fmt::format("; {} is kept: {}", there.front().path.filename().string(),
                       command_to_go_on(asked_, start, start.settings.steps));
  }

  /// The first steps of the run again, as many as are compared.
  std::vector<StepNews> on_one_rank(Order order, const Start& start) {
    order.settings.ranks = 1;
    order.settings.sample = 0;
    order.last = std::min(start.settings.steps, start.from.step + start.settings.compare);
    program::ProgressLine line(std::chrono::hours(24));
    return run_ranks(
               order, [](const StepNews&) {},
               [&](const std::string& doing) { line.show("again on one rank: " + doing); })
        .steps;
  }

  int conclude(RunReport& run) {
    const Start& start = run.start;
    const Index made = run.made.steps.back().step + 1;
    run.go_on = command_to_go_on(asked_, start, run.made.stopped ? start.settings.steps : 2 * made);
    timed::OutputFolder folder(start.out);
    folder.add("loss.svg", report_svg(run));
    const std::string written =
        fmt::format("Written: {}, {}\n", folder.commit().at(0).string(), checkpoint_name(made));
    if (json_) {
      std::cout << report_json(run) << std::flush;
    } else {
      std::cout << report_text(run, timed::page_of_stdout()) << written
                << (run.made.stopped ? fmt::format("Stopped before step {} of {}. Go on with\n", made,
                                                   start.settings.steps)
                                     : std::string("Go on with\n"))
                << "  " << run.go_on << "\n"
                << std::flush;
    }
    const bool differs = run.compared && !run.compared->agree();
    return run.made.stopped || differs ? failed : succeeded;
  }

  Asked asked_;
  std::string block_lesson_;
  std::vector<CLI::Option*> options_;
};

}  // namespace

}  // namespace course::train

int main(int argc, char** argv) {
  return course::train::TrainLine().run(argc, argv);
}
