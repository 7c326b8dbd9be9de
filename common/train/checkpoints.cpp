#include "train/checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "protocol/errors.hpp"
#include "tensor/npy.hpp"
#include "text/text_file.hpp"

namespace course::train {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "step-";

/// The step of a checkpoint's name; nothing where it is none.
std::optional<Index> step_of(std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  Index step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size() || name.size() < 6) return std::nullopt;
  return step;
}

}  // namespace

std::string checkpoint_name(Index step) {
  return fmt::format("{}{:06}", prefix, step);
}

std::vector<Checkpoint> checkpoints_in(const fs::path& folder) {
  std::vector<Checkpoint> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::optional<Index> step = step_of(entry.path().filename().string());
    if (step && entry.is_directory()) found.push_back({*step, entry.path()});
  }
  std::ranges::sort(found, std::greater(), &Checkpoint::step);
  return found;
}

std::string damage_of(const Checkpoint& checkpoint) {
  for (const char* name : {"weights.npy", "m.npy", "v.npy"}) {
    try {
      read_npy<float>(checkpoint.path / name);
    } catch (const std::exception& error) {
      return error.what();
    }
  }
  const fs::path state = checkpoint.path / "state.json";
  try {
    if (nlohmann::json::parse(read_text(state)).is_object()) return "";
    return state.string() + ": is no JSON object";
  } catch (const nlohmann::json::exception&) {
    return state.string() + ": is no JSON, or ends too soon";
  } catch (const std::exception& error) {
    return error.what();
  }
}

Checkpoint newest_whole(const fs::path& folder) {
  const std::vector<Checkpoint> all = checkpoints_in(folder);
  std::string wrong;
  for (const Checkpoint& one : all) {
    const std::string damage = damage_of(one);
    if (damage.empty()) return one;
    if (wrong.empty()) wrong = damage;
  }
  if (!wrong.empty())
    throw UsageError("--resume " + folder.string() + ": no checkpoint in it is whole: " + wrong);
  throw UsageError("--resume " + folder.string() +
                   (fs::is_directory(folder) ? ": has no checkpoint" : ": is no folder") +
                   ", expected the --out of an earlier run, with a folder such as step-000100");
}

void remove_newer_than(const Checkpoint& one) {
  for (const Checkpoint& other : checkpoints_in(one.path.parent_path()))
    if (other.step > one.step) fs::remove_all(other.path);
}

}  // namespace course::train
