// What the parts of the pretended runtime share.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

namespace pretend {

// One lock for everything: kernels run under it, on the thread that waits for them.
extern std::recursive_mutex g_mutex;

struct Settings {
  long devices, late, reverse, count, strict, memory, batch, pointers;
};
extern Settings g_settings;

constexpr int kMostDevices = 16;

// Prints "pretended CUDA: TEXT" and ends the process.
[[noreturn]] void Die(const std::string& text);

// The name of a kernel, as far as the dynamic symbols tell it.
std::string NameOf(const void* kernel);

// Where the thread that runs is: kernel, block and thread. Empty outside of kernels.
std::string Where();

// memory.cc ---------------------------------------------------------------------------------------

// Null where the device has too little memory left.
void* Allocate(int device, size_t bytes);
bool Free(void* memory);
size_t Used(int device);
// The device that has this address, live or freed; -1 for memory of the host.
int DeviceOf(const void* memory);

bool AddPinned(void* memory, size_t bytes, bool registered);
// The bytes of the pinned range that starts here; 0 if there is none of that kind.
size_t RemovePinned(void* memory, bool registered);
bool IsPinned(const void* memory, size_t bytes);
// Whether a word is the address of mapped memory of the host that no device reaches.
bool LooksLikeHostPointer(uint64_t word);

// While one of these lives, its thread may touch memory of devices. The last of a thread closes
// what was touched.
class Access {
 public:
  Access();
  ~Access();
};
// And this keeps it out again, for functions of the host within a stream.
class NoAccess {
 public:
  NoAccess();
  ~NoAccess();

 private:
  int depth_;
};
// The device whose work runs; -1 lets it touch the memory of all (copies).
void SetRunningDevice(int device);

long Touches(bool reset);

}  // namespace pretend
