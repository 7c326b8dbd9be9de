#include <algorithm>
#include <iterator>
#include <utility>

#include "mpi_layer/recorder.hpp"

namespace course::mpi_layer {

MPI_Request OpenRequests::add(Operation operation) {
  Operation& kept = operations.emplace_back(std::move(operation));
  by_request_.emplace(kept.request, std::prev(operations.end()));
  if (kept.extent.begin == nullptr) return kept.request;
  if (by_begin_.empty()) longest_ = 0;
  by_begin_.emplace(kept.extent.begin, &kept);
  longest_ = std::max(longest_, kept.extent.end - kept.extent.begin);
  return kept.request;
}

Operation* OpenRequests::find(MPI_Request request) {
  const auto [first, end] = by_request_.equal_range(request);
  return first == end ? nullptr : &*first->second;
}

const OpenRequests::Ended* OpenRequests::ended(MPI_Request request) {
  const auto found = find(request) == nullptr ? ended_.find(request) : ended_.end();
  return found == ended_.end() ? nullptr : &found->second;
}

/// With MPI_PROC_NULL all may have one request, which never ends.
void OpenRequests::note_end(const Operation& operation, const char* by) {
  if (operation.internal || (operation.kind != Kind::Collective && operation.peer == MPI_PROC_NULL)) return;
  ended_.insert_or_assign(operation.request, Ended{operation.description(), by});
}

std::vector<Operation*> OpenRequests::overlapping(const Extent& extent) {
  std::vector<Operation*> found;
  for (auto one = by_begin_.lower_bound(extent.end); one != by_begin_.begin();) {
    --one;
    if (extent.begin - one->first >= longest_) break;
    if (one->second->extent.overlaps(extent)) found.push_back(one->second);
  }
  return found;
}

OpenRequests::Place OpenRequests::take_request(const Operation& operation) {
  auto [one, end] = by_request_.equal_range(operation.request);
  while (one != end && &*one->second != &operation) ++one;
  if (one == end) return operations.end();
  const Place place = one->second;
  by_request_.erase(one);
  return place;
}

void OpenRequests::hide(const Operation& operation) {
  take_request(operation);
}

void OpenRequests::remove(const Operation& operation) {
  auto [one, end] = by_begin_.equal_range(operation.extent.begin);
  while (one != end && one->second != &operation) ++one;
  if (one != end) by_begin_.erase(one);
  operations.erase(take_request(operation));
}

}  // namespace course::mpi_layer
