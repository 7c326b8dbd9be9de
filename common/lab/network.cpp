#include "lab/network.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "course/terminal/terminal.hpp"
#include "course/workspace/checkout.hpp"
#include "lab/quantity.hpp"
#include "protocol/errors.hpp"
#include "runner/descriptor.hpp"
#include "runner/mpirun.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::lab {

namespace {

constexpr double patience_s = 20;
constexpr int addresses_of_cable = 16;

/// Of the documentation's addresses (RFC 5737), which no network uses: sixteen for each cable.
std::string address(int cable, int end) {
  return fmt::format("192.0.2.{}", addresses_of_cable * cable + end);
}
std::string own_address(int cable) {
  return address(cable, 1);
}
std::string other_address(int cable) {
  return address(cable, 2);
}
std::string subnet(int cable) {
  return address(cable, 0) + "/28";
}

/// TCP that neither probes for bandwidth nor starts small: the token bucket alone is to limit it. Reno is in
/// every kernel and never loses a packet here, where the queue is longer than the window. And packets may
/// come by another cable than an answer would take: each goes by the cable of the rank that it goes to.
constexpr std::pair<const char*, const char*> tcp_settings[] = {
    {"/proc/sys/net/ipv4/tcp_congestion_control", "reno"},
    {"/proc/sys/net/ipv4/tcp_rmem", "4096 2097152 33554432"},
    {"/proc/sys/net/ipv4/tcp_wmem", "4096 2097152 4194304"},
    {"/proc/sys/net/ipv4/conf/all/rp_filter", "0"},
    {"/proc/sys/net/ipv4/conf/default/rp_filter", "0"}};

/// Throws std::system_error, with what the system could not do, unless a call has returned 0 or more.
void require(int returned, const std::string& what) {
  if (returned < 0) throw std::system_error(errno, std::generic_category(), what);
}

/// Writes where the kernel listens, which knows no file that takes another's place.
void tell_kernel(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw std::runtime_error(std::string("cannot write ") + path);
}

/// Throws std::runtime_error with the command and what it said unless it succeeds.
void command(const std::string& line) {
  const Captured said = capture({.argv = program::words_of(line), .limit_s = patience_s});
  if (said.exit.code != 0) throw std::runtime_error(line + ": " + said.first_line());
}

/// Makes this process root in a user namespace of its own; it stays who it is outside.
void map_to_root(uid_t user, gid_t group) {
  tell_kernel("/proc/self/setgroups", "deny");
  tell_kernel("/proc/self/uid_map", fmt::format("0 {} 1", user));
  tell_kernel("/proc/self/gid_map", fmt::format("0 {} 1", group));
}

/// Why this machine cannot give a process a network of its own with such a link, or nothing. Tried in a
/// process that ends: one that had left its network for a useless one could not come back.
std::string obstacle_to(const LinkOrder& order) {
  for (const char* name : {"ip", "tc", "unshare", "nsenter"}) {
    if (program::find_program(name).empty())
      return fmt::format("there is no {} on this machine: install iproute2 and util-linux", name);
  }
  std::string line = "ip link set lo up";
  for (const std::string& shaping : shaping_commands("lo", order)) line += " && " + shaping;
  for (const auto& [path, value] : tcp_settings) line += fmt::format(" && echo '{}' >{}", value, path);
  std::vector<std::string> trial{"unshare", "--net", "--uts", "sh", "-c", line};
  if (geteuid() != 0) trial.insert(trial.begin() + 1, {"--user", "--map-root-user"});
  const Captured said = capture({.argv = trial, .limit_s = patience_s});
  if (said.exit.code == 0) return "";
  return fmt::format("this machine allows no shaped network of one's own{} ({})",
                     geteuid() == 0 ? "" : " without root", said.first_line());
}

/// Moves this process into a network of its own, as root of a user namespace where it is not root already.
void leave_network() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  require(unshare((user == 0 ? 0 : CLONE_NEWUSER) | CLONE_NEWNET | CLONE_NEWUTS), "unshare");
  if (user != 0) map_to_root(user, group);
}

void name_host(const std::string& name) {
  require(sethostname(name.data(), name.size()), "cannot name a host");
}

void settle_tcp() {
  for (const auto& [path, value] : tcp_settings) tell_kernel(path, value);
}

}  // namespace

/// A host's network and name, in namespaces that last as long as this process or another one has them open.
class Network::Host {
 public:
  /// Makes them and comes back to this process's own.
  explicit Host(const std::string& name) {
    const Descriptor own_network = opened("net"), own_names = opened("uts");
    if (unshare(CLONE_NEWNET | CLONE_NEWUTS) != 0)
      throw Unavailable("this machine allows no second network namespace");
    name_host(name);
    settle_tcp();
    network_ = opened("net");
    names_ = opened("uts");
    require(setns(own_network.get(), CLONE_NEWNET), "setns");
    require(setns(own_names.get(), CLONE_NEWUTS), "setns");
  }

  /// As another process can name it.
  std::string network() const { return path_of(network_); }

  /// A command as it is run on this host.
  std::string inside(const std::string& line) const {
    return fmt::format("nsenter --net={} --uts={} {}", path_of(network_), path_of(names_), line);
  }

