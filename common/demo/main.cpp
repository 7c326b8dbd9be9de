#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <limits>

#include "course/commands/command_line.hpp"
#include "demo/exchange.hpp"
#include "demo/report.hpp"
#include "protocol/errors.hpp"
#include "runner/subprocess.hpp"
#include "timed/output_folder.hpp"

namespace course::demo {

namespace {

namespace fs = std::filesystem;

constexpr int most_ranks = 64;  ///< beyond, the demo warns and tries
/// Bytes that Linux would hand out now; 0 where it does not say.
double available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name;) {
    double kib = 0;
    if (name == "MemAvailable:" && file >> kib) return kib * 1024;
    file.ignore(1000, '\n');
  }
  return 0;
}

/// Times the size of q that this machine has to hold. Where the ranks run elsewhere: q, k, v and d_o whole
/// and as shards. Here forward: q, k and v whole in this process, as shards in files, which may lie in
/// memory, and in the ranks; there two blocks of keys and values and the state; the output in the ranks, in
/// files and whole; its reference in float64; and for each ring beyond the first its output twice. Backward
/// d_o and the three gradients in these places, two blocks of gradients in the ranks, and the reference in
/// float64. An exchange has all of it once more by heads, in files what it keeps, and parts on their way; key
/// heads that several ranks have count as often. In a gather every rank has the keys and values that it takes
/// at once of all tokens, backward their gradients, each as they come and in order. Ranks with GPUs keep the
/// keys and values of twice as many blocks as there are, on both sides.
double tensors_held(const Demonstration& shown, bool prepared, double heads) {
  const double further_rings = static_cast<double>(shown.rings.size() - 1);
  if (prepared) return 8;
  const double log = shown.backend == "mpi" ? 0 : 8.0 * shown.ranks;
  const double by_heads = shown.is_exchange() ? 24 : 0;
  const auto at_once = shown.exchange_sizes.find("kv_heads_at_once");
  const double gathered = at_once == shown.exchange_sizes.end()
                              ? 0
                              : 8.0 * shown.ranks * static_cast<double>(at_once->second) / heads;
  return log + by_heads + gathered + (shown.backward ? 45 + 8 * further_rings : 20 + 2 * further_rings);
}

/// Throws Unavailable where this machine cannot hold what is shown, of an input of this shape.
void require_memory(const Demonstration& shown, bool prepared, const timed::Extents& extents) {
  constexpr double rank_bytes = 16e6;  // of an Open MPI rank before it does anything
  const auto& [heads, seq, head_dim] = extents;
  const double q_bytes =
      sizeof(float) * static_cast<double>(heads) * static_cast<double>(seq) * static_cast<double>(head_dim);
  const double needed = (prepared ? 0 : rank_bytes * shown.ranks) +
                        tensors_held(shown, prepared, static_cast<double>(heads)) * q_bytes;
  const double available = available_bytes();
  if (available == 0 || needed <= available) return;
  throw Unavailable(
      fmt::format("{} and [{}, {}, {}] take about {:.1f} GB of memory, of which {:.1f} are free",
                  timed::plural(shown.ranks, "rank"), heads, seq, head_dim, needed / 1e9, available / 1e9));
}

/// Of what is drawn at these sizes. A latent's queries and blocks are as wide as the latent and its rotary
/// part.
timed::Extents drawn_extents(const Options& options) {
  timed::Extents extents = options.sizes->extents;
  if (options.latent)
    extents.head_dim = std::max(extents.head_dim, options.latent->latent_dim) + options.latent->rope_dim;
  return extents;
}

/// Where the exchange says which ranks are meant to share a node: what mpirun and srun are told for that.
std::string mapping_by_node(const Demonstration& shown) {
  const Index node = ranks_of_node(shown);
  if (node == 0) return "";
  return fmt::format(
      "\nOn {0} of {1} it begins with\n\nmpirun -n {2} --map-by ppr:{3}:node\nor\n"
      "srun -N {4} -n {2} --ntasks-per-node={3} --distribution=block --mpi=pmix\n",
      timed::plural(shown.ranks / node, "node"), timed::plural(node, "rank"), shown.ranks, node,
      shown.ranks / node);
}

