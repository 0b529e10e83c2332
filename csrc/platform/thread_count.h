// The number of threads for this process, by its cgroups and the flag.
#pragma once

#include <string>

namespace dygraph {

// Whole cores of the smallest quota (rounded down, at least 1) that limits the groups which
// `groups`, a text as /proc/self/cgroup, names, and all groups above them; 0 where none is limited.
// `root` is where the groups' files lie: cpu.max (version 2), or cpu.cfs_quota_us and
// cpu.cfs_period_us below cpu/ or cpu,cpuacct/ (version 1).
int QuotaCores(const std::string& groups, const std::string& root);

// By affinity mask and cgroup quota, at least 1.
int AvailableCores();

// After flags have changed: FLAGS_num_threads above 0 is a SetNumThreads.
void ReadThreadFlag();

}  // namespace dygraph
