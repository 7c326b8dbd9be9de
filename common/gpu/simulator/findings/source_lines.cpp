#include "gpu/simulator/findings/source_lines.hpp"

#include <dlfcn.h>
#include <elfutils/libdwfl.h>

#include <filesystem>
#include <map>
#include <memory>

#include "gpu/simulator/kernel/fibers.hpp"

namespace course::gpu {

namespace {

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

  std::string line_at(std::uint64_t offset) const {
    Dwfl_Line* const found = module_ ? dwfl_module_getsrc(module_, start_ + offset) : nullptr;
    int line = 0;
    const char* const file =
        found ? dwfl_lineinfo(found, nullptr, &line, nullptr, nullptr, nullptr) : nullptr;
    if (!file) return "an unknown line";
    const std::filesystem::path path = file;
    const std::string text = "line " + std::to_string(line);
    return path.extension() == ".cu" ? text : text + " of " + path.filename().string();
  }

 private:
  static constexpr Dwfl_Callbacks callbacks{dwfl_build_id_find_elf, dwfl_standard_find_debuginfo,
                                            dwfl_offline_section_address, nullptr};
  std::unique_ptr<Dwfl, Ends> dwfl_;
  Dwfl_Module* module_ = nullptr;
  Dwarf_Addr start_ = 0;
};

}  // namespace

std::uint64_t site_of_line(int line) {
  return static_cast<std::uint64_t>(line);
}

std::string source_line(std::uint64_t instruction) {
  constexpr std::uint64_t most_lines = 1 << 30;  // below any instruction's address
  if (instruction < most_lines) return "line " + std::to_string(instruction);
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(instruction), &info) == 0) return "an unknown line";
  std::string line;
  call_on_large_stack([&] {
    static std::map<std::string, Object> objects;
    const Object& object = objects.try_emplace(info.dli_fname, info.dli_fname).first->second;
    line = object.line_at(instruction - reinterpret_cast<std::uint64_t>(info.dli_fbase));
  });
  return line;
}

}  // namespace course::gpu
