#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "course/terminal/terminal.hpp"
#include "demo/output_folder.hpp"
#include "lab/experiment.hpp"
#include "lab/network.hpp"
#include "lab/quantity.hpp"
#include "lab/report.hpp"
#include "protocol/errors.hpp"
#include "runner/interruption.hpp"
#include "runner/temporary_folder.hpp"
#include "trace/tiles.hpp"

namespace course::lab {

namespace {

namespace fs = std::filesystem;

/// What ./course tells this program.
struct Orders {
  int ranks = 2;
  fs::path out;
  bool json = false;
  TraceTitle trace;
  fs::path case_folder;  ///< what to trace; empty: the ring
  TracedRing ring;
  LaboratoryTitle laboratory;
  LaboratoryCode code;
  std::string bandwidth;
  std::string latency = "0ms";
};

Page page() {
  return {program::columns(stdout, 100), program::colour_on(stdout)};
}

std::vector<std::string> in_folder(const fs::path& folder, const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back((folder / name).string());
  return paths;
}

std::string written(const std::vector<std::string>& files) {
  std::string text = "\nWritten\n";
  for (const std::string& file : files) text += "  " + file + "\n";
  return text;
}

int trace(const Orders& orders) {
  demo::OutputFolder folder(orders.out);
  const Result result = orders.case_folder.empty() ? trace_ring(orders.ring, orders.ranks)
                                                   : trace_case(orders.case_folder, orders.ring.subject);
  const std::vector<RankTrace> traces = traces_of(result.call);
  folder.add("timeline.svg", svg_timeline(with_joined_tiles(traces), trace_heading(orders.trace, result)));
  folder.add("trace.json", chrome_trace(traces));
  folder.commit();
  const std::vector<std::string> files = in_folder(orders.out, {"timeline.svg", "trace.json"});
  fmt::print("{}", orders.json ? trace_json(orders.trace, result, files)
                               : trace_text(orders.trace, result, page()) + written(files));
  return succeeded;
}

/// Adds the pictures of a laboratory; returns their names.
std::vector<std::string> add_pictures(demo::OutputFolder& folder, const LaboratoryTitle& title,
                                      const Result& result) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name, const std::string& text) {
    folder.add(name, text);
    names.push_back(name);
  };
  for (const Measured& measured : result.settings) {
    const std::string setting = fmt::format("work-{:g}", measured.work_over_transfer);
    add(setting + ".svg", laboratory_svg(title, measured, result.ranks));
    for (const CallResult& ring : measured.rings) {
      std::string name = ring.name;
      std::erase(name, ',');
      std::replace(name.begin(), name.end(), ' ', '-');
      add(setting + "-" + name + ".json", chrome_trace(traces_of(ring)));
    }
  }
  return names;
}

int laboratory(const Orders& orders) {
  demo::OutputFolder folder(orders.out);
  const TemporaryFolder temporary;
  const Network network({.bandwidth = parse_bandwidth(orders.bandwidth),
                         .latency_s = parse_latency(orders.latency),
                         .two_hosts = orders.laboratory.name == "two-hosts"},
                        temporary.path());
  LaboratoryTitle title = orders.laboratory;
  title.link = network.description();
  title.limits = network.limits();
  if (!title.limits.empty()) program::complain(title.limits);
  program::ProgressLine progress;
  const Result result = run_laboratory(orders.code, orders.ranks, network.starter(orders.ranks),
                                       [&](const std::string& text) { progress.show(text); });
  progress.clear();
  const std::vector<std::string> files = in_folder(orders.out, add_pictures(folder, title, result));
  folder.commit();
  fmt::print("{}", orders.json ? laboratory_json(title, result, files)
                               : laboratory_text(title, result, page()) + written(files));
  return succeeded;
}

CLI::App* declare(CLI::App& app, const std::string& name, const std::string& what, Orders& orders) {
  CLI::App* command = app.add_subcommand(name, what);
  command->add_option("--out", orders.out)->required();
  command->add_flag("--json", orders.json);
  return command;
}

CLI::Option* declare_ranks(CLI::App* command, Orders& orders) {
  return command->add_option("--ranks", orders.ranks)->check(CLI::PositiveNumber);
}

CLI::App* declare_trace(CLI::App& app, Orders& orders) {
  CLI::App* command = declare(app, "trace", "one lesson's timeline", orders);
  command->add_option("--subject", orders.ring.subject, "the lesson's shared object")->required();
  command->add_option("--lesson", orders.trace.lesson)->required();
  command->add_option("--what", orders.trace.what)->required();
  command->add_option("--code", orders.trace.code)->required();
  CLI::Option* ring = command->add_option("--ring", orders.ring.function, "the ring to play");
  declare_ranks(command, orders)->needs(ring);
  ring->needs(command->add_option("--block", orders.ring.block, "the shared object of lesson 04"));
  ring->needs(command->add_option("--blocks", orders.trace.blocks, "whose that is"));
  CLI::Option_group* what = command->add_option_group("what to play");
  what->add_option("--case", orders.case_folder, "a case to play, on as many ranks as it has");
  what->add_option(ring);
  what->require_option(1);
  return command;
}

void declare_laboratory(CLI::App& app, Orders& orders) {
  CLI::App* command = declare(app, "laboratory", "rings on a link", orders);
  declare_ranks(command, orders);
  command->add_option("name", orders.laboratory.name)
      ->required()
      ->check(CLI::IsMember({"slow-network", "two-hosts"}));
  command->add_option("--block", orders.code.block, "the shared object of lesson 04")->required();
  command->add_option("--ring", orders.code.blocking, "the shared object of lesson 05")->required();
  command->add_option("--overlap", orders.code.overlap, "the shared object of lesson 08")->required();
  command->add_option("--bandwidth", orders.bandwidth)->required();
  command->add_option("--latency", orders.latency);
  command->add_option("--ring-code", orders.laboratory.blocking_code)->required();
  command->add_option("--overlap-code", orders.laboratory.overlap_code)->required();
  command->add_option("--block-code", orders.laboratory.block_code)->required();
}

int run(int argc, char** argv) {
  Orders orders;
  CLI::App app("Runs what ./course trace and ./course lab have built.");
  app.require_subcommand(1);
  const CLI::App* const traces = declare_trace(app, orders);
  declare_laboratory(app, orders);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    program::complain(error.what());
    return wrong_usage;
  }
  const Interruptible interruptible;
  return traces->parsed() ? trace(orders) : laboratory(orders);
}

/// Where Debian keeps tc, out of the sight of those who are not root.
void look_in_sbin() {
  const char* const path = std::getenv("PATH");
  setenv("PATH", (std::string(path == nullptr ? "" : path) + ":/usr/sbin:/sbin").c_str(), 1);
}

int guarded_run(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Interrupted& interrupted) {
    return interrupted.exit_code;
  } catch (const std::invalid_argument& error) {
    program::complain(error.what());
    return wrong_usage;
  } catch (...) {
    return program::report_exception();
  }
}

}  // namespace

}  // namespace course::lab

int main(int argc, char** argv) {
  course::lab::look_in_sbin();
  return course::lab::guarded_run(argc, argv);
}
