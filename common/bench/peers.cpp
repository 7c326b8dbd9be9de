#include "bench/peers.hpp"

#include <algorithm>

namespace course::bench {

namespace {

namespace fs = std::filesystem;

std::shared_ptr<Worker> start_peer(const std::string& name, const fs::path& python, const fs::path& problems,
                                   int core, const std::vector<std::string>& more) {
  std::vector<std::string> command{python,   COURSE_BENCH_PEER, "--problems",
                                   problems, "--core",          std::to_string(core)};
  command.insert(command.end(), more.begin(), more.end());
  return std::make_shared<Worker>(name, command);
}

}  // namespace

std::shared_ptr<Worker> start_torch(const fs::path& python, const fs::path& problems, int core) {
  return start_peer("torch", python, problems, core, {});
}

Workers start_peer_ring(const fs::path& python, const fs::path& problems, const std::vector<int>& cores,
                        bool causal) {
  const fs::path meet = problems / "meet";
  fs::create_directories(problems);
  fs::remove(meet);  // a file of an earlier run would be taken for this one's
  Workers workers;
  for (const int rank : {0, 1}) {
    std::vector<std::string> more{"--rank", std::to_string(rank), "--meet", fs::absolute(meet)};
    if (causal) more.push_back("--causal");
    workers.push_back(start_peer("ring-attention-pytorch", python, problems, cores.at(rank), more));
  }
  return workers;
}

std::set<pid_t> pids_of(const Workers& workers) {
  std::set<pid_t> pids;
  for (const auto& worker : workers) pids.insert(worker->pid());
  return pids;
}

Contender worked(std::string name, double operations, Workers workers, const std::string& task) {
  const auto worst = [workers = std::move(workers), task](const std::string& verb) {
    for (const auto& worker : workers) worker->request(verb + " " + task);
    double number = 0;
    for (const auto& worker : workers) number = std::max(number, worker->answer());
    return number;
  };
  const auto seconds = [worst](int calls) {
    double sum = 0;
    for (int i = 0; i < calls; ++i) sum += worst("time");
    return sum / calls;
  };
  return {std::move(name), operations, seconds, [worst] { return worst("check"); }};
}

}  // namespace course::bench