void tell_how_to_play(const fs::path& folder, const Demonstration& shown,
                      const std::vector<std::string>& arguments) {
  std::vector<std::string> player;
  for (const std::string& word : shown.player)
    player.push_back(shown.on_device() ? program::shell_word(word) : word);
  fmt::print(
      "Prepared in {0} for {1}; on a cluster every node has to see that folder and this build. Play it "
      "with\n\n"
      "mpirun -n {2} {3} {4}\n{5}\nor another launcher, then ./course demo --report {0}\n",
      folder.string(), timed::plural(shown.ranks, "rank"), shown.ranks, fmt::join(player, " "),
      fmt::join(arguments, " "), mapping_by_node(shown));
}

class DemoLine : public program::CommandLine {
 public:
  DemoLine() {
    CLI::App* command =
        add_command("demo", "Ring attention over MPI ranks, compared with float64 attention.",
                    [this](const program::Checkout& checkout) { return demonstrate(checkout); });
    command->footer(
        "Exit codes: 0 the answer is right, 1 something failed, 2 a wrong option or file, 3 something is not "
        "there.");
    add_input(*command);
    add_run(*command);
    add_row(*command);
    add_elsewhere(*command);
  }

 private:
  void add_input(CLI::App& command) {
    CLI::Option* q = command.add_option(
        "--q", files_.q,
        "your own queries: float16, 32 or 64; [seq, dim], [heads, seq, dim] or [batch, heads, seq, dim]");
    CLI::Option* k = command.add_option("--k", files_.k, "your own keys, of the same shape");
    CLI::Option* v = command.add_option("--v", files_.v, "your own values, of the same shape");
    for (CLI::Option* one : {q, k, v}) {
      for (CLI::Option* other : {q, k, v}) {
        if (other != one) one->needs(other);
      }
    }
    gradient_ = command
                    .add_option("--do", files_.d_o,
                                "the gradient that arrives at the output, of the same shape; without it own "
                                "tensors run forward only")
                    ->needs(q);
    const CLI::Validator size = program::between(1, std::numeric_limits<int>::max());
    sizes_given_ = {
        command.add_option("--seq", sizes_.extents.tokens, "generate input of so many tokens (512)")
            ->check(size),
        command.add_option("--heads", sizes_.extents.heads, "generate input of so many heads (12)")
            ->check(size),
        command.add_option("--dim", sizes_.extents.head_dim, "generate input of this head_dim (32)")
            ->check(size),
        command.add_option("--seed", sizes_.seed, "of the generated input (1)")
            ->check(program::whole_number_from_0)};
    CLI::Option* kv_heads = command
                                .add_option("--kv-heads", options_.kv_heads,
                                            "heads of keys and values, shared by those of queries")
                                ->excludes(q)
                                ->check(size);
    for (CLI::Option* one : sizes_given_) one->excludes(q);
    latent_ = command
                  .add_option("--latent", latent_sizes_,
                              "one latent of D numbers and a rotary key of R, in place of keys and values of "
                              "every head: D,R, such as 512,64; generated, forward only")
                  ->delimiter(',')
                  ->expected(2)
                  ->check(size)
                  ->excludes(q)
                  ->excludes(kv_heads);
    with_prepare_ = sizes_given_;
    with_prepare_.push_back(latent_);
    with_prepare_.push_back(q);
    with_prepare_.push_back(kv_heads);
  }

