#include "gpu/simulator/kernel/shared_memory.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "gpu/simulator/kernel/blocks.hpp"
#include "gpu/simulator/kernel/kernel_side.hpp"
#include "protocol/fact_kinds.hpp"

namespace course::gpu {

namespace {

constexpr std::size_t variables_begin = 512 * 1024;  // dynamic shared memory lies below
constexpr std::size_t variable_alignment = 16;       // of every variable, so that any type may be in it
constexpr std::size_t variable_gap = 16;             // belongs to nobody

struct Piece {
  std::size_t offset = shared_begin;
  std::size_t bytes = 0;
};

struct SharedMemory {
  Piece dynamic;
  std::map<const void*, Piece> variables;
  std::size_t most = 0;
  std::size_t used = 0;
  std::size_t variables_end = variables_begin;
};
SharedMemory shared_memory;

void make_fresh(const Piece& piece) {
  put_in_use(piece.offset, piece.bytes, true);
  fill_with_poison(memory().base() + piece.offset, piece.bytes);
}

void clear() {
  put_in_use(shared_begin, shared_memory.dynamic.bytes, false);
  for (const auto& [key, piece] : shared_memory.variables) put_in_use(piece.offset, piece.bytes, false);
}

}  // namespace

void begin_shared_memory(std::size_t dynamic_bytes, std::size_t most) {
  clear();
  shared_memory = {};
  shared_memory.dynamic.bytes = shared_memory.used = dynamic_bytes;
  shared_memory.most = most;
}

void hand_shared_memory_on() {
  make_fresh(shared_memory.dynamic);
  for (const auto& [key, piece] : shared_memory.variables) make_fresh(piece);
}

void* shared_variable(const void* key, std::size_t bytes) {
  Piece& piece = shared_memory.variables[key];
  if (piece.bytes == 0) {
    piece = {shared_memory.variables_end, bytes};
    shared_memory.used += bytes;
    if (shared_memory.used > shared_memory.most) refuse_shared_memory(shared_memory.used, shared_memory.most);
    shared_memory.variables_end = (piece.offset + bytes + variable_gap + variable_alignment - 1) /
                                  variable_alignment * variable_alignment;
    make_fresh(piece);
  }
  return memory().base() + piece.offset;
}

void* dynamic_shared_memory() {
  return memory().base() + shared_begin;
}

Described describe_shared(const void* address, std::size_t bytes) {
  const std::size_t offset = offset_of(address);
  const std::string what = std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  const Piece* before = &shared_memory.dynamic;
  for (const auto& [key, piece] : shared_memory.variables)
    if (piece.offset <= offset && piece.offset >= before->offset) before = &piece;
  const bool is_dynamic = before == &shared_memory.dynamic;
  const std::size_t inside = offset - before->offset;
  const std::string where =
      inside < before->bytes ? " that reach" : " at " + std::to_string(inside - before->bytes) + " bytes";
  return {what + where + " beyond the end of the " + std::to_string(before->bytes) + " bytes of " +
              (is_dynamic ? "dynamic shared memory that the launch asks for" : "a variable in shared memory"),
          {mark_shared_memory, mark_beyond_end}};
}

}  // namespace course::gpu
