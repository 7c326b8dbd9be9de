#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/device/attention.hpp"
#include "bench/device/options.hpp"
#include "bench/device/simulated_ranks.hpp"
#include "bench/device/stopwatch.hpp"
#include "bench/device/timings.hpp"
#include "cuda_ring.hpp"
#include "gpu/rank_device.hpp"
#include "lesson/nccl_check.hpp"
#include "lesson/not_implemented.hpp"
#include "protocol/errors.hpp"

namespace course::bench::device {

namespace {

/// MPI, with threads where a transport through the host needs them.
class Mpi {
 public:
  Mpi(int* argc, char*** argv) {
    int level = 0;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~Mpi() { MPI_Finalize(); }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;
  int rank() const { return rank_; }
  int size() const { return size_; }

 private:
  int rank_ = 0, size_ = 1;
};

/// Lesson 12's rings with the kernels of lessons 10 and 11, on shards of equal length.
class RingRank {
 public:
  RingRank(const Mpi& mpi, const Sizes& sizes, const Stream& stream)
      : mpi_(mpi),
        tokens_(mpi.size(), sizes.tokens / mpi.size()),
        rank_(sizes.heads, tokens_[0], tokens_[0], sizes.ring_head_dim, mpi.rank(), stream),
        comm_(lesson12::connect(MPI_COMM_WORLD)) {}
  ~RingRank() { ncclCommDestroy(comm_); }
  RingRank(const RingRank&) = delete;
  RingRank& operator=(const RingRank&) = delete;

  void forward() const {
    rank_.forget();
    lesson12::ring_attention(rank_.k.get(), rank_.v.get(), shards(),
                             {[this](const float* k, const float* v, int owner, cudaStream_t in) {
                                rank_.see(k, v, tokens_[owner], in);
                              },
                              [this](cudaStream_t in) { rank_.finish(in); }},
                             comm_, rank_.stream.get());
  }

  void begin_backward() const { rank_.begin_backward(); }
  void backward() const {
    lesson12::ring_backward(
        rank_.k.get(), rank_.v.get(), rank_.dk.get(), rank_.dv.get(), shards(),
        {[this](const float* k, const float* v, int owner, float* dk, float* dv, cudaStream_t in) {
          rank_.add_gradients(k, v, tokens_[owner], dk, dv, in);
        }},
        comm_, rank_.stream.get());
  }

  /// The largest of all ranks. Comes after forward() alone, or after begin_backward() and one backward().
  double error(bool backward) const {
    const Reference reference = reference_of(mpi_.size(), tokens_[0], rank_.head_dim);
    const int first = mpi_.rank() * tokens_[0];
    double own = backward ? rank_.backward_error(reference, first, of_all(rank_.lse), of_all(rank_.delta))
                          : rank_.forward_error(reference, first);
    if (std::isnan(own)) own = INFINITY;
    MPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return own;
  }

  /// The median of the slowest rank's times; all ranks begin together.
  double seconds(const Effort& effort, const std::function<void()>& work) const {
    std::vector<double> all = all_seconds(effort, rank_.stream, work, [] { MPI_Barrier(MPI_COMM_WORLD); });
    MPI_Allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(all.size()), MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
    return median(std::move(all));
  }

  /// Of all ranks together.
  double operations(bool backward) const {
    const int keys = tokens_[0] * mpi_.size();
    return mpi_.size() * (backward ? rank_.backward_operations(keys) : rank_.forward_operations(keys));
  }

 private:
  lesson12::Shards shards() const { return {tokens_, rank_.heads, rank_.head_dim}; }

  std::vector<float> of_all(const DeviceFloats& tensor) const {
    const std::vector<float> own = rank_.of_head_0(tensor);
    std::vector<float> all(own.size() * mpi_.size());
    MPI_Allgather(own.data(), static_cast<int>(own.size()), MPI_FLOAT, all.data(),
                  static_cast<int>(own.size()), MPI_FLOAT, MPI_COMM_WORLD);
    return all;
  }

  const Mpi& mpi_;
  std::vector<int> tokens_;
  Attention rank_;
  ncclComm_t comm_;
};

/// What one call for all tokens takes, on rank 0 while the others wait.
double seconds_of_one_call(const Mpi& mpi, const Sizes& sizes, const Stream& stream, bool backward) {
  double seconds = 0;
  if (mpi.rank() == 0) {
    const Attention one(sizes.heads, sizes.tokens, sizes.tokens, sizes.ring_head_dim, 0, stream);
    const auto forward_call = [&] { one.see(one.k.get(), one.v.get(), one.tokens, stream.get()); };
    one.forget();
    forward_call();
    one.finish(stream.get());
    one.begin_backward();
    seconds = backward ? median_seconds(sizes.effort, stream,
                                        [&] {
                                          one.add_gradients(one.k.get(), one.v.get(), one.tokens,
                                                            one.dk.get(), one.dv.get(), stream.get());
                                        })
                       : median_seconds(sizes.effort, stream, forward_call);
  }
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return seconds;
}

void time_pass(Timings& timings, const Mpi& mpi, const Options& options, const RingRank& ring,
               const Stream& stream, bool backward) {
  const std::string pass = backward ? ", backward" : ", forward";
  const std::string ranks = std::to_string(mpi.size()) + " ranks on one device through " + options.transport;
  const std::string alone = "all tokens in one call" + pass;
  const std::string together = "ring of " + ranks + pass;
  const std::function<void()> work = [&] { backward ? ring.backward() : ring.forward(); };
  if (backward) ring.begin_backward();
  work();
  require_right(together, ring.error(backward));
  const double one = seconds_of_one_call(mpi, options.sizes, stream, backward);
  const double seconds = ring.seconds(options.sizes.effort, work);
  const double operations = 1e-9 * ring.operations(backward);
  timings.add({.name = alone, .limited_by = "as that pass without a ring"}, operations / one);
  timings.add({.name = together,
               .against = alone,
               .limited_by = "the device, which processes have in turns, and the messages"},
              operations / seconds);
}

int run(const Mpi& mpi, Options options) {
  choose_device(MPI_COMM_WORLD);
  if (mpi.rank() != 0) options.rows.clear();
  const auto facts = about(options.sizes);
  Timings timings(options.rows, facts, is_simulated);
  const Stream stream;
  const SimulatedRanks ranks;
  {
    const RingRank ring(mpi, options.sizes, stream);
    for (const bool backward : {false, true}) time_pass(timings, mpi, options, ring, stream, backward);
  }
  if (mpi.rank() == 0) std::printf("%s%s", heading(facts).c_str(), table_text(timings.rows()).c_str());
  return succeeded;
}

/// What one rank throws ends all of them: the others would wait for it.
[[noreturn]] void end_all(const std::exception& error, ExitCode code) {
  std::fprintf(stderr, "device_ring: %s\n", error.what());
  MPI_Abort(MPI_COMM_WORLD, code);
  std::abort();
}

}  // namespace

}  // namespace course::bench::device

/// Times lesson 12's rings: mpirun -n RANKS device_ring. Ranks take the devices that they see in turn.
int main(int argc, char** argv) {
  using namespace course;
  const bench::device::Mpi mpi(&argc, &argv);
  try {
    return bench::device::run(mpi, bench::device::parse_options(argc, argv));
  } catch (const std::invalid_argument& error) {
    bench::device::end_all(error, wrong_usage);
  } catch (const bench::device::WrongAnswer& error) {
    bench::device::end_all(error, failed);
  } catch (const NotImplemented& error) {
    bench::device::end_all(error, failed);
  } catch (const std::exception& error) {
    bench::device::end_all(error, unavailable);
  }
}
