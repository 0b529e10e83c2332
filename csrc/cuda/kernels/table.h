// kernels/table.h on the device.
#pragma once

#include <vector>

#include "cuda/scratch.h"
#include "platform/device_context.h"

namespace dygraph::kernels {

template <class T>
class Table {
 public:
  explicit Table(const std::vector<T>& values) : copy_(static_cast<int64_t>(values.size())) {
    if (!values.empty())
      GetDeviceContext(cuda::CurrentPlace())
          .CopyFromHost(copy_.data(), values.data(), values.size() * sizeof(T));
  }
  const T* data() { return copy_.data(); }

 private:
  cuda::Workspace<T> copy_;
};

}  // namespace dygraph::kernels
