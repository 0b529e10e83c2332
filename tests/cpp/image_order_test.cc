// Copies between the orders of images against a plain loop, for every size of element, with one and
// several threads.
#include "tensor/image_order.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "memory/memory.h"
#include "platform/threads.h"
#include "tensor/tensor.h"

namespace {

std::atomic<int> failures{0};

void Compare(int64_t n, int64_t rows, int64_t cols, int64_t bytes) {
  std::vector<unsigned char> from(n * rows * cols * bytes), to(from.size()), want(from.size());
  uint32_t state = 1;
  for (unsigned char& byte : from) byte = (state = state * 1664525 + 1013904223) >> 24;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < cols; ++c) {
        std::memcpy(&want[((i * cols + c) * rows + r) * bytes],
                    &from[((i * rows + r) * cols + c) * bytes], bytes);
      }
    }
  }
  dygraph::TransposeImages(from.data(), to.data(), n, rows, cols, bytes);
  if (to == want) return;
  ++failures;
  std::printf("%d images of %d x %d, %d bytes, threads %d: differs\n", static_cast<int>(n),
              static_cast<int>(rows), static_cast<int>(cols), static_cast<int>(bytes),
              dygraph::NumThreads());
}

// Threads that want one channels-last block in plain order, as kernels do without Python's lock.
void RestoreAtOnce() {
  using dygraph::Tensor;
  constexpr int kUsers = 4, kRounds = 500;
  const size_t used = dygraph::memory::GetStats(dygraph::CPUPlace()).used;
  for (int round = 0; round < kRounds; ++round) {
    Tensor x(dygraph::Dims{2, 3, 4, 5}, dygraph::DType::kFloat32, dygraph::CPUPlace(),
             dygraph::Layout::kNHWC);
    for (int i = 0; i < 120; ++i) x.mutable_data<float>()[i] = static_cast<float>(i);
    std::atomic<int> ready{0};
    std::vector<std::thread> users;
    for (int u = 0; u < kUsers; ++u) {
      users.emplace_back([&] {
        ++ready;
        while (ready < kUsers) {
        }
        for (int again = 0; again < 3; ++again) {
          Tensor plain = x.Plain();
          bool good = plain.layout() == dygraph::Layout::kPlain;
          for (int n = 0; n < 2; ++n) {
            for (int c = 0; c < 3; ++c) {
              for (int p = 0; p < 20; ++p)
                good &= plain.data<float>()[(n * 3 + c) * 20 + p] == (n * 20 + p) * 3 + c;
            }
          }
          if (!good) ++failures;
        }
      });
    }
    for (std::thread& user : users) user.join();
  }
  if (dygraph::memory::GetStats(dygraph::CPUPlace()).used != used) ++failures;
  if (failures) std::printf("%d failures of threads that restore one block\n", failures.load());
}

}  // namespace

int main() {
  RestoreAtOnce();
  const int64_t sizes[][3] = {{1, 1, 1},     {2, 3, 5},    {3, 4, 16},    {1, 16, 4},
                              {2, 17, 33},   {1, 64, 70},  {5, 130, 127}, {2, 3, 999},
                              {1, 5000, 19}, {3, 19, 5000}};
  for (int threads : {1, 3}) {
    dygraph::SetNumThreads(threads);
    for (const auto& size : sizes) {
      for (int64_t bytes : {1, 2, 4, 8}) Compare(size[0], size[1], size[2], bytes);
    }
  }
  if (!failures) std::printf("orders checked\n");
  return failures != 0;
}
