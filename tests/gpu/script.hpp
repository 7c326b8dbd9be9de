#pragma once

#include <vector>

/// A kernel of random accesses: what each thread of each block does at each step, and what all wait for
/// behind it.
namespace course::gpu {

enum class Does : int { Nothing, Reads, Writes, Adds, AddsInBlock };
enum class Waits : int { Nowhere, AtBarrier, InWarp, InHalfWarp };

struct Step {
  Does does;
  int word;
};

struct Script {
  int blocks = 1;
  int threads = 1;
  int words = 1;
  std::vector<Waits> waits = {};  ///< behind each step
  std::vector<Step> steps = {};   ///< [step][block][thread]
};

void run(const Script& script);

}  // namespace course::gpu
