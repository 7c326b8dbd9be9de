#include "gpu/staged_nccl/exchange.hpp"

#include <algorithm>
#include <utility>

namespace course::gpu::staged {

namespace {

std::vector<std::unique_ptr<Room>> unused;

}  // namespace

void check(cudaError_t result, const char* call) {
  if (result != cudaSuccess) throw CudaFailure(std::string(call) + ": " + cudaGetErrorString(result));
}

Event::Event() {
  check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
}

Room::Room(std::size_t bytes) : bytes_(bytes) {
  void* data = nullptr;
  if (bytes > 0) check(cudaMallocHost(&data, bytes), "cudaMallocHost");
  data_ = static_cast<std::byte*>(data);
}

std::unique_ptr<Room> take_room(std::size_t bytes) {
  const auto found = std::ranges::find_if(
      unused, [&](const auto& room) { return room->bytes() >= bytes && room->bytes() <= 2 * bytes; });
  if (found == unused.end()) return std::make_unique<Room>(bytes);
  std::unique_ptr<Room> room = std::move(*found);
  unused.erase(found);
  return room;
}

void free_rooms() {
  unused.clear();
}

Exchange::Exchange(std::vector<Transfer> transfers, std::span<const cudaEvent_t> earlier)
    : transfers_(std::move(transfers)) {
  const std::vector<cudaStream_t> all = streams();
  const cudaStream_t stream = all.front();
  for (const cudaEvent_t event : earlier) check(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
  for (const cudaStream_t other : all) {
    if (other == stream) continue;
    const Event reached;
    check(cudaEventRecord(reached, other), "cudaEventRecord");
    check(cudaStreamWaitEvent(stream, reached, 0), "cudaStreamWaitEvent");
  }
  for (const Transfer& transfer : transfers_) {
    const Room& room = *from_.emplace_back(take_room(transfer.bytes_from));
    to_.push_back(take_room(transfer.bytes_to));
    if (transfer.bytes_from == 0) continue;
    check(cudaMemcpyAsync(room.data(), transfer.from, transfer.bytes_from, cudaMemcpyDeviceToHost, stream),
          "cudaMemcpyAsync");
  }
  // No call of CUDA's may be made in there. Source: CUDA Runtime API, cudaLaunchHostFunc.
  check(cudaLaunchHostFunc(
            stream, [](void* self) { static_cast<Exchange*>(self)->run(); }, this),
        "cudaLaunchHostFunc");
  for (std::size_t i = 0; i < transfers_.size(); ++i) {
    const Transfer& transfer = transfers_[i];
    if (transfer.bytes_to == 0) continue;
    check(cudaMemcpyAsync(transfer.to, to_[i]->data(), transfer.bytes_to, cudaMemcpyHostToDevice, stream),
          "cudaMemcpyAsync");
  }
  check(cudaEventRecord(done_, stream), "cudaEventRecord");
  for (const cudaStream_t other : all) {
    if (other != stream) check(cudaStreamWaitEvent(other, done_, 0), "cudaStreamWaitEvent");
  }
}

Exchange::~Exchange() {
  cudaEventSynchronize(done_);
  for (auto* rooms : {&from_, &to_}) {
    for (auto& room : *rooms) unused.push_back(std::move(room));
  }
}

void Exchange::run() {
  std::vector<MPI_Request> requests;
  for (std::size_t i = 0; i < transfers_.size(); ++i)
    requests.push_back(transfers_[i].begin(from_[i]->data(), to_[i]->data(), transfers_[i].comm));
  PMPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

std::vector<cudaStream_t> Exchange::streams() const {
  std::vector<cudaStream_t> all;
  for (const Transfer& transfer : transfers_) {
    if (std::ranges::count(all, transfer.stream) == 0) all.push_back(transfer.stream);
  }
  return all;
}

}  // namespace course::gpu::staged