  void add_run(CLI::App& command) {
    with_prepare_.push_back(
        command.add_option("--ranks", options_.ranks, "MPI ranks (4); more than 64 are tried")
            ->check(program::between(1, std::numeric_limits<int>::max())));
    causal_ = command.add_flag("--causal,!--no-causal", is_causal_,
                               "a query sees its own token and those before it; this has a ring of its "
                               "own, which takes any layout. Rows of documents are, unless --no-causal");
    with_prepare_.push_back(causal_);
    std::vector<std::string> layouts(std::begin(layout_names), std::end(layout_names));
    layouts.emplace_back("documents");
    with_prepare_.push_back(
        command
            .add_option("--layout", options_.layout,
                        fmt::format("{} (each in zigzag): which rank has which tokens (contiguous)",
                                    fmt::join(layouts, ", ")))
            ->check(CLI::IsMember(layouts)));
    with_prepare_.push_back(command
                                .add_option("--backend", options_.backend,
                                            "what ranks compute on: mpi, their core; sim, a simulated GPU "
                                            "each, which is slow; cuda, this "
                                            "machine's devices (mpi)")
                                ->check(CLI::IsMember({"mpi", "sim", "cuda"})));
    const std::vector<std::string> between = exchanges();
    with_prepare_.push_back(
        command
            .add_option(
                "--exchange", options_.exchange,
                fmt::format("{}: how ranks share the work: ring, blocks travel; ulysses, tokens are "
                            "exchanged for heads; gather, keys and values come from everybody; grid, "
                            "ulysses inside groups and a ring between them; double-ring, a ring of rings, "
                            "forward only; all but the ring causal or not, of any number of key heads "
                            "(ring)",
                            fmt::join(between, ", ")))
            ->check(CLI::IsMember(between)));
    add_exchange_sizes(command);
    const std::vector<std::string> names = compared_rings();
    with_prepare_.push_back(
        command
            .add_option(
                "--ring", options_.ring,
                fmt::format("{}: one of them, or in turns, to compare them (both)", fmt::join(names, ", ")))
            ->check(CLI::IsMember(names)));
    with_prepare_.push_back(
        command.add_flag("--forward", options_.forward, "leave the backward pass out")->excludes(gradient_));
    block_ = program::add_block_option(command, block_lesson_);
    with_prepare_.push_back(block_);
    with_prepare_.push_back(command.add_flag("--mine", options_.mine, "your own lessons, not the solutions"));
    command.add_option(
        "--out", options_.out,
        "write o.npy, lse.npy, dq.npy, dk.npy, dv.npy, timeline.svg and trace.json there; of two "
        "rings the tensors are those of the blocking one");
    print_as_json(&command);
    command.add_flag("--json", json_, "print one JSON object and nothing else");
    command.add_flag("--verbose", options_.verbose, "print every rank's part and the verdicts, too");
  }

  void add_exchange_sizes(CLI::App& command) {
    const CLI::Validator size = program::between(1, std::numeric_limits<int>::max());
    for (CLI::Option* one :
         {command.add_option("--grid", options_.grid,
                             "with --exchange grid: UxR, R groups of U ranks (2 in a group, or the smallest "
                             "number that divides the ranks)"),
          command
              .add_option(
                  "--node", options_.node,
                  "with --exchange double-ring: so many ranks make an inner ring (as in a grid's group)")
              ->check(size),
          command
              .add_option("--kv-heads-at-once", options_.kv_heads_at_once,
                          "with --exchange gather: so many key heads are gathered at a time (1)")
              ->check(size)})
      with_prepare_.push_back(one);
  }

  void add_row(CLI::App& command) {
    const CLI::Validator size = program::between(1, std::numeric_limits<int>::max());
    for (CLI::Option* one :
         {command.add_option("--documents", options_.row.documents,
                             "the row's documents, blind to each other: their lengths, 300,12,200, or a .npy "
                             "of cu_seqlens"),
          command.add_option("--window", options_.row.window, "of its keys a query sees the last so many")
              ->check(size),
          command.add_flag("--alibi", options_.row.alibi, "scores fall with the distance, by ALiBi's slopes"),
          command.add_option("--sinks", options_.row.sink,
                             "in every head's softmax one key more, with this score and no value")})
      with_prepare_.push_back(one);
  }

  /// Throws UsageError where options contradict each other.
  void take_row() {
    if (causal_->count() > 0) options_.causal = is_causal_;
    if (options_.row.window > 0 && options_.causal == false)
      throw UsageError(
          fmt::format("--window {} --no-causal: a window ends at the query; expected one of the two",
                      options_.row.window));
    if (options_.row.sink && !std::isfinite(*options_.row.sink))
      throw UsageError(fmt::format("--sinks {}: expected a finite number", *options_.row.sink));
  }

  void add_elsewhere(CLI::App& command) {
    with_prepare_.push_back(command.add_option("--prepare", options_.prepare,
                                               "run nothing: write what the ranks are to play there, and "
                                               "print the line that plays it on any machine; --out goes with "
                                               "--report"));
    CLI::Option* report = command.add_option("--report", options_.report,
                                             "report on what was prepared there and has been played");
    // What was prepared says itself what is shown.
    for (CLI::Option* one : with_prepare_) one->excludes(report);
  }

