#include "platform/thread_count.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <sstream>
#include <thread>

namespace dygraph {

namespace {

int WholeCores(double quota, double period) {
  return quota > 0 && period > 0 ? std::max(1, static_cast<int>(quota / period)) : 0;
}

// Version 2: "max 100000" or "150000 100000".
int CoresOf2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max") return 0;
  return WholeCores(std::atof(quota.c_str()), period);
}

// Version 1: a quota of -1 is none.
int CoresOf1(const std::string& folder) {
  double quota = 0, period = 0;
  std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
  std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  return WholeCores(quota, period);
}

// The least of `path` below `base` and every folder between them; `base` itself counts.
int Least(const std::string& base, std::string path, int (*cores_of)(const std::string&)) {
  int least = 0;
  while (!path.empty() && path.back() == '/') path.pop_back();
  for (;; path.erase(path.rfind('/'))) {
    int cores = cores_of(base + path);
    if (cores && (!least || cores < least)) least = cores;
    if (path.rfind('/') == std::string::npos) return least;
  }
}

bool Lists(const std::string& controllers, const std::string& name) {
  std::istringstream text(controllers);
  for (std::string one; std::getline(text, one, ',');) {
    if (one == name) return true;
  }
  return false;
}

}  // namespace

int QuotaCores(const std::string& groups, const std::string& root) {
  int least = 0;
  auto take = [&](int cores) {
    if (cores && (!least || cores < least)) least = cores;
  };
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {  // "number:controllers:/path"
    size_t first = line.find(':');
    size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (controllers.empty()) take(Least(root, path, CoresOf2));
    if (!Lists(controllers, "cpu")) continue;
    for (const std::string& folder : {std::string("cpu"), std::string("cpu,cpuacct"), controllers})
      take(Least(root + "/" + folder, path, CoresOf1));
  }
  return least;
}

namespace {

int AffinityCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());  // more cores than a cpu_set_t holds
}

int CgroupCores() {
  std::ifstream file("/proc/self/cgroup");
  std::string groups{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return QuotaCores(groups, "/sys/fs/cgroup");
}

}  // namespace

int AvailableCores() {
  int cores = AffinityCores();
  int quota = CgroupCores();
  return quota ? std::min(cores, quota) : cores;
}

}  // namespace dygraph
