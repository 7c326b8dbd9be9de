#include "train/start.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "course/terminal/terminal.hpp"
#include "protocol/errors.hpp"
#include "text/text_file.hpp"
#include "text/utf8.hpp"
#include "timed/output_folder.hpp"
#include "train/own_pages.hpp"
#include "train/sizes.hpp"

namespace course::train {

namespace fs = std::filesystem;

namespace {

using training::Facts;

std::string read_user_text(const fs::path& path) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError("--text " + path.string() + ": " + why + ", expected a file of text");
  };
  if (!fs::exists(path)) refuse("is not there");
  if (fs::is_directory(path)) refuse("is a folder");
  if (!fs::is_regular_file(path)) refuse("is a device or a pipe");
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse("cannot be opened");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What the lesson has written into the checkpoint: names and whole numbers.
Facts facts_in(const Checkpoint& checkpoint) {
  const fs::path path = checkpoint.path / "state.json";
  try {
    return nlohmann::json::parse(read_text(path)).get<Facts>();
  } catch (const nlohmann::json::exception& error) {
    throw UsageError("--resume: " + path.string() + ": is not a checkpoint's: " + error.what());
  }
}

/// A number of the checkpoint, in place of a setting that no option gives. Throws UsageError where one gives
/// another.
template <class Number>
void take(const Facts& facts, const std::string& name, const Asked& asked, Number& setting) {
  const auto fact = facts.find(name);
  if (fact == facts.end()) return;
  const auto kept = static_cast<Number>(fact->second);
  if (asked.has("--" + name) && kept != setting)
    throw UsageError(
        fmt::format("--{0} {1}: {0} is {2} in the checkpoint, {1} asked; expected {2}, or no --{0}", name,
                    setting, kept));
  setting = kept;
}

/// Throws UsageError unless the checkpoint was trained on this text.
void require_same_text(const Facts& facts, const Start& start) {
  const auto value = [&](const char* name) {
    const auto fact = facts.find(name);
    return fact == facts.end() ? std::uint64_t{0} : fact->second;
  };
  const std::span<const std::uint8_t> bytes{reinterpret_cast<const std::uint8_t*>(start.text.data()),
                                            start.text.size()};
  if (value("text_bytes") != bytes.size())
    throw UsageError(
        fmt::format("{}: has {} bytes, and the checkpoint was trained on a text of {}; expected that text",
                    start.text_name, bytes.size(), value("text_bytes")));
  if (value("text_hash") != training::hash_of(bytes))
    throw UsageError(fmt::format(
        "{}: has other bytes than the text that the checkpoint was trained on; expected that text",
        start.text_name));
}

/// Throws UsageError where nothing could be written there in the end, or an earlier run would be lost.
void require_writable(const Asked& asked, const Start& start) {
  const fs::path out = start.out;
  if (!is_utf8(fs::absolute(out)))
    throw UsageError("--out " + escaped_utf8(out) + ": expected a name in UTF-8");
  const std::vector<Checkpoint> there = checkpoints_in(out);
  std::error_code none;
  const bool is_gone_on_from = !asked.resume.empty() && fs::equivalent(out, asked.resume, none);
  if (!there.empty() && !is_gone_on_from)
    throw UsageError(
        fmt::format("--out {0}: has {1} of an earlier run; expected --resume {0}, or another folder",
                    out.string(), there.front().path.filename().string()));
  timed::OutputFolder{out};
  const double bytes =
      2 * 3 * sizeof(float) * static_cast<double>(training::weight_count(shape_of(start.settings)));
  fs::path up = fs::absolute(out);
  while (!fs::exists(up)) up = up.parent_path();
  const double room = static_cast<double>(fs::space(up).available);
  if (room < bytes)
    throw UsageError(
        fmt::format("--out {}: has room for {:.1f} MB, expected room for two checkpoints, {:.1f} MB",
                    out.string(), room / 1e6, bytes / 1e6));
}

/// As a shell takes it, without quotes where it needs none.
std::string as_word(const std::string& text) {
  constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,=:@";
  return !text.empty() && text.find_first_not_of(plain) == std::string::npos ? text
                                                                             : program::shell_word(text);
}

}  // namespace

Start start_of(const program::Checkout& checkout, const Asked& asked, int cores) {
  Start start{.settings = asked.settings};
  Facts facts;
  if (!asked.resume.empty()) {
    start.from = newest_whole(asked.resume);
    facts = facts_in(start.from);
    take(facts, "hidden", asked, start.settings.hidden);
    take(facts, "heads", asked, start.settings.heads);
    take(facts, "layers", asked, start.settings.layers);
    take(facts, "context", asked, start.settings.context);
    take(facts, "seed", asked, start.settings.seed);
    if (start.settings.steps <= start.from.step)
      throw UsageError(fmt::format("--steps {}: {} has made {} already, expected more", start.settings.steps,
                                   start.from.path.string(), start.from.step));
  }
  require_shape(start.settings);
  const fs::path& path = asked.settings.text;
  start.text_name = path.empty() ? "the course's own pages" : path.string();
  start.text = path.empty() ? own_pages(checkout) : read_user_text(path);
  require_long_enough(start.text.size(), path.empty() ? start.text_name : "--text " + path.string(),
                      start.settings.context);
  if (!asked.resume.empty()) require_same_text(facts, start);
  require_within_an_hour(start.settings, start.from.step, cores);
  start.out = !asked.out.empty()      ? asked.out
              : !asked.resume.empty() ? asked.resume
                                      : unused_path(checkout.state() / "train" / timestamp());
  require_writable(asked, start);
  return start;
}

std::string command_to_go_on(const Asked& asked, const Start& start, Index steps) {
  const Settings& settings = start.settings;
  std::string command = "./course train --resume " + as_word(start.out.string());
  if (!settings.text.empty()) command += " --text " + as_word(settings.text.string());
  command += fmt::format(" --steps {}", steps);
  if (asked.has("--ranks")) command += fmt::format(" --ranks {}", settings.ranks);
  if (asked.has("--layout")) command += " --layout " + settings.layout;
  if (settings.in_registers) command += " --block 20";
  return command + (settings.mine ? " --mine" : "");
}

}  // namespace course::train
