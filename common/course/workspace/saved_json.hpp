#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "course/build/file_lock.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/checkout.hpp"
#include "text/text_file.hpp"

namespace course::program {

inline constexpr int saved_version = 1;

/// What a JSON file of .course holds beside its version; nothing where there is none. A file that is corrupt
/// or of another version is put aside under another name, with a word on stderr: `what` is unreadable.
template <class Saved>
Saved read_saved(const Checkout& checkout, const std::string& name, const std::string& what) {
  const std::filesystem::path file = checkout.state() / name;
  if (!std::filesystem::exists(file)) return {};
  try {
    const nlohmann::json value = nlohmann::json::parse(read_text(file));
    if (const nlohmann::json& version = value.at("version"); version != saved_version)
      throw std::invalid_argument("version " + version.dump() + " instead of " +
                                  std::to_string(saved_version));
    return value.get<Saved>();
  } catch (const std::exception& error) {
    const std::filesystem::path aside = unused_path(file.string() + ".unreadable-" + timestamp());
    std::filesystem::rename(file, aside);
    complain(what + " is unreadable (" + error.what() + "); it is kept as " +
             std::filesystem::relative(aside, checkout.root).string() + ", and a new one is begun");
    return {};
  }
}

/// Reads, changes and writes such a file; simultaneous calls take turns.
template <class Saved>
void update_saved(const Checkout& checkout, const std::string& name, const std::string& what,
                  const std::function<void(Saved&)>& change) {
  const FileLock lock(checkout.state() / ".lock", "another ./course to write down its results");
  Saved saved = read_saved<Saved>(checkout, name, what);
  change(saved);
  nlohmann::json value = saved;
  value["version"] = saved_version;
  // A diagnosis may quote bytes that a submission printed: they need not be UTF-8.
  write_text(checkout.state() / name,
             value.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace course::program
