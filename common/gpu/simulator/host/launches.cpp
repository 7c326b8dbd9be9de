#include "gpu/simulator/host/launches.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string_view>

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

/// What cudaFuncSetAttribute has allowed, by the kernel's name without blanks.
std::map<std::string, std::size_t, std::less<>> allowed_dynamic_shared;

std::size_t most_shared_of(const Launch& launch) {
  const auto allowed = allowed_dynamic_shared.find(launch.kernel);
  return allowed == allowed_dynamic_shared.end() ? default_shared_bytes : most_shared_bytes;
}

/// Why a launch is refused; empty: it is not. Source: CUDA Programming Guide 13, technical specifications.
std::string wrong_configuration(const Launch& launch) {
  if (launch.grid.size() == 0) return "it has no threads, since its grid has 0 blocks";
  if (launch.block.size() == 0) return "it has no threads, since its blocks have 0";
  if (launch.block.size() > most_threads_of_a_block || launch.block.z > 64)
    return "it asks for " + std::to_string(launch.block.size()) + " threads a block, at most " +
           std::to_string(most_threads_of_a_block) + " are there, and 64 along z";
  if (launch.grid.x > most_blocks_x || launch.grid.y > 65535 || launch.grid.z > 65535)
    return "it has more than 2^31 - 1 blocks along x, or 65535 along y or z";
  return "";
}

std::string too_much_shared(const Launch& launch) {
  const auto allowed = allowed_dynamic_shared.find(launch.kernel);
  const std::size_t most = allowed == allowed_dynamic_shared.end() ? default_shared_bytes : allowed->second;
  if (launch.dynamic_shared <= most) return "";
  return "it asks for " + std::to_string(launch.dynamic_shared) + " bytes of shared memory, at most " +
         std::to_string(most) + " are there" +
         (allowed == allowed_dynamic_shared.end() ? " unless cudaFuncSetAttribute allows more" : "");
}

std::string text_of(const Launch& launch) {
  return std::string(launch.kernel) + "<<<...>>> on " + line_text(launch.line);
}

void refuse(const Launch& launch, Error error, const std::string& why) {
  const std::string text = text_of(launch) + " is not launched: " + why;
  note(fact_refused_launch, text);
  launch_failed(error, text);
}

class KernelRun : public Operation {
 public:
  KernelRun(const Launch& launch, std::unique_ptr<ThreadCode> code)
      : dynamic_shared_(launch.dynamic_shared),
        most_shared_(most_shared_of(launch)),
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

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\t';
}

/// The first of the arguments as the source has them, without blanks, an ampersand or a cast before it.
std::string kernel_named_in(std::string_view arguments) {
  std::string name;
  int angles = 0;
  for (const char c : arguments) {
    if (c == ',' && angles == 0) break;
    angles += (c == '<') - (c == '>');
    if (!is_blank(c)) name += c;
  }
  if (name.starts_with('(')) name.erase(0, name.find(')') + 1);
  if (name.starts_with('&')) name.erase(0, 1);
  return name;
}

}  // namespace

void launch_kernel(const Launch& launch, std::unique_ptr<ThreadCode> code) {
  if (now.in_kernel) throw std::logic_error("the simulator launches no kernel from a kernel");
  if (broken() != Error::Success) return;
  if (const std::string why = wrong_configuration(launch); !why.empty())
    return refuse(launch, Error::InvalidConfiguration, why);
  if (const std::string why = too_much_shared(launch); !why.empty())
    return refuse(launch, Error::InvalidValue, why);
  launch_accepted(text_of(launch));
  enqueue(launch.stream,
          {.name = launch.kernel,
           .line = launch.line,
           .is_kernel = true,
           .grid = launch.grid,
           .block = launch.block},
          std::make_unique<KernelRun>(launch, std::move(code)));
}

Error allow_dynamic_shared(const char* arguments, std::size_t bytes) {
  if (broken() != Error::Success) return broken();
  if (bytes > most_shared_bytes) return failed(Error::InvalidValue);
  allowed_dynamic_shared[kernel_named_in(arguments)] = bytes;
  return Error::Success;
}

void forget_launches() {
  allowed_dynamic_shared.clear();
}

}  // namespace course::gpu
