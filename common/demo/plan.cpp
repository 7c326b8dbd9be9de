#include <fmt/format.h>

#include "course/workspace/cuda_device.hpp"
#include "course/workspace/judging.hpp"
#include "course/workspace/lesson_status.hpp"
#include "demo/exchange.hpp"
#include "protocol/errors.hpp"

namespace course::demo {

namespace {

using program::Status;

constexpr const char* demo_command = "./course demo";

/// Whose lessons can be played.
class Lessons {
 public:
  Lessons(const program::Checkout& checkout, bool asked_for_mine)
      : checkout_(checkout), progress_(program::read_progress(checkout)), asked_for_mine_(asked_for_mine) {}

  /// Decides whose lessons to take, and throws what runs_own_lessons throws.
  void require(const std::vector<Role>& needed) {
    mine = program::runs_own_lessons(checkout_, progress_, "demo", needed, asked_for_mine_);
  }

  /// Why one of these lessons cannot be run; empty when all can.
  std::string hindrance(const std::vector<Role>& roles) const {
    for (const Role role : roles) {
      const LessonInfo* lesson = lesson_with(checkout_.lessons, role);
      if (lesson == nullptr) return "the lesson of " + in_words(role) + " is not here";
      const std::string name = "lesson " + lesson->id + " (" + lesson->name + ")";
      if (!mine && !checkout_.has_solution(*lesson)) return "the solution of " + name + " is not here";
      if (!mine || status(*lesson) == Status::Passed) continue;
      return name + (status(*lesson) == Status::Todo ? " is not written yet" : " is not passed as it stands");
    }
    return "";
  }

  bool mine = false;

 private:
  Status status(const LessonInfo& lesson) const {
    return lesson_status_of(checkout_, lesson, progress_).status;
  }

