#include "player/played_case.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <typeinfo>

#include "lesson/not_implemented.hpp"
#include "tensor/npy.hpp"

namespace course {

namespace fs = std::filesystem;

Library::Library(const fs::path& path)
    : path_(path), library_(dlopen(fs::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) wrong_ = std::string("cannot load the submission: ") + dlerror();
}

const Library& Library::at(const fs::path& path) {
  static std::map<fs::path, Library> loaded;
  return loaded.try_emplace(path, path).first->second;
}

void* Library::symbol(const char* name) const {
  if (library_ == nullptr) throw std::runtime_error(wrong_);
  void* const found = dlsym(library_, name);
  if (found == nullptr) throw std::runtime_error(path_.string() + " has no " + name);
  return found;
}

const Adapter& Library::adapter() const {
  return entry<decltype(course_adapter)>("course_adapter")();
}

const LessonBlocks& Library::blocks() const {
  return entry<decltype(course_blocks)>("course_blocks")();
}

void require_loadable(const fs::path& subject) {
  const auto require = [&](bool holds, const std::string& what) {
    if (!holds) throw std::system_error(errno, std::generic_category(), what + subject.string());
  };
  const int file = open(subject.c_str(), O_RDONLY | O_CLOEXEC);
  require(file >= 0, "cannot read ");
  void* page = mmap(nullptr, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  require(page != MAP_FAILED,
          errno == EPERM ? "the file system is mounted noexec that holds " : "cannot run ");
  munmap(page, 1);
  close(file);
}

LoadedCase load_case(const fs::path& folder, const Stage& stage, bool keep_inputs) {
  LoadedCase loaded{folder, read_manifest(folder), -1, {}};
  const std::vector<int>& players = loaded.manifest.world_ranks;
  const auto last = std::ranges::max_element(players);
  if (last == players.end() || *last >= stage.world_size()) {
    throw std::invalid_argument(folder.string() + " is for " + std::to_string(players.size()) +
                                " ranks, but " + std::to_string(stage.world_size()) + " were started");
  }
  const auto found = std::ranges::find(players, stage.world_rank());
  if (found == players.end()) return loaded;
  loaded.rank = static_cast<int>(found - players.begin());
  for (const std::string& name : loaded.manifest.inputs) {
    const fs::path file = input_folder(folder, loaded.rank) / (name + ".npy");
    loaded.inputs.emplace(name, read_npy<float>(file));
    if (!keep_inputs) fs::remove(file);
  }
  return loaded;
}

namespace {

/// "k: ": of the call's tensors the one that a view with this beginning shows, or a part of it; empty where
/// none does.
std::string whose(const Call& call, const void* data) {
  const std::string name = call.tensor_at(data).name;
  return name.empty() ? "" : name + ": ";
}

std::string type_of(const std::exception& error) {
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, nullptr), std::free);
  return name ? name.get() : "";
}

}  // namespace

RankReport call_function(const Library& subject, const std::string& function, Call& call,
                         const Call::InputMarks* marks) {
  RankReport report;
  try {
    const Adapter& adapter = subject.adapter();
    const auto found = adapter.find(function);
    if (found == adapter.end()) throw std::invalid_argument("the adapter has no function " + function);
    found->second(call);
    call.require_margins();
    if (marks != nullptr) call.require_inputs(*marks);
  } catch (const NotImplemented& error) {
    report.ending = "todo";
    report.what = error.what();
  } catch (const OutsideView& error) {
    report.ending = "threw";
    report.what = whose(call, error.data()) + error.what();
    if (error.extent() >= 0)
      report.told = Fact{
          .kind = fact_outside_view, .text = report.what, .extent = error.extent(), .marks = {error.axis()}};
  } catch (const std::exception& error) {
    report.ending = "threw";
    report.what = error.what();
    report.thrown = type_of(error);
    if (const auto* telling = dynamic_cast<const TellsFact*>(&error)) report.told = telling->fact();
  } catch (...) {
    report.ending = "threw";
    report.what = "something that is not a std::exception";
  }
  return report;
}

void write_outputs(const fs::path& folder, const std::map<std::string, Tensor>& outputs, RankReport report) {
  fs::create_directories(folder);
  if (report.ending == "finished") {
    for (const auto& [name, tensor] : outputs) {
      write_npy(folder / (name + ".npy"), tensor);
      report.outputs.push_back(name);
    }
  }
  write_report(folder, report);
}

}  // namespace course
