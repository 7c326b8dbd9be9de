#include <stdexcept>

#include "bench/device/options.hpp"
#include "bench/device/stopwatch.hpp"

namespace course::bench::device {

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--tiny") {
      options.sizes = tiny_sizes();
    } else if (word == "--rows" && i + 1 < argc) {
      options.rows = argv[++i];
    } else if (word == "--transport" && i + 1 < argc) {
      options.transport = argv[++i];
    } else {
      throw std::invalid_argument(word + ": expected --rows FILE, --transport WORDS or --tiny");
    }
  }
  return options;
}

std::vector<std::pair<std::string, std::string>> about(const Sizes& sizes) {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices == 0)
    throw std::runtime_error(std::string("there is no CUDA device: ") +
                             (error == cudaSuccess ? "the driver knows none" : cudaGetErrorString(error)));
  cudaDeviceProp device;
  cuda_check(cudaGetDeviceProperties(&device, 0));
  return {{"device", device.name},
          {"simulated", is_simulated ? "yes" : "no"},
          {"compute_capability", std::to_string(device.major) + "." + std::to_string(device.minor)},
          {"multiprocessors", std::to_string(device.multiProcessorCount)},
          {"cache_bytes", std::to_string(device.l2CacheSize)},
          {"rows_of_softmax", std::to_string(sizes.rows)},
          {"cols_of_softmax", std::to_string(sizes.cols)},
          {"heads", std::to_string(sizes.heads)},
          {"tokens", std::to_string(sizes.tokens)},
          {"repetitions", std::to_string(sizes.effort.repetitions)}};
}

std::string heading(const std::vector<std::pair<std::string, std::string>>& about) {
  std::string text =
      is_simulated ? "simulated, not measured: no rate, ratio or bound below means anything\n" : "";
  for (const auto& [name, value] : about) text += (name == "device" ? "" : ", ") + name + " " + value;
  return text + "\n";
}

}  // namespace course::bench::device
