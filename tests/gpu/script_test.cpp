#include "script.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "gpu/simulator/simulator.hpp"
#include "protocol/fact_kinds.hpp"

namespace course::gpu {

namespace {

using Kinds = std::set<std::string>;

Script drawn(std::minstd_rand& random) {
  const auto below = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  Script script{.blocks = 1 + below(2), .threads = 16 + 16 * below(5), .words = 40 + below(400)};
  const int steps = 1 + below(5);
  const int busy = 2 + below(20);  // one in so many does something
  for (int i = 0; i < steps; ++i) {
    script.waits.push_back(static_cast<Waits>(below(4)));
    for (int t = 0; t < script.blocks * script.threads; ++t)
      script.steps.push_back(
          {below(busy) > 0 ? Does::Nothing : static_cast<Does>(1 + below(4)), below(script.words)});
  }
  return script;
}

/// An access, and how many steps of each thread come before it.
struct Event {
  int thread;
  int step;
  Step what;
  std::vector<int> before;
};

/// The threads that `thread` waits for, itself among them.
std::vector<int> waited_for(const Script& script, Waits waits, int thread) {
  const int size = waits == Waits::AtBarrier ? script.threads : waits == Waits::InWarp ? 32 : 16;
  const int block = thread / script.threads * script.threads;
  const int first = block + (thread - block) / size * size;
  std::vector<int> found;
  for (int t = first; t < std::min(first + size, block + script.threads); ++t) found.push_back(t);
  return found;
}

std::vector<Event> events_of(const Script& script) {
  const int threads = script.blocks * script.threads;
  std::vector<std::vector<int>> known(threads, std::vector<int>(threads));
  std::vector<Event> events;
  for (int i = 0; i < static_cast<int>(script.waits.size()); ++i) {
    for (int t = 0; t < threads; ++t) {
      events.push_back({t, i, script.steps[static_cast<std::size_t>(i * threads + t)], known[t]});
      known[t][t] = i + 1;
    }
    if (script.waits[i] == Waits::Nowhere) continue;
    std::vector<std::vector<int>> joined = known;
    for (int t = 0; t < threads; ++t)
      for (const int other : waited_for(script, script.waits[i], t))
        for (int k = 0; k < threads; ++k) joined[t][k] = std::max(joined[t][k], known[other][k]);
    known = std::move(joined);
  }
  return events;
}

bool may_meet(Does a, Does b, bool same_block) {
  const auto reads = [](Does does) { return does == Does::Reads; };
  const auto adds = [](Does does) { return does == Does::Adds || does == Does::AddsInBlock; };
  if (reads(a) && reads(b)) return true;
  return adds(a) && adds(b) && (same_block || (a == Does::Adds && b == Does::Adds));
}

/// The races of every two accesses.
Kinds expected_of(const Script& script) {
  std::vector<Event> events = events_of(script);
  std::erase_if(events, [](const Event& event) { return event.what.does == Does::Nothing; });
  Kinds kinds;
  for (const Event& b : events)
    for (const Event& a : events) {
      const bool same_block = a.thread / script.threads == b.thread / script.threads;
      const bool ordered = a.thread == b.thread || b.before[a.thread] > a.step || a.before[b.thread] > b.step;
      if (a.what.word == b.what.word && !ordered && !may_meet(a.what.does, b.what.does, same_block))
        kinds.insert(same_block ? fact_race_in_block : fact_race_between_blocks);
    }
  return kinds;
}

TEST(Script, RandomAccessesRaceWhereAComparisonOfEveryTwoSaysSo) {
  std::minstd_rand random(7);
  int racy = 0;
  constexpr int scripts = 300;
  for (int i = 0; i < scripts; ++i) {
    const Script script = drawn(random);
    begin(static_cast<std::uint64_t>(i) + 1, true);
    run(script);
    Kinds found;
    std::string texts;
    for (const Fact& fact : end(true)) {
      if (fact.kind == fact_device_wide_wait) continue;
      found.insert(fact.kind);
      texts += fact.kind + ": " + fact.text + "\n";
    }
    const Kinds expected = expected_of(script);
    // A race may hide another one of the same word behind it, never all.
    EXPECT_EQ(found.empty(), expected.empty()) << "script " << i << "\n" << texts;
    EXPECT_TRUE(std::ranges::includes(expected, found)) << "script " << i << "\n" << texts;
    racy += !expected.empty();
  }
  EXPECT_GT(racy, scripts / 4);
  EXPECT_LT(racy, scripts * 3 / 4);
}

}  // namespace

}  // namespace course::gpu
