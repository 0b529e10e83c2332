// Memory of the devices. Each device has a large range of addresses that are never used twice.
// Blocks in it have no access rights: when work of a stream touches one, the fault handler opens
// that unit of it, and the end of the work closes it again. Anybody else who touches it ends with a
// line.
#include <dlfcn.h>
#include <pretend_libraries.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <vector>

#include "state.h"

namespace pretend {
namespace {

constexpr size_t kPage = 4096, kHuge = size_t{2} << 20;
constexpr size_t kRange = size_t{1} << 40;  // addresses of a device
constexpr size_t kUnit = size_t{8} << 20;   // opened at once

struct Device {
  char* base = nullptr;
  size_t next = 0, used = 0;
  std::map<char*, size_t> blocks;  // their bytes
};
Device g_devices[kMostDevices];

struct Range {
  size_t bytes;
  bool registered;
};
std::map<char*, Range> g_pinned;

struct Unit {
  char* start;
  size_t bytes;
};
std::vector<Unit> g_open;
const void* g_last = nullptr;  // what was opened first the last time: opened without a fault
long g_touches = 0;
int g_running_device = -1;
struct sigaction g_previous;

// Read by the fault handler.
__attribute__((tls_model("initial-exec"))) thread_local int t_depth = 0;

size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

// The last entry that starts at or before p, or the end.
template <class M>
auto Find(M& ranges, const void* p) {
  auto it = ranges.upper_bound(static_cast<char*>(const_cast<void*>(p)));
  return it == ranges.begin() ? ranges.end() : std::prev(it);
}

// Opens the unit around p; false where no live block is.
bool Open(Device& device, const void* p) {
  auto it = Find(device.blocks, p);
  if (it == device.blocks.end()) return false;
  size_t offset = static_cast<size_t>(static_cast<const char*>(p) - it->first);
  if (offset >= it->second) return false;
  size_t start = offset / kUnit * kUnit;
  Unit unit{it->first + start, std::min(kUnit, it->second - start)};
  mprotect(unit.start, unit.bytes, PROT_READ | PROT_WRITE);
  g_open.push_back(unit);
  return true;
}

void CloseAll() {
  if (!g_open.empty()) g_last = g_open.front().start;
  for (const Unit& unit : g_open) mprotect(unit.start, unit.bytes, PROT_NONE);
  g_open.clear();
}

void Say(const char* what, const void* at, const std::string& where) {
  char text[700];
  int n = snprintf(text, sizeof text, "pretended CUDA: %s at %p%s%s\n", what, at,
                   where.empty() ? "" : ", ", where.c_str());
  n = std::min(n, static_cast<int>(sizeof text) - 1);
  if (write(STDERR_FILENO, text, static_cast<size_t>(n)) < 0) _exit(1);
}

// What a function of the host was touching memory, as far as its symbol is known.
std::string SymbolOf(void* context) {
#ifdef __x86_64__
  Dl_info info;
  auto* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (dladdr(reinterpret_cast<void*>(registers[REG_RIP]), &info) && info.dli_fname) {
    const char* name = info.dli_sname ? info.dli_sname : "a function without a symbol";
    return std::string("in ") + name + " of " + info.dli_fname;
  }
#endif
  (void)context;
  return "";
}

void OnFault(int signal, siginfo_t* info, void* context) {
  int device = DeviceOf(info->si_addr);
  if (t_depth > 0) {  // work of a stream; this thread holds the lock
    bool allowed = device >= 0 && (g_running_device < 0 || g_running_device == device);
    if (allowed && Open(g_devices[device], info->si_addr)) return;
    const char* what = device < 0 ? "work of a stream touched memory that is not there"
                       : allowed  ? "work of a stream touched freed memory, or past its end,"
                                  : "work of a stream touched memory of another device";
    Say(what, info->si_addr, Where());
  } else if (device >= 0) {
    if (g_settings.count) {  // let it go on, but remember
      std::lock_guard<std::recursive_mutex> lock(g_mutex);
      ++g_touches;
      if (Open(g_devices[device], info->si_addr)) return;
    }
    Say("the host touched memory of a device outside of kernels", info->si_addr, SymbolOf(context));
  }
  // The instruction runs again, and whoever was here before us has the last word. He may hand the
  // fault back to us.
  static bool again = false;
  if (again) g_previous.sa_handler = SIG_DFL;
  again = true;
  sigaction(signal, &g_previous, nullptr);
}

void InstallHandler() {
  struct sigaction now;
  sigaction(SIGSEGV, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == OnFault) return;
  g_previous = now;
  struct sigaction ours = {};
  ours.sa_sigaction = OnFault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &ours, nullptr);
}

}  // namespace

