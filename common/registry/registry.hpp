#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace course {

/// A known mistake of a lesson, as tests/NN_name/mistakes.md describes it.
struct MistakeInfo {
  std::string id;                  ///< also the name of its mutant
  std::vector<std::string> tasks;  ///< whose tests fail
  std::string
      by;  ///< "answer": told by what it computes; "instrument": told by how it communicates or by its memory
  std::string what;        ///< one sentence for the student
  std::string exposed_by;  ///< the input that tells it from the right answer and from other mistakes
};

/// "looks like: WHAT": what every text says of an answer that a known mistake explains.
std::string looks_like(const std::string& what);

struct TaskInfo {
  std::string id;
  std::string name;
  int points = 0;
  std::vector<int> ranks;  ///< world sizes to test at; empty for a task on one rank
  /// Where it stands among the routines that interviews ask for, from 1, the easiest; 0 where they do not.
  int rehearsal = 0;
  /// One for each test: the world sizes, or 0 for a task on one rank.
  std::vector<int> test_ranks() const { return ranks.empty() ? std::vector{0} : ranks; }
};

/// What the name of a hidden test ends in, after the name of the public one beside it.
inline constexpr const char* hidden_suffix = ".hidden";

/// The name of a graded test: "1" (with 0 ranks, on one rank), "2.ranks3", "2.ranks3.hidden".
std::string test_name(const std::string& task, int ranks, bool hidden = false);

/// The names of a task's public tests: {"1"}, or {"2.ranks1", "2.ranks3"}.
std::vector<std::string> test_names(const TaskInfo& task);

/// What a lesson is to the programs that run lessons together: they ask for a role, never for a number.
enum class Role {
  Softmax,
  Block,
  RingForward,
  BlockBackward,
  RingBackward,
  RingOverlapped,
  RingLayout,
  BlockCuda,
  RingCuda,
  RingGrouped,
  RingPacked,
  HeadExchange,
  Grids,
  BlockRegisters,
  Layer,
  Training
};

/// The forward block computation that a ring is given, with the option --block or, where that is empty,
/// without.
inline Role block_role(const std::string& block_option) {
  return block_option.empty() ? Role::Block : Role::BlockRegisters;
}

/// As the registry writes it. Throws std::invalid_argument naming the roles there are.
Role role_named(const std::string& name);

/// What a message calls it: "the block computation".
std::string in_words(Role role);

/// What a ring is for: queries that see every key, or those up to themselves on any layout; query heads that
/// share heads of keys; one latent in place of all of them; and heads that share keys in rows of documents,
/// with windows, biases and sinks. Exchange: it is none, but what ranks do in place of a ring, with a causal
/// mask or none and with any number of key heads.
enum class RingFor { Everything, Causal, SharedHeads, Latent, PackedRows, Exchange };

/// A ring that commands show, or an exchange, by the name that they take, and the lessons of its passes.
struct RingKind {
  const char* name;
  Role forward, backward;
  RingFor what;
  bool on_gpu;  ///< each rank's shard is on a GPU, simulated or not
  /// Functions of those lessons' adapters; empty: what the registry calls their ring.
  std::string_view function = {};
  std::string_view function_backward = {};
  bool forward_only = false;

  bool is_exchange() const { return what == RingFor::Exchange; }
  /// Whether it is shown for this. Of several an option may name one, or "both"; empty: none is named.
  bool is_asked_for(RingFor asked, bool gpu, const std::string& named) const {
    return what == asked && on_gpu == gpu && (named.empty() || named == "both" || named == name);
  }
  /// The lessons without which there is nothing to show: a ring on GPUs has a block computation of its own.
  std::vector<Role> needed(Role block = Role::Block) const {
    return on_gpu ? std::vector{forward} : std::vector{block, forward};
  }
};
inline constexpr RingKind ring_kinds[] = {
    {"blocking", Role::RingForward, Role::RingBackward, RingFor::Everything, false},
    {"overlapped", Role::RingOverlapped, Role::RingOverlapped, RingFor::Everything, false},
    {"causal", Role::RingLayout, Role::RingLayout, RingFor::Causal, false},
    {"cuda", Role::RingCuda, Role::RingCuda, RingFor::Everything, true},
    {"causal_cuda", Role::RingCuda, Role::RingCuda, RingFor::Causal, true},
    {"grouped", Role::RingGrouped, Role::RingGrouped, RingFor::SharedHeads, false},
    {"latent", Role::RingGrouped, Role::RingGrouped, RingFor::Latent, false, "latent_ring_attention"},
    {"packed", Role::RingPacked, Role::RingPacked, RingFor::PackedRows, false},
    {"ulysses", Role::HeadExchange, Role::HeadExchange, RingFor::Exchange, false},
    {"gather", Role::Grids, Role::Grids, RingFor::Exchange, false, "gather_attention", "gather_backward"},
    {"grid", Role::Grids, Role::Grids, RingFor::Exchange, false, "usp_attention", "usp_backward"},
    {"double-ring", Role::Grids, Role::Grids, RingFor::Exchange, false, "double_ring_attention", "", true}};

