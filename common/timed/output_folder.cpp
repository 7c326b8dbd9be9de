#include "timed/output_folder.hpp"

#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <system_error>

#include "protocol/errors.hpp"
#include "tensor/npy.hpp"

namespace course::timed {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const fs::path& folder, const std::string& why) {
  throw UsageError(folder.string() + ": " + why + ", expected a folder to write to or a free name");
}

/// The outermost folder on the way to `folder` that does not exist yet; empty if all do.
fs::path first_missing(const fs::path& folder) {
  fs::path missing;
  // A link that leads nowhere is there, and not ours to remove.
  for (fs::path up = fs::absolute(folder).lexically_normal(); !fs::exists(fs::symlink_status(up));
       up = up.parent_path()) {
    if (!up.filename().empty()) missing = up;
    if (up == up.parent_path()) break;
  }
  return missing;
}

}  // namespace

OutputFolder::OutputFolder(fs::path folder) : folder_(std::move(folder)) {
  try {
    if (fs::exists(folder_) && !fs::is_directory(folder_)) refuse(folder_, "is not a folder");
    first_new_ = first_missing(folder_);
    stage_ = folder_ / (".new-" + std::to_string(::getpid()));
    fs::create_directories(stage_);
  } catch (const fs::filesystem_error& error) {
    const std::string why = error.code().message();
    std::error_code ignored;
    if (!first_new_.empty()) fs::remove_all(first_new_, ignored);
    refuse(folder_, "cannot be written: " + why);
  }
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  fs::remove_all(first_new_.empty() ? stage_ : first_new_, ignored);
}

void OutputFolder::require_replaceable(const std::string& name) const {
  const fs::path place = folder_ / name;
  if (fs::exists(place) && !fs::is_regular_file(place)) {
    throw UsageError(place.string() + ": is not a file, expected a file or a free name");
  }
}

fs::path OutputFolder::stage(const std::string& name) {
  require_replaceable(name);
  added_.push_back(name);
  return stage_ / name;
}

void OutputFolder::add(const std::string& name, const Tensor& tensor) {
  write_npy(stage(name), tensor);
}

void OutputFolder::add(const std::string& name, const std::string& text) {
  std::ofstream file(stage(name), std::ios::binary);
  file << text;
  file.close();
  if (!file) throw std::runtime_error((folder_ / name).string() + ": cannot be written");
}

void OutputFolder::drop(const std::string& name) {
  require_replaceable(name);
  dropped_.push_back(name);
}

std::vector<fs::path> OutputFolder::commit() {
  for (const std::string& name : dropped_) fs::remove(folder_ / name);
  std::vector<fs::path> paths;
  for (const std::string& name : added_) {
    paths.push_back(folder_ / name);
    fs::rename(stage_ / name, paths.back());
  }
  first_new_.clear();
  return paths;
}

}  // namespace course::timed
