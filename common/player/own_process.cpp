#include "player/own_process.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

#include "protocol/fact_kinds.hpp"

#ifdef COURSE_SANITIZED
/// What AddressSanitizer is told unless ASAN_OPTIONS says otherwise. MPI and its like free little of what
/// they allocate. A crash is told with its line, whoever else would handle the signal. Several ranks share
/// the machine, and each keeps what was freed.
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0:handle_segv=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2:handle_abort=2:"
         "quarantine_size_mb=16";
}

/// An error within the standard library has the line that called it in its stack.
extern "C" const char* __ubsan_default_options() {
  return "print_stacktrace=1";
}
#endif

namespace course {

namespace {

RankStatus* map_page(const std::filesystem::path& path, int world_rank) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) throw std::runtime_error("cannot open the status file " + path.string());
  const std::size_t bytes = (world_rank + 1) * sizeof(RankStatus);
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (pages == MAP_FAILED) throw std::runtime_error("cannot map the status file " + path.string());
  return static_cast<RankStatus*>(pages) + world_rank;
}

RankStatus* crashing_page = nullptr;

void on_crash(int signal) {
  crashing_page->signal = signal;
  crashing_page->phase = static_cast<std::uint32_t>(Phase::Crashed);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

std::int64_t status_bytes(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field)) return std::stoll(line.substr(field.size())) * 1024;
  }
  return -1;
}

RankStatus& enter_page(const std::filesystem::path& path, int world_rank) {
  static RankStatus unwatched{};
  RankStatus& page = path.empty() ? unwatched : *map_page(path, world_rank);
  page.pid = getpid();
  page.case_index = -1;
  return page;
}

void set_phase(RankStatus& page, Phase phase) {
  page.phase = static_cast<std::uint32_t>(phase);
}

/// In this order: a rank that is not yet in the case must never look as if it were done with it.
void begin_case(RankStatus& page, std::size_t index) {
  set_phase(page, Phase::Starting);
  set_text(page, "");
  page.case_index = static_cast<std::int32_t>(index);
}

void set_text(RankStatus& page, const std::string& text) {
  std::snprintf(page.text, sizeof page.text, "%s", text.c_str());
}

void set_told(RankStatus& page, Fact told) {
  told.text.clear();
  told.marks.push_back(mark_thrown);
  append_fact(page, told);
}

void keep_stderr(const std::filesystem::path& status) {
#ifdef COURSE_SANITIZED
  if (!status.empty() && std::freopen(stderr_beside(status, getpid()).c_str(), "w", stderr) == nullptr)
    throw std::runtime_error("cannot print to a file beside " + status.string());
#else
  static_cast<void>(status);
#endif
}

void break_seal(const std::filesystem::path& status) {
  if (!status.empty()) std::filesystem::remove(seal_beside(status));
}

void report_crashes(RankStatus& page) {
  crashing_page = &page;
  static std::vector<char> stack(64 * 1024);
  const stack_t alternate{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

MemoryMeter::MemoryMeter() : clear_("/proc/self/clear_refs") {}

bool MemoryMeter::reset() {
#ifdef COURSE_SANITIZED
  return false;  // the sanitizer's own bookkeeping would be counted
#endif
  // A fixed threshold: glibc otherwise raises it after the first large free, and later blocks then come from
  // memory that is already resident.
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  malloc_trim(0);
  clear_ << 5 << std::flush;
  if (!clear_) return false;
  before_ = status_bytes("VmRSS:");
  shared_before_ = status_bytes("RssShmem:");
  return true;
}

std::int64_t MemoryMeter::peak() const {
  // What ranks of one host send passes through memory that they share. The library takes it, the more the
  // more messages are under way, and keeps it.
  const std::int64_t shared = status_bytes("RssShmem:") - shared_before_;
  return status_bytes("VmHWM:") - before_ - shared;
}

std::string host_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (std::getline(file, id)) return id;
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace course
