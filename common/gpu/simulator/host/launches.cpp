#include "gpu/simulator/host/launches.hpp"

#include <map>
#include <stdexcept>

#include "gpu/simulator/findings/findings.hpp"
#include "gpu/simulator/findings/source_lines.hpp"
#include "gpu/simulator/host/host_side.hpp"
#include "gpu/simulator/host/model_time.hpp"
#include "gpu/simulator/kernel/blocks.hpp"
#include "gpu/simulator/kernel/shared_memory.hpp"
#include "gpu/simulator/memory/races.hpp"
#include "protocol/fact_kinds.hpp"

namespace course::gpu {

namespace {

constexpr std::uint64_t most_blocks_x = (1ULL << 31) - 1;

/// What cudaFuncSetAttribute has allowed, by the kernel's address. It lasts as long as the process, as on a
/// device, and an initialiser of a submission's may ask for it before main().
std::map<const void*, std::size_t>& allowed_dynamic_shared() {
  static std::map<const void*, std::size_t> allowed;
  return allowed;
}

bool is_allowed_more(const Launch& launch) {
  return allowed_dynamic_shared().contains(launch.function);
}

/// Why a launch that has no threads is refused; empty: it has some.
std::string no_threads(const Launch& launch) {
  if (launch.grid.size() == 0) return "it has no threads, since its grid has 0 blocks";
  return launch.block.size() == 0 ? "it has no threads, since its blocks have 0" : "";
}

/// Why a launch is refused; empty: it is not. Source: CUDA Programming Guide 13, technical specifications.
std::string wrong_configuration(const Launch& launch) {
  if (launch.block.size() > most_threads_of_a_block || launch.block.z > 64)
    return "it asks for " + std::to_string(launch.block.size()) + " threads a block, at most " +
           std::to_string(most_threads_of_a_block) + " are there, and 64 along z";
  if (launch.grid.x > most_blocks_x || launch.grid.y > 65535 || launch.grid.z > 65535)
    return "it has more than 2^31 - 1 blocks along x, or 65535 along y or z";
  return "";
}

std::string too_much_shared(const Launch& launch) {
  const std::size_t most =
      is_allowed_more(launch) ? allowed_dynamic_shared().at(launch.function) : default_shared_bytes;
  if (launch.dynamic_shared <= most) return "";
  return "it asks for " + std::to_string(launch.dynamic_shared) + " bytes of shared memory, at most " +
         std::to_string(most) + " are there" +
         (is_allowed_more(launch) ? "" : " unless cudaFuncSetAttribute allows this kernel more");
}

std::string text_of(const Launch& launch) {
  return std::string(launch.kernel) + "<<<...>>> on " + line_text(launch.line);
}

void refuse(const Launch& launch, Error error, const std::string& why, std::vector<std::string> marks = {}) {
  const std::string text = text_of(launch) + " is not launched: " + why;
  note({.kind = fact_refused_launch,
        .text = text,
        .call = launch.kernel,
        .at = call_place(launch.line),
        .marks = std::move(marks)});
  launch_failed(error, text);
}

class KernelRun : public Operation {
 public:
  KernelRun(const Launch& launch, std::unique_ptr<ThreadCode> code)
      : dynamic_shared_(launch.dynamic_shared),
        most_shared_(is_allowed_more(launch) ? most_shared_bytes : default_shared_bytes),
        code_(std::move(code)) {}

  bool carry_out() override {
    begin_shared_memory(dynamic_shared_, most_shared_);
    now.arguments = code_.get();
    now.arguments_bytes = code_->bytes();
    const OperationNumber number = now.access.operation;
    now.accesses_of_kernel = 0;
    run_blocks(number, *code_);
    set_length_in_model(number, access_s * static_cast<double>(now.accesses_of_kernel));
    return true;
  }

 private:
  std::size_t dynamic_shared_;
  std::size_t most_shared_;
  std::unique_ptr<ThreadCode> code_;
};

}  // namespace

void launch_kernel(const Launch& launch, std::unique_ptr<ThreadCode> code) {
  if (now.in_kernel) throw std::logic_error("the simulator launches no kernel from a kernel");
  if (broken() != Error::Success) return;
  if (const std::string why = no_threads(launch); !why.empty())
    return refuse(launch, Error::InvalidConfiguration, why, {mark_no_threads});
  if (const std::string why = wrong_configuration(launch); !why.empty())
    return refuse(launch, Error::InvalidConfiguration, why);
  if (launch.function == nullptr && launch.dynamic_shared > default_shared_bytes)
    throw std::invalid_argument(
        "the simulator cannot tell which kernel " + text_of(launch) +
        " means, and so not whether it is allowed " + std::to_string(launch.dynamic_shared) +
        " bytes of shared memory: write its template arguments, or launch a pointer to it");
  if (const std::string why = too_much_shared(launch); !why.empty())
    return refuse(launch, Error::InvalidValue, why, {mark_shared_memory});
  launch_accepted(text_of(launch));
  enqueue(launch.stream,
          {.name = launch.kernel,
           .line = launch.line,
           .is_kernel = true,
           .grid = launch.grid,
           .block = launch.block},
          std::make_unique<KernelRun>(launch, std::move(code)));
}

Error allow_dynamic_shared(const void* kernel, std::size_t bytes) {
  if (broken() != Error::Success) return broken();
  if (kernel == nullptr || bytes > most_shared_bytes) return failed(Error::InvalidValue);
  allowed_dynamic_shared()[kernel] = bytes;
  return Error::Success;
}

}  // namespace course::gpu
