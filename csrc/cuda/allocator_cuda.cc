// Where the arenas of CUDAPlace and CUDAPinnedPlace come from.
#include <algorithm>

#include "cuda/capture.h"
#include "cuda/stream.h"
#include "memory/system_allocators.h"
#include "platform/device_context.h"

namespace dygraph::cuda {
namespace {

// Arenas may come and go while the thread records a graph: its work names them all the same.
class DeviceAllocator : public memory::SystemAllocator {
 public:
  explicit DeviceAllocator(Place place) : place_(place) {}
  void* Alloc(size_t bytes) override {
    GetDeviceContext(place_).Enter();
    void* block = nullptr;
    const WhileCapturing allowed;
    const cudaError_t status = cudaMalloc(&block, bytes);
    if (status == cudaSuccess) return block;
    if (status != cudaErrorMemoryAllocation) Fail(status, "an allocation");
    cudaGetLastError();
    return nullptr;
  }
  void Free(void* block, size_t) override {
    const WhileCapturing allowed;
    if (cudaFree(block) != cudaSuccess) cudaGetLastError();  // the next call of the device says it
  }
  size_t Total() const override {
    if (total_ > 0) return total_;
    GetDeviceContext(place_).Enter();
    size_t unused = 0;
    Check(cudaMemGetInfo(&unused, &total_), "a question about the device");
    return total_;
  }

 private:
  Place place_;
  mutable size_t total_ = 0;
};

class PinnedAllocator : public memory::SystemAllocator {
 public:
  void* Alloc(size_t bytes) override {
    GetDeviceContext({DeviceKind::kCUDAPinned, 0});  // raises where there is no device
    void* block = nullptr;
    const WhileCapturing allowed;
    const cudaError_t status = cudaHostAlloc(&block, bytes, cudaHostAllocPortable);
    if (status == cudaSuccess) return block;
    if (status != cudaErrorMemoryAllocation) Fail(status, "an allocation");
    cudaGetLastError();
    return nullptr;
  }
  void Free(void* block, size_t) override {
    const WhileCapturing allowed;
    if (cudaFreeHost(block) != cudaSuccess) cudaGetLastError();
  }
  size_t Total() const override {
    static const size_t total = memory::MakeHostAllocator(CPUPlace())->Total();
    return total;
  }
};

bool RegisterAllocators() {
  memory::RegisterSystemAllocator(DeviceKind::kCUDA, [](Place place) {
    return std::unique_ptr<memory::SystemAllocator>(std::make_unique<DeviceAllocator>(place));
  });
  memory::RegisterSystemAllocator(DeviceKind::kCUDAPinned, [](Place) {
    return std::unique_ptr<memory::SystemAllocator>(std::make_unique<PinnedAllocator>());
  });
  return true;
}

const bool registered = RegisterAllocators();

}  // namespace
}  // namespace dygraph::cuda