 private:
  static Descriptor opened(const std::string& kind) {
    const std::string path = "/proc/self/ns/" + kind;
    Descriptor found(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    require(found.get(), path);
    return found;
  }

  static std::string path_of(const Descriptor& descriptor) {
    return fmt::format("/proc/{}/fd/{}", getpid(), descriptor.get());
  }

  Descriptor network_;
  Descriptor names_;
};

std::vector<std::string> shaping_commands(const std::string& device, const LinkOrder& order) {
  // A bucket holds two of the largest packets, since a smaller one would cut them up; its queue is longer
  // than all that TCP may have on its way, since what is dropped would be sent again.
  const std::string add = "tc qdisc add dev " + device;
  const std::string bucket = fmt::format("tbf rate {:.0f}bit burst 131072 limit 67108864", order.bandwidth);
  if (order.latency_s == 0) return {add + " root " + bucket};
  return {fmt::format("{} root handle 1: netem delay {:.0f}us limit 100000", add, order.latency_s * 1e6),
          add + " parent 1:1 handle 10: " + bucket};
}

/// The commands that set up one end of a cable between two hosts.
static std::vector<std::string> end_commands(const std::string& device, const std::string& address,
                                             const LinkOrder& order) {
  std::vector<std::string> lines = shaping_commands(device, order);
  lines.insert(lines.begin(), {fmt::format("ip addr add {}/28 dev {}", address, device),
                               fmt::format("ip link set {} up", device)});
  return lines;
}

Network::Network(const LinkOrder& order, const std::filesystem::path& temporary) : order_(order) {
  if (const std::string obstacle = obstacle_to(order); !obstacle.empty()) {
    if (order.two_hosts) throw Unavailable("two hosts cannot be made here: " + obstacle);
    if (order.latency_s > 0)
      throw Unavailable("--latency needs the kernel's netem (sch_netem) beside its token bucket: " +
                        obstacle);
    limits_ =
        obstacle +
        ". The ranks talk over this machine's own loopback, which is as fast as memory: what a slow link "
        "does to a ring cannot be shown on it";
    return;
  }
  leave_network();
  settle_tcp();
  command("ip link set lo up");
  if (order.two_hosts) {
    set_up_two_hosts(temporary);
  } else {
    for (const std::string& shaping : shaping_commands("lo", order_)) command(shaping);
  }
}

Network::~Network() = default;

void Network::set_up_two_hosts(const std::filesystem::path& temporary) {
  name_host("host-a");
  other_ = std::make_unique<Host>("host-b");
  command(other_->inside("ip link set lo up"));
  for (int cable = 0; cable < order_.cards; ++cable) {
    const std::string here = fmt::format("link-a{}", cable), there = fmt::format("link-b{}", cable);
    command(fmt::format("ip link add {} type veth peer name {} netns {}", here, there, other_->network()));
    for (const std::string& line : end_commands(here, own_address(cable), order_)) command(line);
    for (const std::string& line : end_commands(there, other_address(cable), order_))
      command(other_->inside(line));
  }
  agent_ = temporary / "agent";
  write_text(
      agent_,
      "#!/bin/sh\n# mpirun calls this as it would call ssh: a host's name, then a command.\nshift\nexec " +
          other_->inside("/bin/sh -c \"$*\"\n"));
  chmod(agent_.c_str(), 0700);
}

Starter Network::starter(int ranks) const {
  Starter starter{mpirun(ranks), mpirun_environment()};
  const std::string interface = other_ ? subnet(0) : "lo";
  starter.environment["OMPI_MCA_btl"] = "self,tcp";
  starter.environment["OMPI_MCA_btl_tcp_if_include"] = interface;
  starter.environment["OMPI_MCA_oob_tcp_if_include"] = interface;
  // Over one connection a control message waits behind the data that go the other way, and the two directions
  // take turns.
  starter.environment["OMPI_MCA_btl_tcp_links"] = "2";
  if (!other_) return starter;
  const int own = (ranks + 1) / 2;
  starter.words.insert(starter.words.end(), {"--host", fmt::format("{}:{},{}:{}", own_address(0), own,
                                                                   other_address(0), ranks - own)});
  starter.environment["OMPI_MCA_plm_rsh_agent"] = agent_;
  return starter;
}

std::vector<std::string> Network::player(const std::filesystem::path& program) const {
  if (order_.cards == 1) return {program};
  // mpirun starts all ranks with the same words.
  constexpr const char* at_its_card =
      "export OMPI_MCA_btl_tcp_if_include=192.0.2.$(({} * (OMPI_COMM_WORLD_LOCAL_RANK % {})))/28; exec "
      "\"$0\" \"$@\"";
  return {"sh", "-c", fmt::format(at_its_card, addresses_of_cable, order_.cards), program};
}

std::string Network::description() const {
  if (!limits_.empty()) return "this machine's loopback, not shaped, through TCP";
  const std::string latency =
      order_.latency_s > 0 ? fmt::format(" and {:g} ms of delay each way", order_.latency_s * 1e3) : "";
  if (other_) {
    const std::string cables = order_.cards == 1 ? "a link" : fmt::format("{} cables", order_.cards);
    return fmt::format("two hosts (network namespaces of this machine), {} of {} each way{}, through TCP",
                       cables, format_bandwidth(order_.bandwidth), latency);
  }
  return fmt::format("one host, a loopback of {} shared by all ranks{}, through TCP",
                     format_bandwidth(order_.bandwidth), latency);
}

}  // namespace course::lab
