#include <gtest/gtest.h>

#include <ostream>

#include "gpu/simulator/simulator.hpp"
#include "programs.hpp"

namespace course {

void PrintTo(const KernelCounts& counts, std::ostream* stream) {
  *stream << "{\"" << counts.kernel << "\", " << counts.launches << ", " << counts.bytes_read << ", "
          << counts.bytes_written << ", " << counts.requests << ", " << counts.sectors << ", "
          << counts.shared_requests << ", " << counts.shared_passes << ", " << counts.bank_conflicts << "}";
}

namespace gpu {

namespace {

CountsByKernel counts_of(const std::string& program, std::uint64_t seed, bool counted = true) {
  begin(seed, true, counted);
  programs::all().at(program).run();
  run_the_rest();
  CountsByKernel counts = counts_by_kernel();
  end(true);
  return counts;
}

/// Program, and launches, bytes read, bytes written, requests, sectors, requests to shared memory, their
/// passes, bank conflicts.
struct Known {
  const char* program;
  CountsByKernel counts;
};

/// A line says why where the definition alone does not.
const Known known[] = {
    {"counts_coalesced", {{"write", 1, 0, 128, 1, 4, 0, 0, 0}}},
    {"counts_stride_32", {{"write", 1, 0, 128, 1, 32, 0, 0, 0}}},
    {"counts_misaligned", {{"write", 1, 0, 128, 1, 5, 0, 0, 0}}},
    {"counts_partial_warp", {{"write", 1, 0, 80, 1, 3, 0, 0, 0}}},
    {"counts_two_warps_and_a_part", {{"write", 1, 0, 288, 3, 9, 0, 0, 0}}},
    {"counts_reads_and_writes_of_two_kernels",
     {{"copy", 2, 12, 12, 4, 4, 0, 0, 0}, {"write", 1, 0, 128, 1, 4, 0, 0, 0}}},
    {"counts_one_word_for_all", {{"copy", 1, 128, 128, 2, 1 + 4, 0, 0, 0}}},
    {"counts_float4", {{"copy_vectors", 1, 512, 512, 2, 16 + 16, 0, 0, 0}}},
    {"counts_four_floats", {{"copy_four_floats", 1, 512, 512, 8, 8 * 16, 0, 0, 0}}},
    // The first of each lane's three floats lie in 12 sectors, and so do the second and the third.
    {"counts_memcpy", {{"copy_by_call", 1, 384, 384, 6, 6 * 12, 0, 0, 0}}},
    {"counts_a_thread_that_never_meets_another",
     {{"write_for_long", 1, 0, 1'200'000, 1 << 18, 1 << 18, 0, 0, 0}}},
    {"counts_divergent_lanes", {{"write_in_two_branches", 1, 0, 128, 2, 4 + 4, 0, 0, 0}}},
    // In round n the lanes from n on write: 8 rounds touch four sectors, 8 three, 8 two, 8 one.
    {"counts_loops_of_different_lengths", {{"write_ever_more", 1, 0, 528 * 4, 32, 80, 0, 0, 0}}},
    // Lane 0's first put is taken for the others' only one, and its second for one by itself.
    {"counts_lanes_that_do_not_meet", {{"put_after_lane_0", 1, 0, 132, 2, 5 + 1, 0, 0, 0}}},
    {"counts_lanes_that_meet_at_a_barrier", {{"put_after_lane_0", 1, 0, 132, 2, 1 + 4, 0, 0, 0}}},
    {"counts_lanes_that_meet_in_syncwarp", {{"put_after_lane_0", 1, 0, 132, 2, 1 + 4, 0, 0, 0}}},
    {"counts_lanes_that_meet_in_a_shuffle", {{"put_after_lane_0", 1, 0, 132, 2, 1 + 4, 0, 0, 0}}},
    {"counts_halves_that_meet", {{"put_after_lane_0", 1, 0, 132, 2, 1 + 4, 0, 0, 0}}},
    {"counts_halves_that_meet_and_then_all", {{"put_after_lane_0", 1, 0, 132, 2, 1 + 4, 0, 0, 0}}},
    {"counts_lanes_that_are_left", {{"put_after_others_return", 1, 0, 68, 2, 1 + 2, 0, 0, 0}}},
    {"counts_atomics", {{"add_atomically", 1, 128, 128, 1, 2, 0, 0, 0}}},
    {"counts_shared_row", {{"through_shared", 1, 0, 128, 1, 4, 2, 2, 0}}},
    {"counts_shared_word_for_all", {{"through_shared", 1, 0, 128, 1, 4, 2, 2, 0}}},
    {"counts_shared_stride_2", {{"through_shared", 1, 0, 128, 1, 4, 2, 2 * 2, 2}}},
    {"counts_shared_column", {{"through_shared", 1, 0, 128, 1, 4, 2, 2 * 32, 2 * 31}}},
    {"counts_shared_padded_column", {{"through_shared", 1, 0, 128, 1, 4, 2, 2, 0}}},
    {"counts_shared_column_of_a_partial_warp", {{"through_shared", 1, 0, 80, 1, 3, 2, 2 * 20, 2 * 19}}},
    {"counts_shared_float4_row", {{"vectors_through_shared", 1, 512, 512, 2, 32, 2, 2 * 4, 0}}},
    // Eight lanes at a time want the same four banks.
    {"counts_shared_float4_column",
     {{"vectors_through_shared", 1, 512, 512, 2, 32, 2, 2 * 4 * 8, 2 * 4 * 7}}},
    {"counts_shared_float4_padded_column", {{"vectors_through_shared", 1, 512, 512, 2, 32, 2, 2 * 4, 0}}},
    {"counts_shared_float2_row", {{"vectors_through_shared", 1, 256, 256, 2, 16, 2, 2 * 2, 0}}},
    {"counts_shared_float2_stride_2", {{"vectors_through_shared", 1, 256, 256, 2, 16, 2, 2 * 2 * 2, 2 * 2}}},
};

class Counts : public testing::TestWithParam<Known> {};

TEST_P(Counts, AreWhatIsKnownInWhateverOrderTheThreadsRun) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    EXPECT_EQ(counts_of(GetParam().program, seed), GetParam().counts) << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Gpu, Counts, testing::ValuesIn(known),
                         [](const auto& named) { return std::string(named.param.program); });

TEST(Counts, AreOfCasesThatAskForThem) {
  EXPECT_EQ(counts_of("counts_coalesced", 1, false), CountsByKernel());
}

TEST(Counts, BeginAnewWithEachCase) {
  EXPECT_EQ(counts_of("counts_coalesced", 1), counts_of("counts_coalesced", 1));
}

}  // namespace

}  // namespace gpu

}  // namespace course
