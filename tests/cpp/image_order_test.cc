// Copies between the orders of images against a plain loop, for every size of element, with one and
// several threads.
#include "tensor/image_order.h"

#include <cstdio>
#include <cstring>
#include <vector>

#include "platform/threads.h"

namespace {

int failures = 0;

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

}  // namespace

int main() {
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
