#include "course/workspace/cuda_device.hpp"

#include <dlfcn.h>

#include <memory>

#include "course/terminal/terminal.hpp"
#include "course/workspace/checkout.hpp"
#include "course/workspace/judging.hpp"

namespace course::program {

namespace {

/// The driver's own functions: no toolkit is needed to ask it. Source: CUDA driver API, cuInit and
/// cuDeviceGetCount.
using Init = int (*)(unsigned flags);
using DeviceCount = int (*)(int* count);

int device_count() {
  const std::unique_ptr<void, int (*)(void*)> driver(dlopen("libcuda.so.1", RTLD_NOW), dlclose);
  if (driver == nullptr) return 0;
  const auto init = reinterpret_cast<Init>(dlsym(driver.get(), "cuInit"));
  const auto count_devices = reinterpret_cast<DeviceCount>(dlsym(driver.get(), "cuDeviceGetCount"));
  int count = 0;
  if (init == nullptr || count_devices == nullptr || init(0) != 0 || count_devices(&count) != 0) return 0;
  return count;
}

}  // namespace

bool has_nvcc() {
  return !find_program("nvcc").empty() || std::filesystem::exists("/usr/local/cuda/bin/nvcc");
}

std::string cuda_obstacle() {
  if (!has_nvcc()) return "there is no nvcc on this machine; --backend sim needs none";
  if (device_count() == 0) return "this machine's driver knows no device; --backend sim needs none";
  return "";
}

std::vector<std::string> player_on_devices(const std::filesystem::path& tree, const LessonInfo& lesson,
                                           int ranks, Transport transport) {
  const std::string player = built_in_player(tree, lesson, Backend::Cuda);
  const auto with = [&](const std::string& setting) {
    return std::vector<std::string>{"sh", "-c", setting + " exec \"$0\" \"$@\"", player};
  };
  if (transport == Transport::Host)
    return with("LD_LIBRARY_PATH=" + shell_word((tree / staged_nccl_folder).string()) +
                "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}");
  if (ranks <= device_count()) return {player};
  return with("NCCL_HOSTID=rank$OMPI_COMM_WORLD_RANK");
}

}  // namespace course::program