int DeviceOf(const void* memory) {
  const char* p = static_cast<const char*>(memory);
  for (int i = 0; i < kMostDevices; ++i) {
    const char* base = g_devices[i].base;
    if (base && p >= base && p < base + kRange) return i;
  }
  return -1;
}

void* Allocate(int device, size_t bytes) {
  InstallHandler();
  Device& d = g_devices[device];
  size_t rounded = RoundUp(bytes, kPage), slot = RoundUp(rounded + kPage, kHuge);
  if (d.used + rounded > static_cast<size_t>(g_settings.memory) || rounded < bytes) return nullptr;
  if (!d.base) {
    void* range = mmap(nullptr, kRange + kHuge, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) return nullptr;
    d.base = reinterpret_cast<char*>(RoundUp(reinterpret_cast<size_t>(range), kHuge));
  }
  if (d.next + slot > kRange) return nullptr;
  char* start = d.base + d.next;
  d.next += slot;
  // Large pages: changing the rights of small ones costs 100 times as much. Neighbours differ in a
  // flag, so that the kernel keeps each unit as one range, which need not be cut when it opens.
  madvise(start, rounded, MADV_HUGEPAGE);
  for (size_t at = kUnit; at < rounded; at += 2 * kUnit) {
    madvise(start + at, std::min(kUnit, rounded - at), MADV_DONTDUMP);
  }
  d.used += rounded;
  d.blocks[start] = rounded;
  return start;
}

bool Free(void* memory) {
  int device = DeviceOf(memory);
  if (device < 0) return false;
  Device& d = g_devices[device];
  auto it = d.blocks.find(static_cast<char*>(memory));
  if (it == d.blocks.end()) return false;
  CloseAll();
  // Its addresses stay taken, so that a later use is found.
  mmap(it->first, it->second, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
       -1, 0);
  d.used -= it->second;
  d.blocks.erase(it);
  return true;
}

size_t Used(int device) { return g_devices[device].used; }

bool OnDevice(const void* memory, size_t bytes) {
  std::lock_guard<std::recursive_mutex> lock(g_mutex);
  int device = DeviceOf(memory);
  if (device < 0) return false;
  auto it = Find(g_devices[device].blocks, memory);
  if (it == g_devices[device].blocks.end()) return false;
  size_t offset = static_cast<size_t>(static_cast<const char*>(memory) - it->first);
  return offset <= it->second && bytes <= it->second - offset;
}

bool AddPinned(void* memory, size_t bytes, bool registered) {
  return g_pinned.insert({static_cast<char*>(memory), {bytes, registered}}).second;
}

size_t RemovePinned(void* memory, bool registered) {
  auto it = g_pinned.find(static_cast<char*>(memory));
  if (it == g_pinned.end() || it->second.registered != registered) return 0;
  size_t bytes = it->second.bytes;
  g_pinned.erase(it);
  return bytes;
}

bool IsPinned(const void* memory, size_t bytes) {
  auto it = Find(g_pinned, memory);
  if (it == g_pinned.end()) return false;
  size_t offset = static_cast<size_t>(static_cast<const char*>(memory) - it->first);
  return offset < it->second.bytes && bytes <= it->second.bytes - offset;
}

bool LooksLikeHostPointer(uint64_t word) {
  if (word < uint64_t{1} << 40 || word >= uint64_t{1} << 47) return false;
  char* p = reinterpret_cast<char*>(word);
  if (DeviceOf(p) >= 0 || IsPinned(p, 1)) return false;
  unsigned char resident;
  return mincore(reinterpret_cast<void*>(word / kPage * kPage), 1, &resident) == 0;
}

Access::Access() {
  if (t_depth++ > 0) return;
  InstallHandler();  // another library may have taken its place
  CloseAll();        // what a counted touch has opened
  int device = DeviceOf(g_last);
  if (device >= 0) Open(g_devices[device], g_last);
}
Access::~Access() {
  if (--t_depth == 0) CloseAll();
}
NoAccess::NoAccess() : depth_(t_depth) {
  CloseAll();
  t_depth = 0;
}
NoAccess::~NoAccess() {
  CloseAll();
  t_depth = depth_;
}

void SetRunningDevice(int device) { g_running_device = device; }

long Touches(bool reset) {
  CloseAll();
  long touches = g_touches;
  if (reset) g_touches = 0;
  return touches;
}

}  // namespace pretend