  int demonstrate(const program::Checkout& checkout) {
    if (!options_.prepare.empty() && latent_->count() > 0)
      throw UsageError("--prepare --latent: what is prepared has keys and values; expected one of the two");
    if (latent_->count() > 0 &&
        (causal_->count() > 0 || options_.row.any() || options_.layout == "documents"))
      throw UsageError("--latent: its ring has no mask and no documents; expected --latent without these");
    if (!options_.prepare.empty() && (json_ || options_.verbose || !options_.out.empty()))
      throw UsageError("--prepare shows nothing yet: --out, --json and --verbose belong to --report");
    if (json_ && options_.verbose)
      throw UsageError("--json prints every rank's part as it is; it does not go with --verbose");
    if (!files_.q.empty()) options_.files = files_;
    if (latent_->count() > 0) options_.latent = LatentSizes{latent_sizes_.at(0), latent_sizes_.at(1)};
    if (options_.latent ||
        std::ranges::any_of(sizes_given_, [](const CLI::Option* size) { return size->count() > 0; }))
      options_.sizes = sizes_;
    take_row();
    options_.in_registers = block_->count() > 0;
    const Interruptible interruptible;
    if (!options_.out.empty()) timed::OutputFolder{options_.out};
    if (!options_.report.empty()) {
      const Demonstration shown = read_prepared(checkout, options_.report);
      program::ProgressLine progress;
      return conclude(checkout, shown, read_played(options_.report, shown), progress);
    }
    Demonstration shown = plan(checkout, options_);
    const bool prepared = !options_.prepare.empty();
    if (options_.sizes) require_memory(shown, prepared, drawn_extents(options_));
    shown.input = load_input(options_, shown.backward);
    if (!shown.input.doubt.empty()) program::complain(shown.input.doubt);
    require_sizes_fit(shown);
    require_memory(shown, prepared, shown.input.extents());
    if (shown.in_registers && (options_.latent || options_.row.alibi))
      throw UsageError(
          fmt::format("--block 20 {}: lesson 20's blocks have queries as wide as values and no "
                      "bias; expected one of the two",
                      options_.latent ? "--latent" : "--alibi"));
    if (const Index d = shown.input.head_dim(); shown.in_registers && (d % 4 != 0 || d > 256))
      throw UsageError(fmt::format("--block 20: head_dim is {}, expected a multiple of 4 up to 256", d));
    shown.row = shown.is_packed()
                    ? row_of(options_.row, options_.is_causal(), shown.input.seq(),
                             {shown.input.batches(), shown.input.heads() / shown.input.batches()})
                    : PackedRow{.causal = options_.is_causal()};
    shown.runs = shown.simulated() ? 1 : worthwhile_runs(shown.input);
    std::vector<timed::Code> codes;
    if (!options_.on_gpu()) codes.push_back(shown.block);
    if (!options_.on_gpu() && shown.backward) codes.push_back(shown.block_backward);
    for (const Ring& ring : shown.rings) {
      codes.push_back(ring.forward);
      if (shown.backward) codes.push_back(ring.backward);
    }
    timed::build(checkout, "the demo", codes, {fs::path(shown.player.back()).filename()});
    if (prepared) {
      tell_how_to_play(options_.prepare, shown, prepare(options_.prepare, shown));
      return succeeded;
    }
    if (shown.ranks > most_ranks) {
      program::complain(fmt::format("{} ranks are more than the {} that the course is tested with; trying",
                                    shown.ranks, most_ranks));
    }
    program::ProgressLine progress;
    return conclude(checkout, shown, play(shown, progress), progress);
  }

  /// Compares, writes and prints; returns the exit code.
  int conclude(const program::Checkout& checkout, const Demonstration& shown, std::vector<RingResult> rings,
               program::ProgressLine& progress) {
    const RunResult run =
        compared(shown, std::move(rings), [&](const std::string& text) { progress.show(text); });
    const Saved saved = save(options_.out, checkout.state() / "demo", run);
    progress.clear();
    std::cout << (json_ ? report_json(run)
                        : report_text(run, timed::page_of_stdout(), options_.verbose) + saved.line)
              << std::flush;
    if (json_ && !options_.out.empty() && !saved.written) std::cerr << "course: " << saved.line;
    return run.wrong_rings().empty() ? succeeded : failed;
  }

  Options options_;
  OwnFiles files_;
  Sizes sizes_;
  bool is_causal_ = false;
  std::vector<Index> latent_sizes_;
  std::string block_lesson_;
  CLI::Option *gradient_ = nullptr, *causal_ = nullptr, *latent_ = nullptr, *block_ = nullptr;
  std::vector<CLI::Option*> sizes_given_, with_prepare_;
};

}  // namespace

}  // namespace course::demo

int main(int argc, char** argv) {
  return course::demo::DemoLine().run(argc, argv);
}
