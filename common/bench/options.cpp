#include "bench/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "protocol/errors.hpp"

namespace course::bench {

namespace {

void declare(CLI::App& app, Options& options) {
  app.add_option("--forward", options.forward, "the shared object of lesson 04");
  CLI::Option* backward = app.add_option("--backward", options.backward, "the shared object of lesson 06");
  app.add_option("--eigen-forward", options.eigen_forward, "with --forward: one that it is held against");
  app.add_option("--eigen-backward", options.eigen_backward, "with --backward: one that it is held against");
  CLI::Option* ring = app.add_option("--ring", options.ring, "the shared object of lesson 05");
  CLI::Option* block =
      app.add_option("--block", options.block, "with --ring: the shared object of lesson 04");
  ring->needs(block);
  block->needs(ring);
  app.add_option("--ring-backward", options.ring_backward, "with --ring and --backward: that of lesson 07")
      ->needs(ring)
      ->needs(backward);
  app.add_option("--peers", options.peers, "a Python with torch and ring-attention-pytorch");
  app.add_option("--work", options.work, "a folder for tensors that processes share")->required();
  app.add_option("--heads", options.heads)->check(CLI::Range(1, 1024));
  app.add_option("--tokens", options.tokens, "on one core; a ring has twice as many")
      ->check(CLI::Range(1, 1 << 16));
  app.add_option("--head-dims", options.head_dims, "on one core, such as 32,64")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  app.add_option("--ring-head-dim", options.ring_head_dim)->check(CLI::Range(1, 1024));
  app.add_option("--repetitions", options.repetitions)->check(CLI::Range(1, 1000));
  app.add_option("--min-seconds", options.min_seconds, "of one repetition")->check(CLI::Range(0.001, 60.0));
  app.add_flag("--json", options.json, "print one JSON object and nothing else");
}

}  // namespace

Options parse_options(std::vector<std::string> arguments) {
  CLI::App app("Times attention against Eigen's matrix product.", "course_bench");
  Options options;
  declare(app, options);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    options.help = app.help();
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    throw program::UsageError(text + "; --help says more");
  }
  return options;
}

}  // namespace course::bench
