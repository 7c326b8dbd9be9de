#include "mpi_layer/journal.hpp"

#include <algorithm>
#include <utility>

namespace course::mpi_layer {

namespace {

constexpr std::ptrdiff_t facts_of_a_kind = 8;

}  // namespace

void Journal::note(const char* kind, const std::string& text) {
  const std::lock_guard guard(mutex_);
  std::ptrdiff_t same_kind = 0;
  for (const Fact& fact : report_.facts) {
    if (fact.kind != kind) continue;
    if (fact.text == text) return;
    ++same_kind;
  }
  if (same_kind == facts_of_a_kind) return;
  report_.facts.push_back({kind, text});
  page_.add(report_.facts.back());
}

void Journal::note_uncommon(const char* call) {
  note(fact_uncommon_call, std::string(call) + ", which this course does not use");
}

void Journal::count_sent(const Operation& operation) {
  const int peer = operation.case_peer();
  if (operation.kind != Kind::Send || peer < 0) return;
  const std::lock_guard guard(mutex_);
  report_.bytes_sent_to[peer] += operation.bytes;
}

void Journal::count_collective(const char* call, std::int64_t bytes) {
  note(fact_collective,
       std::string(call) + ", in which this rank received " + std::to_string(bytes) + " bytes");
  const std::lock_guard guard(mutex_);
  report_.collective_bytes += bytes;
}

double Journal::now_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void Journal::add_span(Span span) {
  const std::lock_guard guard(mutex_);
  report_.spans.push_back(std::move(span));
}

Report Journal::take() {
  report_.begin_s = std::chrono::duration<double>(begin_.time_since_epoch()).count();
  return std::move(report_);
}

}  // namespace course::mpi_layer
