#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string_view>
#include <thread>

#include "course/terminal/terminal.hpp"
#include "demo/output_folder.hpp"
#include "demo/playing.hpp"
#include "demo/prepared.hpp"
#include "demo/report.hpp"
#include "demo/save.hpp"
#include "protocol/errors.hpp"
#include "ring/shards.hpp"
#include "runner/interruption.hpp"

namespace course::demo {

namespace {

namespace fs = std::filesystem;

/// Memory of an Open MPI rank before it does anything.
constexpr double rank_bytes = 16e6;
/// Times the size of q that is held on this machine: q, k and v whole in this process, as shards in files,
/// which may lie in memory, and in the ranks; there two blocks of keys and values and the state; the output
/// in the ranks, in files and whole; its reference in float64.
constexpr double tensors_held = 20;
/// And backward: d_o and the three gradients in these three places, two blocks of gradients in the ranks, and
/// the reference in float64.
constexpr double tensors_held_backward = 25;
/// And for each ring beyond the first its output twice, backward three gradients more.
constexpr double tensors_held_ring = 2, tensors_held_ring_backward = 8;
/// Where the ranks run elsewhere: q, k, v and d_o whole and as shards.
constexpr double tensors_prepared = 8;

struct Extents {
  Index heads, seq, head_dim;
  double count() const {
    return static_cast<double>(heads) * static_cast<double>(seq) * static_cast<double>(head_dim);
  }
};

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

/// Times the size of q.
double tensors_needed(const Options& options) {
  if (options.prepare) return tensors_prepared;
  const double further_rings = static_cast<double>(options.rings.size() - 1);
  return tensors_held + (options.backward ? tensors_held_backward : 0) +
         further_rings * (options.backward ? tensors_held_ring_backward : tensors_held_ring);
}

void require_memory(const Extents& extents, int ranks, const Options& options) {
  const double needed =
      (options.prepare ? 0 : rank_bytes * ranks) + tensors_needed(options) * sizeof(float) * extents.count();
  const double available = available_bytes();
  if (available > 0 && needed > available) {
    throw Unavailable(
        fmt::format("{} ranks and [{}, {}, {}] take about {:.1f} GB of memory, of which {:.1f} are free",
                    ranks, extents.heads, extents.seq, extents.head_dim, needed / 1e9, available / 1e9));
  }
}

void require_library(const fs::path& path, std::string_view lesson) {
  if (!fs::is_regular_file(path)) {
    throw Unavailable(fmt::format("{}: there is no such file, expected the shared object of lesson {}",
                                  path.string(), lesson));
  }
}

void require_libraries(const Options& options) {
  for (const RingKind& ring : options.rings) require_library(options.libraries.*ring.library, ring.lesson);
  require_library(options.libraries.block, "04");
  if (!options.backward) return;
  for (const RingKind& ring : options.rings)
    require_library(options.libraries.*ring.backward_library, ring.backward_lesson);
  require_library(options.libraries.block_backward, "06");
}

/// A minute, and what reading the input and the longest block take on a slow machine with as many ranks a
/// core as here.
double quiet_limit_s(const Demonstration& shown) {
  constexpr double slow_flops = 1e8, slow_bytes = 2e7, quiet_s = 60, start_s = 1;
  const double shard = largest_shard(shown.shard_tokens());
  const double products = shown.backward() ? 5 : 2;
  const double block_flops =
      2 * products * static_cast<double>(shown.input.heads() * shown.input.head_dim()) * shard * shard;
  const double ranks_a_core =
      std::max(1.0, shown.ranks / static_cast<double>(std::thread::hardware_concurrency()));
  return quiet_s + start_s * shown.ranks +
         3 * sizeof(float) * static_cast<double>(shown.input.q.size()) / slow_bytes +
         block_flops * ranks_a_core / slow_flops;
}

/// Reads or draws the input, once it is known that it can be held.
Input checked_input(const Options& options, int ranks) {
  if (options.sizes)
    require_memory({options.sizes->heads, options.sizes->seq, options.sizes->head_dim}, ranks, options);
  Input input = load_input(options);
  require_memory({input.heads(), input.seq(), input.head_dim()}, ranks, options);
  return input;
}

/// Compares, writes and prints; returns the exit code.
int conclude(const Demonstration& shown, const Options& options, std::vector<Outcome> outcomes,
             program::ProgressLine& progress) {
  const std::vector<RingAnswer> answers = answers_of(shown, std::move(outcomes));
  const RunSummary run = summarise(shown, answers, [&](const std::string& text) { progress.show(text); });
  const SavedFiles saved = save(options.out, run, answers.front());
  progress.clear();
  const Page page{program::columns(stdout, 100), program::colour_on(stdout), options.verbose};
  std::cout << (options.json ? report_json(run) : report_text(run, saved, page)) << std::flush;
  return run.passed() ? succeeded : failed;
}

void tell_how_to_play(const Options& options, const Demonstration& shown,
                      const std::vector<std::string>& arguments) {
  std::string words;
  for (const std::string& argument : arguments) words += " " + argument;
  fmt::print(
      "Prepared in {} for {}; on a cluster every node has to see that folder and this build. Play it with\n\n"
      "mpirun -n {} {}{}\n\nor another launcher, then ./course demo --report {}\n",
      options.prepare->string(), plural(shown.ranks, "rank"), shown.ranks, player_program(true).string(),
      words, options.prepare->string());
}

int report(const Options& options) {
  program::ProgressLine progress(std::chrono::seconds(5), "demo");
  if (options.out) OutputFolder{*options.out};
  const Demonstration shown = read_prepared(*options.report);
  return conclude(shown, options, read_played(*options.report, shown), progress);
}

int demonstrate(const std::vector<std::string>& arguments) {
  const Options options = parse_options(arguments);
  if (!options.help.empty()) {
    std::cout << options.help;
    return succeeded;
  }
  if (options.report) return report(options);
  const int ranks = options.ranks.value_or(default_ranks);
  Demonstration shown{checked_input(options, ranks), options.rings, ranks, options.mine};
  shown.runs = worthwhile_runs(shown.input);
  if (options.out) OutputFolder{*options.out};
  require_libraries(options);
  if (options.prepare) {
    tell_how_to_play(options, shown, prepare(*options.prepare, shown, options.libraries));
    return succeeded;
  }
  if (ranks > most_ranks) {
    std::fprintf(stderr, "demo: %d ranks are more than the %d that the course is tested with; trying\n",
                 ranks, most_ranks);
  }
  program::ProgressLine progress(std::chrono::seconds(5), "demo");
  std::vector<Outcome> outcomes = play(shown, options.libraries, quiet_limit_s(shown), progress);
  return conclude(shown, options, std::move(outcomes), progress);
}

}  // namespace

}  // namespace course::demo

int main(int argc, char** argv) {
  const course::Interruptible interruptible;
  try {
    return course::demo::demonstrate({argv + 1, argv + argc});
  } catch (const course::Interrupted& interrupted) {
    return interrupted.exit_code;
  } catch (...) {
    return course::program::report_exception("demo");
  }
}
