#include "lab/repeated.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "demo/exchange.hpp"
#include "mpi_layer/operation.hpp"

namespace course::lab {

Repeated::Repeated(std::string name, Call call, Look look, MPI_Comm comm)
    : name_(std::move(name)), call_(std::move(call)), look_(look), comm_(comm) {}

void Repeated::again() {
  recordings_.push_back(record(call_, comm_));
  seconds_.push_back(demo::largest({recordings_.back().end_s - recordings_.back().begin_s}, comm_)[0]);
}

std::size_t Repeated::looked_at() const {
  std::vector<std::size_t> order(seconds_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [this](std::size_t i) { return seconds_.at(i); });
  return order.at(look_ == Look::Fastest ? 0 : (order.size() - 1) / 2);
}

CallResult Repeated::collect() {
  const double offset_s = demo::clock_offset_s(comm_);
  demo::RankResult own = recording().result;
  mpi_layer::check(MPI_Comm_rank(comm_, &own.trace.rank), [] { return "MPI_Comm_rank"; });
  for (Span& span : own.trace.spans) {
    span.begin_s += offset_s;
    span.end_s += offset_s;
  }
  CallResult result{name_, seconds(), static_cast<int>(seconds_.size()), {}};
  for (const std::string& text : demo::gather_texts(demo::to_text(own), comm_)) {
    result.ranks.push_back(demo::rank_result_from(text));
  }
  return result;
}

}  // namespace course::lab
