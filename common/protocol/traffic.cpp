#include "protocol/traffic.hpp"

namespace course {

namespace {

constexpr auto npos = std::string_view::npos;

}  // namespace

/// MPI_Issend, MPI_Sendrecv, MPI_Send_init, ncclSend: no collective is called so.
bool is_point_to_point(std::string_view call) {
  return call.empty() || call.find("send") != npos || call.find("Send") != npos;
}

std::map<int, std::int64_t> messages_by_peer(const Traffic& traffic) {
  std::map<int, std::int64_t> bytes;
  for (const Sent& sent : traffic) {
    if (is_point_to_point(sent.call)) bytes[sent.to] += sent.bytes;
  }
  return bytes;
}

std::map<int, std::int64_t> bytes_by_peer(const Traffic& traffic) {
  std::map<int, std::int64_t> bytes;
  for (const Sent& sent : traffic) bytes[sent.to] += sent.bytes;
  return bytes;
}

Traffic traffic_of(const std::map<int, std::int64_t>& bytes_sent_to, const std::string& call) {
  Traffic traffic;
  for (const auto& [to, bytes] : bytes_sent_to) traffic.push_back({.call = call, .to = to, .bytes = bytes});
  return traffic;
}

}  // namespace course
