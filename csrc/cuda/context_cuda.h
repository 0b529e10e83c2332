// The context of a CUDA device.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/capture.h"
#include "cuda/errors_cuda.h"
#include "cuda/stream.h"
#include "platform/accelerator.h"

namespace dygraph::cuda {

struct FreePinned {
  void operator()(void* block) const {
    const WhileCapturing allowed;
    cudaFreeHost(block);
  }
};
using PinnedBlock = std::unique_ptr<void, FreePinned>;

class Context : public Accelerator {
 public:
  explicit Context(Place place);

  void CopyFromHost(void* to, const void* host, size_t bytes) override;
  void CopyToHost(void* host, const void* from, size_t bytes) override;
  void CopyWithin(void* to, const void* from, size_t bytes) override;
  bool CopyFromPeer(void* to, DeviceContext& peer, const void* from, size_t bytes) override;
  bool TransposeImages(const void* from, void* to, int64_t n, int64_t rows, int64_t cols,
                       size_t element_size) override;
  void Wait() override;
  void Enter() override;

  DeviceFacts Facts() override;
  DeviceCounts Counts() override;
  void* Stream() override { return stream_; }
  void LetWait(void* other) override;
  void WaitFor(void* other) override;
  std::unique_ptr<DeviceEvent> CopyAhead(void* to, const void* pinned, size_t bytes) override;
  void WaitFor(const DeviceEvent& event) override;
  std::unique_ptr<DeviceEvent> Record() override;
  void BeginCapture() override;
  std::unique_ptr<DeviceGraph> EndCapture() override;
  bool Capturing() const override;

  // On which the calling thread's work is queued: that of all threads, or while it records its own.
  cudaStream_t stream() const { return Capturing() ? capture_stream_ : stream_; }
  ErrorWord* errors() const { return errors_; }

 private:
  friend class RecordedGraph;

  // Two pinned buffers that copies of pageable memory pass through, one filled while the other
  // travels.
  struct Stage {
    char* memory = nullptr;
    cudaEvent_t free = nullptr;  // recorded behind the copy that used it last
  };
  void Prepare(Stage* stage);
  void RefuseInCapture(const char* what) const;
  const void* KeepForCapture(const void* host, size_t bytes);
  void UseDevice();  // of the calling thread
  void RaiseReported();

  cudaStream_t stream_ = nullptr;
  cudaStream_t copy_stream_ = nullptr;
  std::mutex staging_;
  Stage stages_[2];
  ErrorWord* errors_ = nullptr;
  cudaStream_t capture_stream_ = nullptr;  // made for the first recording
  std::atomic<bool> captured_{false};      // some thread records
  std::vector<PinnedBlock> kept_;          // what the recorded work copies from the host
  std::atomic<int64_t> waits_{0}, copies_in_{0}, copies_out_{0}, bytes_in_{0}, bytes_out_{0},
      graph_launches_{0};
};

}  // namespace dygraph::cuda
