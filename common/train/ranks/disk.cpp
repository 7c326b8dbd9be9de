#include "train/ranks/disk.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "runner/descriptor.hpp"
#include "tensor/npy.hpp"
#include "text/text_file.hpp"

namespace course::train {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw std::runtime_error(path + ": " + what + ": " + std::generic_category().message(error));
}

/// Returns when a file, or the names in a folder, are on the disk.
void flush(const std::string& path) {
  const Descriptor open_file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (open_file.get() < 0 || fsync(open_file.get()) != 0) fail(path, "cannot be flushed", errno);
}

std::string folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(folder, "cannot be made", error.value());
}

void write_numbers(const std::string& path, std::span<const float> numbers) {
  write_npy(path, Tensor({std::ssize(numbers)}, {numbers.begin(), numbers.end()}));
  flush(path);
}

void write_facts(const std::string& path, const training::Facts& facts) {
  write_text(path, nlohmann::json(facts).dump(1) + "\n");
  flush(path);
}

void rename_at_once(const std::string& from, const std::string& to) {
  if (fs::is_directory(from)) flush(from);
  if (::rename(from.c_str(), to.c_str()) != 0) fail(from, ("cannot be renamed to " + to).c_str(), errno);
  flush(folder_of(to));
}

void remove_whole(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) fail(path, "cannot be removed", error.value());
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  if (!fs::is_directory(folder)) return names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

std::vector<float> read_numbers(const std::string& path) {
  return read_npy<float>(path).values();
}

training::Facts read_facts(const std::string& path) {
  try {
    return nlohmann::json::parse(read_text(path)).get<training::Facts>();
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(path + ": is not what was written: " + error.what());
  }
}

}  // namespace

training::Files real_disk() {
  return {.make_folder = make_folder,
          .write_numbers = write_numbers,
          .write_facts = write_facts,
          .rename = rename_at_once,
          .remove = remove_whole,
          .names_in = names_in,
          .read_numbers = read_numbers,
          .read_facts = read_facts};
}

}  // namespace course::train
