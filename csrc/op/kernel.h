// Kernels and how one is chosen.
#pragma once

#include <string>

#include "op/contexts.h"

namespace dygraph {

// the order a kernel wants its 4-D and 5-D inputs in
enum class KernelLayout : uint8_t { kAny, kPlain, kNHWC };
enum class Library : uint8_t { kPlain, kOneDNN, kCUDNN };
const char* Name(KernelLayout layout);
const char* Name(Library library);

struct KernelKey {
  DeviceKind device = DeviceKind::kCPU;
  DType dtype = DType::kFloat32;
  KernelLayout layout = KernelLayout::kPlain;
  Library library = Library::kPlain;
};
std::string ToString(const KernelKey& key);

using KernelFn = void (*)(KernelContext&);

struct Kernel {
  KernelKey key;
  KernelFn run = nullptr;
  // A kernel of a library may decline a call (shapes it is slow or wrong at, library missing).
  // nullptr: takes all.
  bool (*accepts)(const Call&) = nullptr;
  const char* file = "";
  int line = 0;
};

}  // namespace dygraph
