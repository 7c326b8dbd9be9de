#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

namespace course {

/// Its children, their children, and so on.
std::vector<pid_t> descendants(pid_t ancestor);

/// Sends the signal once to every process that left() names, until it names none, for a second at most.
/// Returns whether none is left.
bool end_all(int signal, const std::function<std::vector<pid_t>()>& left);

/// The same with those that descend from this process, which reaps them. Children that are spared keep their
/// descendants.
bool end_descendants(int signal, const std::set<pid_t>& spared = {});

/// The memory that a process holds at this moment, shared memory included; 0 once it has gone.
std::int64_t resident_bytes(pid_t pid);

/// How long a process's main thread has stood ready to run without a core since it began; 0 where the system
/// does not tell or the process has gone. Source: proc(5), schedstat.
double queued_s(pid_t pid);

/// The pid that a process has for itself, in the innermost of its namespaces; `pid` where that is not told.
pid_t own_pid(pid_t pid);

/// All processes of a user.
std::vector<pid_t> processes_of(uid_t user);

}  // namespace course
