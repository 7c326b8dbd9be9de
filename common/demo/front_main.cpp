#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string_view>
#include <thread>

#include "course/terminal/terminal.hpp"
#include "demo/input.hpp"
#include "demo/launch.hpp"
#include "demo/output_folder.hpp"
#include "protocol/errors.hpp"
#include "ring/shards.hpp"

namespace course::demo {

namespace {

namespace fs = std::filesystem;

/// Memory of an Open MPI rank before it does anything.
constexpr double rank_bytes = 16e6;
/// Times the size of q that all ranks together hold: three tensors whole on rank 0 and three more in shards,
/// two blocks of keys and values beside them, the state, the output twice, and its float64 reference.
constexpr double tensors_held = 20;
/// And backward: d_o twice, two blocks of gradients, the three of them twice, and their float64 reference.
constexpr double tensors_held_backward = 25;
/// And for each ring beyond the first its output twice, backward three gradients more.
constexpr double tensors_held_ring = 2, tensors_held_ring_backward = 8;

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

void require_memory(const Extents& extents, int ranks, const Options& options) {
  const double further_rings = static_cast<double>(options.rings.size() - 1);
  const double tensors = tensors_held + (options.backward ? tensors_held_backward : 0) +
                         further_rings * (options.backward ? tensors_held_ring_backward : tensors_held_ring);
  const double needed = rank_bytes * ranks + tensors * sizeof(float) * extents.count();
  const double available = available_bytes();
  if (available > 0 && needed > available) {
    throw Unavailable(
        fmt::format("{} ranks and [{}, {}, {}] take about {:.1f} GB of memory, of which {:.1f} are free",
                    ranks, extents.heads, extents.seq, extents.head_dim, needed / 1e9, available / 1e9));
  }
}

/// Checks the input as rank 0 will; nothing is started for a file that cannot be used.
Extents check_input(const Options& options, int ranks) {
  if (options.sizes) {
    const Extents extents{options.sizes->heads, options.sizes->seq, options.sizes->head_dim};
    require_memory(extents, ranks, options);
    return extents;
  }
  const Input input = load_input(options);
  return {input.heads(), input.seq(), input.head_dim()};
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
double patience_s(const Extents& extents, int ranks, bool backward) {
  constexpr double slow_flops = 1e8, slow_bytes = 2e7, quiet_s = 60, start_s = 1;
  const double shard = even_shards(static_cast<int>(extents.seq), ranks)[0];
  const double products = backward ? 5 : 2;
  const double block_flops =
      2 * products * static_cast<double>(extents.heads * extents.head_dim) * shard * shard;
  const double ranks_a_core = std::max(1.0, ranks / static_cast<double>(std::thread::hardware_concurrency()));
  return quiet_s + start_s * ranks + 3 * sizeof(float) * extents.count() / slow_bytes +
         block_flops * ranks_a_core / slow_flops;
}

int terminal_columns(int otherwise) {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

bool wants_colour() {
  const char* term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr && term != nullptr &&
         std::string_view(term) != "dumb";
}

int demonstrate(const std::vector<std::string>& arguments) {
  const Options options = parse_options(arguments);
  if (!options.help.empty()) {
    std::cout << options.help;
    return succeeded;
  }
  const int ranks = options.ranks.value_or(default_ranks);
  const Extents extents = check_input(options, ranks);
  if (options.out) OutputFolder{*options.out};
  require_libraries(options);
  require_memory(extents, ranks, options);
  if (ranks > most_ranks) {
    std::fprintf(stderr, "demo: %d ranks are more than the %d that the course is tested with; trying\n",
                 ranks, most_ranks);
  }
  return launch({arguments, ranks, patience_s(extents, ranks, options.backward),
                 terminal_columns(options.front.columns), wants_colour()});
}

}  // namespace

}  // namespace course::demo

int main(int argc, char** argv) {
  try {
    return course::demo::demonstrate({argv + 1, argv + argc});
  } catch (...) {
    return course::program::report_exception("demo");
  }
}
