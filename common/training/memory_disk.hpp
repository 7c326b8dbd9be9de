#pragma once

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "training/files.hpp"

namespace course::training {

/// A disk that is not there: for tests of who writes what when, and of what is left when the writer dies.
class MemoryDisk {
 public:
  /// Its functions, which must not be called after the disk is gone.
  Files files() {
    Files files;
    files.make_folder = [this](const std::string& folder) { change([&] { folders_.insert(folder); }); };
    files.write_numbers = [this](const std::string& path, std::span<const float> numbers) {
      write(path, std::vector<float>(numbers.begin(), numbers.end()));
    };
    files.write_facts = [this](const std::string& path, const Facts& facts) { write(path, facts); };
    files.rename = [this](const std::string& from, const std::string& to) {
      change([&] { rename(from, to); });
    };
    files.remove = [this](const std::string& path) { remove(path); };
    files.names_in = [this](const std::string& folder) { return names_in(folder); };
    files.read_numbers = [this](const std::string& path) { return read<std::vector<float>>(path); };
    files.read_facts = [this](const std::string& path) { return read<Facts>(path); };
    return files;
  }

  /// The n-th change from now fails, and all after it. A file that is being written then is cut short.
  void die_after(int changes) { left_ = changes; }
  void repair() { left_ = -1; }
  bool is_dead() const { return left_ == 0; }
  /// How often anybody has used it.
  int uses() const { return uses_; }
  /// As a file is whose end was lost.
  void cut_short(const std::string& path) { torn_.insert(path); }

 private:
  using Content = std::variant<std::vector<float>, Facts>;

  [[noreturn]] static void fail(const std::string& path, const char* why) {
    throw std::runtime_error(path + ": " + why);
  }
  static bool lies_in(const std::string& path, const std::string& folder) {
    return path.starts_with(folder + "/");
  }

  /// Whether the next change is made.
  bool spend() {
    ++uses_;
    if (left_ > 0) --left_;
    return left_ != 0;
  }

  template <class Change>
  void change(Change make) {
    if (!spend()) throw std::runtime_error("no space left on device");
    make();
  }

  void write(const std::string& path, Content content) {
    const bool was_dead = is_dead(), holds = spend();
    if (was_dead) fail(path, "no space left on device");
    if (!folders_.contains(path.substr(0, path.rfind('/')))) fail(path, "there is no such folder");
    files_[path] = std::move(content);
    torn_.erase(path);
    if (holds) return;
    torn_.insert(path);
    fail(path, "no space left on device");
  }

  void rename(const std::string& from, const std::string& to) {
    for (const auto& [path, content] : files_)
      if (path == to || lies_in(path, to)) fail(to, "directory not empty");
    const auto moved = [&](const std::string& path) { return to + path.substr(from.size()); };
    const auto moves = [&](const std::string& path) { return path == from || lies_in(path, from); };
    bool found = false;
    const auto move_names = [&](std::set<std::string>& names) {
      std::set<std::string> others;
      for (const std::string& path : names) {
        found = found || moves(path);
        others.insert(moves(path) ? moved(path) : path);
      }
      names = others;
    };
    move_names(folders_);
    move_names(torn_);
    std::map<std::string, Content> others;
    for (auto& [path, content] : files_) {
      found = found || moves(path);
      others[moves(path) ? moved(path) : path] = std::move(content);
    }
    files_ = std::move(others);
    if (!found) fail(from, "no such file or directory");
  }

  /// File by file, each a change.
  void remove(const std::string& path) {
    std::vector<std::string> gone;
    for (const auto& [name, content] : files_)
      if (name == path || lies_in(name, path)) gone.push_back(name);
    for (const std::string& name : gone) {
      change([&] {
        files_.erase(name);
        torn_.erase(name);
      });
    }
    change([&] {
      std::erase_if(folders_, [&](const std::string& name) { return name == path || lies_in(name, path); });
    });
  }

  std::vector<std::string> names_in(const std::string& folder) {
    ++uses_;
    std::set<std::string> names;
    const auto note = [&](const std::string& path) {
      if (!lies_in(path, folder)) return;
      const std::string name = path.substr(folder.size() + 1);
      names.insert(name.substr(0, name.find('/')));
    };
    for (const auto& [path, content] : files_) note(path);
    for (const std::string& path : folders_) note(path);
    return {names.begin(), names.end()};
  }

  template <class Expected>
  Expected read(const std::string& path) {
    ++uses_;
    const auto found = files_.find(path);
    if (found == files_.end()) fail(path, "no such file or directory");
    const auto* content = std::get_if<Expected>(&found->second);
    if (content == nullptr) fail(path, "holds something else");
    if (torn_.contains(path)) fail(path, "is cut short");
    return *content;
  }

  std::map<std::string, Content> files_;
  std::set<std::string> folders_;
  std::set<std::string> torn_;  ///< files that are cut short
  int left_ = -1;               ///< changes until it is dead; -1: as many as one likes
  int uses_ = 0;
};

}  // namespace course::training