  const program::Checkout& checkout_;
  const program::Progress progress_;
  bool asked_for_mine_;
};

/// The options that ask for such a ring.
const char* asked_for(RingFor what) {
  switch (what) {
    case RingFor::Causal:
      return "--causal";
    case RingFor::SharedHeads:
      return "fewer key heads";
    case RingFor::Latent:
      return "--latent";
    case RingFor::PackedRows:
      return "documents, windows, ALiBi or sinks";
    case RingFor::Everything:
    case RingFor::Exchange:
      break;
  }
  return "";
}

/// Throws UsageError or Unavailable where an exchange cannot show what the options ask for.
void require_exchange_fits(const Options& options) {
  const std::string exchange = "--exchange " + options.exchange;
  const auto refuse = [&](bool given, const std::string& option, const char* why) {
    if (given) throw UsageError(fmt::format("{} {}: {}; leave out one of the two", exchange, option, why));
  };
  constexpr const char* no_rows = "it knows of no documents, windows, ALiBi or sinks";
  refuse(!options.ring.empty(), "--ring " + options.ring, "an exchange is no ring");
  refuse(options.latent.has_value(), "--latent", "all heads have one latent, which cannot be dealt out");
  refuse(options.row.documents.has_value(), "--documents", no_rows);
  refuse(options.layout == "documents", "--layout documents", no_rows);
  refuse(options.row.window > 0, "--window", no_rows);
  refuse(options.row.alibi, "--alibi", no_rows);
  refuse(options.row.sink.has_value(), "--sinks", no_rows);
  refuse(options.files && options.backward() && ring_kind(options.exchange).forward_only, "--do",
         "it has no backward pass");
  if (options.on_gpu())
    throw Unavailable(fmt::format("{} --backend {}: no kernel lesson has it", exchange, options.backend));
}

/// The names of the rings that the options ask for, or of the exchange. Throws UsageError where there is
/// none.
std::vector<std::string> rings_of(const Options& options) {
  const std::string backend = "--backend " + options.backend;
  const RingFor what = options.what();
  if (what != RingFor::Everything && what != RingFor::Causal && options.on_gpu()) {
    throw UsageError(fmt::format("{} {}: the ring on GPUs {}; expected one of the two", asked_for(what),
                                 backend,
                                 what == RingFor::PackedRows ? "knows of no documents, windows or sinks"
                                                             : "has as many key heads as heads"));
  }
  std::vector<std::string> names;
  const std::string& named = options.by_exchange() ? options.exchange : options.ring;
  for (const RingKind& kind : ring_kinds) {
    if (kind.is_asked_for(what, options.on_gpu(), named)) names.push_back(kind.name);
  }
  if (!options.ring.empty() && (what != RingFor::Everything || options.on_gpu())) {
    const RingKind& only = *std::ranges::find_if(ring_kinds, [&](const RingKind& kind) {
      return kind.what == what && kind.on_gpu == options.on_gpu();
    });
    throw UsageError(fmt::format("--ring {}: with {} there is one ring, {}; expected no --ring", options.ring,
                                 what == RingFor::Everything ? backend : asked_for(what),
                                 in_words(only.forward)));
  }
  return names;
}

/// Throws Unavailable with what is missing.
void require_gpus(const program::Checkout& checkout, const LessonInfo& lesson, const Options& options) {
  const std::string obstacle =
      options.backend == "cuda" ? program::cuda_obstacle() : checkout.build_obstacle(lesson);
  if (!obstacle.empty()) throw Unavailable("--backend " + options.backend + ": " + obstacle);
}

/// The command that starts a rank which plays the lesson.
std::vector<std::string> player_of(const program::Checkout& checkout, const LessonInfo& lesson,
                                   const Demonstration& shown) {
  if (!shown.on_device()) return {program::built_in_player(checkout.build(), lesson)};
  return program::player_on_devices(checkout.build(), lesson, shown.ranks, program::Transport::Nccl);
}

}  // namespace

Demonstration with_rings(const program::Checkout& checkout, const std::vector<std::string>& rings,
                         Demonstration shown) {
  const std::string subject =
      std::string(shown.mine ? "student" : "solution") + (shown.on_device() ? "_cuda" : "");
  const auto code = [&](Role role) {
    return timed::code_of(checkout, held_lesson(checkout, role, demo_command), subject);
  };
  const auto named = [](std::string& function, std::string_view name) {
    if (!name.empty()) function = name;
  };
  for (const std::string& name : rings) {
    const RingKind& kind = ring_kind(name);
    shown.what = kind.what;
    Ring& ring = shown.rings.emplace_back(Ring{name, code(kind.forward)});
    named(ring.forward.ring, kind.function);
    if (shown.backward) ring.backward = code(kind.backward);
    named(ring.backward.ring_backward, kind.function_backward);
    shown.player = player_of(checkout, held_lesson(checkout, kind.forward, demo_command), shown);
    if (kind.on_gpu) continue;
    const bool registers = shown.in_registers;
    shown.block = code(registers ? Role::BlockRegisters : Role::Block);
    if (shown.backward) shown.block_backward = code(registers ? Role::BlockRegisters : Role::BlockBackward);
  }
  return shown;
}

Demonstration plan(const program::Checkout& checkout, const Options& options) {
  if (options.by_exchange()) require_exchange_fits(options);
  const std::map<std::string, Index> sizes = exchange_sizes(options);
  std::vector<std::string> rings = rings_of(options);
  Lessons lessons(checkout, options.mine);
  const RingKind& shown_ring = ring_kind(rings.front());
  const Role block = options.in_registers ? Role::BlockRegisters : Role::Block;
  if (options.in_registers && options.on_gpu())
    throw UsageError(fmt::format(
        "--block --backend {}: GPUs have blocks of their own; expected one of the two", options.backend));
  lessons.require(shown_ring.needed(block));
  if (options.on_gpu())
    require_gpus(checkout, held_lesson(checkout, shown_ring.forward, demo_command), options);
  if (const std::string why_not = lessons.hindrance({ring_kind(rings.back()).forward}); !why_not.empty()) {
    // The first ring is what the demo is for; another is shown beside it where it can be.
    if (!options.ring.empty())
      throw Unavailable(fmt::format("--ring asks for the {} ring, and {}", rings.back(), why_not));
    fmt::print(stderr, "The demo shows the {} ring alone: {}\n", rings.front(), why_not);
    rings.pop_back();
  }
  Demonstration shown{.mine = lessons.mine,
                      .in_registers = options.in_registers,
                      .backend = options.backend,
                      .ranks = options.ranks,
                      .layout_name = options.layout,
                      .exchange_sizes = sizes};
  if (!options.backward()) return with_rings(checkout, rings, shown);
  if (shown_ring.forward_only) {
    fmt::print(stderr, "The demo leaves the backward pass out: the {} has none\n", called(shown_ring.name));
    return with_rings(checkout, rings, shown);
  }
  std::vector<Role> roles;
  if (!options.on_gpu()) roles.push_back(options.in_registers ? block : Role::BlockBackward);
  for (const std::string& name : rings) roles.push_back(ring_kind(name).backward);
  const std::string why_not = lessons.hindrance(roles);
  if (!why_not.empty() && options.files) throw Unavailable("--do asks for the backward pass, and " + why_not);
  if (!why_not.empty()) fmt::print(stderr, "The demo leaves the backward pass out: {}\n", why_not);
  shown.backward = why_not.empty();
  return with_rings(checkout, rings, shown);
}

}  // namespace course::demo
