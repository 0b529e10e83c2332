#include "op/kernel.h"

namespace dygraph {

const char* Name(KernelLayout layout) {
  static const char* const kNames[] = {"any", "NCHW", "NHWC"};
  return kNames[static_cast<int>(layout)];
}

const char* Name(Library library) {
  static const char* const kNames[] = {"plain", "onednn", "cudnn"};
  return kNames[static_cast<int>(library)];
}

std::string ToString(const KernelKey& key) {
  return DeviceKindName(key.device) + ", " + Name(key.dtype) + ", layout " + Name(key.layout) +
         ", library " + Name(key.library);
}

}  // namespace dygraph