/// The lessons that a model is trained with.
inline std::vector<Role> roles_of_training(bool blocks_in_registers) {
  const std::vector<Role> blocks =
      blocks_in_registers ? std::vector{Role::BlockRegisters} : std::vector{Role::Block, Role::BlockBackward};
  std::vector<Role> roles{Role::Training, Role::Layer, Role::RingLayout};
  roles.insert(roles.end(), blocks.begin(), blocks.end());
  return roles;
}

/// Throws std::invalid_argument for another name.
const RingKind& ring_kind(const std::string& name);

/// What the demo is asked for: "both", or one of those that it compares.
std::vector<std::string> compared_rings();

/// What takes keys and values to the queries, or heads to ranks: "ring", and the exchanges by name.
inline constexpr const char* ring_exchange = "ring";
std::vector<std::string> exchanges();

/// What plays a lesson that needs a GPU.
enum class Backend { Simulator, Cuda };

/// "sim" or "cuda". Throws std::invalid_argument for another name.
Backend backend_named(const std::string& name);

struct LessonInfo {
  std::string id;    ///< "05"
  std::string name;  ///< "ring_attention"
  std::string title;
  std::string part;
  std::string teaches;
  std::vector<std::string> needs;  ///< "mpi", "gpu"
  std::vector<std::string> files;  ///< what the student edits, in folder()
  std::string ring;  ///< its forward ring, a function of its adapter, which ./course trace runs; empty: none
  std::string ring_backward;  ///< its backward ring, another one; empty: none
  std::optional<Role> role;
  std::vector<TaskInfo> tasks;
  std::vector<MistakeInfo> mistakes;

  std::string folder() const { return id + "_" + name; }
  /// "lesson05", with which the names of its targets and tests begin.
  std::string tag() const { return "lesson" + id; }
  bool needs_mpi() const;
  bool needs_gpu() const;
  /// The program that plays it. The simulated GPU comes with the player, and CUDA's runtime with the
  /// submission.
  std::string player(Backend backend = Backend::Simulator) const;
  int max_points() const;
  /// The largest world size that a task is tested at; 0 where all run on one rank.
  int most_ranks() const;
  /// Throws std::invalid_argument naming what is not there.
  const TaskInfo& task(const std::string& id) const;
  const MistakeInfo& mistake(const std::string& id) const;
};

/// The mistakes of the lesson in tests/NN_name/mistakes.md. A field that is not there is what
/// tests/mistakes.md has for a mistake of this name, which several lessons share, or else empty. Throws
/// std::runtime_error.
std::vector<MistakeInfo> read_mistakes(const std::filesystem::path& tests, const std::string& lesson_folder);

/// Reads lessons/registry.json, and beside lessons/ the mistakes in tests/. Throws std::runtime_error with
/// the path and what is wrong, as when two lessons have one role.
std::vector<LessonInfo> read_registry(const std::filesystem::path& path);

/// The lesson with this id. Throws std::invalid_argument naming the ids there are.
const LessonInfo& find_lesson(const std::vector<LessonInfo>& lessons, const std::string& id);

/// The lesson that has this role; null where there is none, as in a handout that does not hold it.
const LessonInfo* lesson_with(const std::vector<LessonInfo>& lessons, Role role);

}  // namespace course
