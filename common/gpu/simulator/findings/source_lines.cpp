#include "gpu/simulator/findings/source_lines.hpp"

#include <dlfcn.h>
#include <elfutils/libdwfl.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "gpu/simulator/kernel/fibers.hpp"

namespace course::gpu {

namespace {

constexpr int lines_of_a_file = 1 << 20;
std::vector<std::string> headers;  ///< with a call that was named

/// Whether a file is the one that a lesson's reader writes: what plays it, with the kernels that it is given,
/// is adapter.cu, which its messages name as they name headers.
bool is_reader_s(const std::filesystem::path& file) {
  return file.extension() == ".cu" && file.filename() != "adapter.cu";
}

struct Ends {
  void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};

/// The debugging information of one executable or shared object.
class Object {
 public:
  explicit Object(const char* file) : dwfl_(dwfl_begin(&callbacks)) {
    if (!dwfl_) return;
    module_ = dwfl_report_offline(dwfl_.get(), "", file, -1);
    dwfl_report_end(dwfl_.get(), nullptr, nullptr);
    if (module_) dwfl_module_info(module_, nullptr, &start_, nullptr, nullptr, nullptr, nullptr, nullptr);
  }

  SourcePlace place_at(std::uint64_t offset) const {
    Dwfl_Line* const found = module_ ? dwfl_module_getsrc(module_, start_ + offset) : nullptr;
    int line = 0;
    const char* const file =
        found ? dwfl_lineinfo(found, nullptr, &line, nullptr, nullptr, nullptr) : nullptr;
    if (!file) return {};
    const std::filesystem::path path = file;
    return {line, is_reader_s(path) ? "" : path.filename().string()};
  }

 private:
  static constexpr Dwfl_Callbacks callbacks{dwfl_build_id_find_elf, dwfl_standard_find_debuginfo,
                                            dwfl_offline_section_address, nullptr};
  std::unique_ptr<Dwfl, Ends> dwfl_;
  Dwfl_Module* module_ = nullptr;
  Dwarf_Addr start_ = 0;
};

}  // namespace

int place_of_call(int line, const char* file) {
  const std::filesystem::path path = file;
  if (is_reader_s(path)) return line;
  const std::string name = path.filename();
  const auto known = std::ranges::find(headers, name);
  const auto number = known - headers.begin();
  if (known == headers.end()) headers.push_back(name);
  return line + static_cast<int>(number + 1) * lines_of_a_file;
}

SourcePlace call_place(int place) {
  return {place % lines_of_a_file, place < lines_of_a_file ? "" : headers.at(place / lines_of_a_file - 1)};
}

std::string line_text(int place) {
  return text_of(call_place(place));
}

std::string text_of(const SourcePlace& place) {
  if (place.line == 0) return "an unknown line";
  return "line " + std::to_string(place.line) + (place.file.empty() ? "" : " of " + place.file);
}

std::uint64_t site_of_line(int place) {
  return static_cast<std::uint64_t>(place);
}

std::string source_line(std::uint64_t instruction) {
  return text_of(source_place(instruction));
}

SourcePlace source_place(std::uint64_t instruction) {
  constexpr std::uint64_t most_lines = 1 << 30;  // below any instruction's address
  if (instruction < most_lines) return call_place(static_cast<int>(instruction));
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(instruction), &info) == 0) return {};
  SourcePlace place;
  call_on_large_stack([&] {
    static std::map<std::string, Object> objects;
    const Object& object = objects.try_emplace(info.dli_fname, info.dli_fname).first->second;
    place = object.place_at(instruction - reinterpret_cast<std::uint64_t>(info.dli_fbase));
  });
  return place;
}

}  // namespace course::gpu
