#pragma once

#include <set>
#include <string>

#include "course/workspace/checkout.hpp"
#include "train/channel.hpp"
#include "train/checkpoints.hpp"

namespace course::train {

/// What the options say.
struct Asked {
  Settings settings = {};           ///< defaults where no option says otherwise
  std::set<std::string> said = {};  ///< "--hidden": the options that were given
  std::filesystem::path out = {}, resume = {};
  bool quick = false;

  bool has(const std::string& option) const { return said.contains(option); }
};

/// All that is known before ranks run.
struct Start {
  Settings settings = {};
  std::string text = {};       ///< its bytes
  std::string text_name = {};  ///< "my.txt", "the course's own pages"
  Checkpoint from = {};        ///< no path: from the first step on
  std::filesystem::path out = {};
};

/// Looks at the text, at the checkpoint and at the folder to write to. Throws UsageError for whatever would
/// fail later, in one line that names the value and what was expected.
Start start_of(const program::Checkout& checkout, const Asked& asked, int cores);

/// The command that goes on from what is in `out`, up to `steps`.
std::string command_to_go_on(const Asked& asked, const Start& start, Index steps);

}  // namespace course::train
