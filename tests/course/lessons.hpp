#pragma once

#include "registry/registry.hpp"

namespace course::program {

/// A registry to test with: lesson 01 on one rank, lesson 05 with a task on one rank and one on 1 and 3
/// ranks.
inline std::vector<LessonInfo> two_lessons() {
  LessonInfo softmax;
  softmax.id = "01";
  softmax.name = "safe_softmax";
  softmax.files = {"safe_softmax.cpp"};
  softmax.tasks = {{"1", "softmax", 60, {}}, {"2", "logsumexp", 40, {}}};
  softmax.mistakes = {
      {"no_maximum", {"1", "2"}, "answer", "the row maximum is not subtracted", "wide scores"},
      {"in_place", {"1"}, "instrument", "the input is written to", "any input"}};
  LessonInfo ring;
  ring.id = "05";
  ring.name = "ring_attention";
  ring.needs = {"mpi"};
  ring.files = {"ring_attention.cpp"};
  ring.tasks = {{"1", "whose block is it", 20, {}}, {"2", "ring attention", 80, {1, 3}}};
  ring.mistakes = {{"one_block_short", {"2"}, "answer", "only P - 1 blocks are attended to", "two ranks"}};
  return {softmax, ring};
}

}  // namespace course::program
