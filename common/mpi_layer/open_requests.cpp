#include "mpi_layer/open_requests.hpp"

#include <algorithm>
#include <utility>

namespace course::mpi_layer {

Operation* OpenRequests::find(MPI_Request request) {
  const auto found = by_request_.lower_bound(request);
  return found == by_request_.end() || found->first != request ? nullptr : &*found->second;
}

Operation& OpenRequests::add(Operation operation) {
  operations_.push_back(std::move(operation));
  by_request_.emplace(operations_.back().request, std::prev(operations_.end()));
  return operations_.back();
}

void OpenRequests::remove(const Operation& operation) {
  const auto entry = entry_of(operation);
  operations_.erase(entry->second);
  by_request_.erase(entry);
}

void OpenRequests::release(Operation& operation) {
  operation.released = true;
  by_request_.erase(entry_of(operation));
}

std::list<Operation> OpenRequests::take() {
  by_request_.clear();
  return std::move(operations_);
}

OpenRequests::ByRequest::iterator OpenRequests::entry_of(const Operation& operation) {
  const auto [begin, end] = by_request_.equal_range(operation.request);
  return std::find_if(begin, end, [&](const auto& entry) { return &*entry.second == &operation; });
}

}  // namespace course::mpi_layer
