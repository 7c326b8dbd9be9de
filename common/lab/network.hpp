#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runner/launcher.hpp"

namespace course::lab {

/// How the link between the ranks is to be.
struct LinkOrder {
  double bandwidth;      ///< bits a second
  double latency_s = 0;  ///< one way, beyond what the link has
  bool two_hosts = false;
  int cards = 1;  ///< of each of two hosts, 1 to 8, with a cable of `bandwidth` from each to its like
};

/// The network that a laboratory's ranks talk through. It lives in network namespaces of this process and its
/// children that have no name, so that the kernel takes them away, with all that is in them, when the last of
/// those processes has ended, whatever ended it: nothing is left to clean up.
///
/// One host: a namespace whose loopback has a token bucket, which all ranks share, both ways.
/// Two hosts: two namespaces joined by a veth pair for each card, with a token bucket at each end: one each
/// way. What goes to a rank goes by the cable of its card, and its card is its number on its host, modulo the
/// cards.
class Network {
 public:
  /// Moves this process into a namespace of its own and sets the link up. Without root it tries a user
  /// namespace. Where the machine does not allow that, one host gets the loopback as it is, and limits() says
  /// so; two hosts are an Unavailable.
  /// @param temporary where the launch agent is written
  /// @throws Unavailable, std::runtime_error with what ip or tc said
  Network(const LinkOrder& order, const std::filesystem::path& temporary);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// What starts ranks that talk through TCP over this network.
  Starter starter(int ranks) const;
  /// A player's command, with which each rank listens at its own card.
  std::vector<std::string> player(const std::filesystem::path& program) const;

  /// Why the link is not shaped; empty if it is.
  const std::string& limits() const { return limits_; }
  /// The link in a sentence for people.
  std::string description() const;

 private:
  class Host;

  void set_up_two_hosts(const std::filesystem::path& temporary);

  LinkOrder order_;
  std::string limits_;
  std::unique_ptr<Host> other_;  ///< the second host
  std::filesystem::path agent_;  ///< starts Open MPI's daemon on it
};

/// The commands that shape a device: a token bucket, and with a latency a delay before it.
std::vector<std::string> shaping_commands(const std::string& device, const LinkOrder& order);

}  // namespace course::lab
