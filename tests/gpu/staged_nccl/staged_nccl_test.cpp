#include <gtest/gtest.h>
#include <mpi.h>
#include <nccl.h>

#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

// NCCL's calls through the host's memory, on every number of ranks that mpirun starts. Each rank runs all
// tests; what one finds, it says.

namespace {

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

class Stream {
 public:
  Stream() { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }
  void finish() const {
    cudaEvent_t reached = nullptr;
    cudaEventCreateWithFlags(&reached, cudaEventDisableTiming);
    cudaEventRecord(reached, stream_);
    cudaEventSynchronize(reached);
    cudaEventDestroy(reached);
  }
  /// What comes next has to wait.
  void delay() const {
    const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(30)); };
    ASSERT_EQ(cudaLaunchHostFunc(stream_, sleep, nullptr), cudaSuccess);
  }

 private:
  cudaStream_t stream_ = nullptr;
};

class StagedNccl : public ::testing::Test {
 protected:
  StagedNccl() {
    ncclUniqueId id{};
    if (rank == size - 1) ncclGetUniqueId(&id);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, size - 1, MPI_COMM_WORLD);
    EXPECT_EQ(ncclCommInitRank(&comm, size, id, rank), ncclSuccess);
  }
  ~StagedNccl() override { EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess); }

  const int rank = world_rank(), size = world_size();
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  ncclComm_t comm = nullptr;
};

/// Numbers that tell whose they are.
std::vector<float> numbers_of(int rank, std::size_t count) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1000.0f * static_cast<float>(rank));
  return numbers;
}

TEST_F(StagedNccl, KnowsItsRanks) {
  int ranks = 0, own = -1;
  EXPECT_EQ(ncclCommCount(comm, &ranks), ncclSuccess);
  EXPECT_EQ(ncclCommUserRank(comm, &own), ncclSuccess);
  EXPECT_EQ(ranks, size);
  EXPECT_EQ(own, rank);
}

TEST_F(StagedNccl, BlocksOfOddLengthsGoRoundTheRing) {
  const Stream stream;
  constexpr std::size_t most = 300;
  const auto length = [](int owner) { return static_cast<std::size_t>(97 * owner % 300); };
  std::vector<float> held = numbers_of(rank, most), arriving(most);
  for (int hop = 1; hop <= size; ++hop) {
    const int sent = (rank + size - hop + 1) % size, received = (rank + size - hop) % size;
    stream.delay();
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    ASSERT_EQ(ncclSend(held.data(), length(sent), ncclFloat32, next, comm, stream), ncclSuccess);
    ASSERT_EQ(ncclRecv(arriving.data(), length(received), ncclFloat32, previous, comm, stream), ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    stream.finish();
    const std::vector<float> expected = numbers_of(received, length(received));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), arriving.begin())) << "hop " << hop;
    std::swap(held, arriving);
  }
}

TEST_F(StagedNccl, TakesWhatItsStreamHasMadeAndNotWhatWasThere) {
  const Stream stream;
  std::vector<float> made(50, -1.0f), late = numbers_of(rank, 50), arrived(50);
  stream.delay();
  cudaMemcpyAsync(made.data(), late.data(), 200, cudaMemcpyDeviceToDevice, stream);
  ncclGroupStart();
  ncclSend(made.data(), 50, ncclFloat32, next, comm, stream);
  ncclRecv(arrived.data(), 50, ncclFloat32, previous, comm, stream);
  ncclGroupEnd();
  stream.finish();
  EXPECT_EQ(arrived, numbers_of(previous, 50));
}

TEST_F(StagedNccl, CallsOnOneCommunicatorKeepTheirOrderWhateverTheirStreams) {
  const Stream slow, fast;
  const std::vector<float> first = numbers_of(rank, 40), second = numbers_of(rank + 50, 40);
  std::vector<float> first_arrived(40), second_arrived(40);
  // One rank's first stream is late: its second group must not meet another rank's first.
  if (rank == 0) slow.delay();
  for (const bool is_first : {true, false}) {
    cudaStream_t stream = is_first ? slow : fast;
    ncclGroupStart();
    ncclSend((is_first ? first : second).data(), 40, ncclFloat32, next, comm, stream);
    ncclRecv((is_first ? first_arrived : second_arrived).data(), 40, ncclFloat32, previous, comm, stream);
    ncclGroupEnd();
  }
  slow.finish();
  fast.finish();
  EXPECT_EQ(first_arrived, numbers_of(previous, 40));
  EXPECT_EQ(second_arrived, numbers_of(previous + 50, 40));
}

TEST_F(StagedNccl, AGroupHoldsUpAllOfItsStreams) {
  const Stream one, other;
  const std::vector<float> own = numbers_of(rank, 40);
  std::vector<float> arrived(40), copied(40);
  if (rank == 0) one.delay();
  ncclGroupStart();
  ncclRecv(arrived.data(), 40, ncclFloat32, previous, comm, one);
  ncclSend(own.data(), 40, ncclFloat32, next, comm, other);
  ncclGroupEnd();
  cudaMemcpyAsync(copied.data(), arrived.data(), 160, cudaMemcpyDeviceToDevice, other);
  other.finish();
  EXPECT_EQ(copied, numbers_of(previous, 40));
}

TEST_F(StagedNccl, CollectivesSumGatherAndSpread) {
  const Stream stream;
  const auto count = static_cast<std::size_t>(3 * size);
  const std::vector<float> own = numbers_of(rank, count);
  std::vector<float> spread(count), sum(count), part(3), all(count * static_cast<std::size_t>(size));
  const int root = size - 1;
  ncclBroadcast(own.data(), spread.data(), count, ncclFloat32, root, comm, stream);
  ncclAllReduce(own.data(), sum.data(), count, ncclFloat32, ncclSum, comm, stream);
  ncclReduceScatter(own.data(), part.data(), 3, ncclFloat32, ncclSum, comm, stream);
  ncclAllGather(own.data(), all.data(), count, ncclFloat32, comm, stream);
  stream.finish();
  EXPECT_EQ(spread, numbers_of(root, count));
  std::vector<float> expected_sum(count), expected_all;
  for (int r = 0; r < size; ++r) {
    const std::vector<float> theirs = numbers_of(r, count);
    for (std::size_t i = 0; i < count; ++i) expected_sum[i] += theirs[i];
    expected_all.insert(expected_all.end(), theirs.begin(), theirs.end());
  }
  EXPECT_EQ(sum, expected_sum);
  EXPECT_EQ(all, expected_all);
  const auto mine = expected_sum.begin() + 3 * rank;
  EXPECT_EQ(part, std::vector<float>(mine, mine + 3));
}

TEST_F(StagedNccl, RefusesWhatNcclRefuses) {
  const Stream stream;
  float number = 0;
  EXPECT_EQ(ncclSend(&number, 1, ncclFloat32, 0, nullptr, stream), ncclInvalidArgument);
  EXPECT_EQ(ncclAllReduce(&number, &number, 1, ncclFloat16, ncclSum, comm, stream), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  ncclComm_t none = nullptr;
  ncclUniqueId unmade{};
  EXPECT_EQ(ncclCommInitRank(&none, size, unmade, rank), ncclInvalidArgument);
  EXPECT_EQ(none, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  ::testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  MPI_Finalize();
  return result;
}
