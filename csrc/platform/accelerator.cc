#include "platform/accelerator.h"

#include "base/enforce.h"

namespace dygraph {

Accelerator& GetAccelerator(Place place) {
  auto* found = dynamic_cast<Accelerator*>(&GetDeviceContext(place));
  ENFORCE(found, Unimplemented, "the place must be a device with streams, such as CUDAPlace(0), got ",
          place);
  return *found;
}

int DeviceCount(DeviceKind kind) {
  int count = 0;
  while (count < 255 && IsAvailable({kind, static_cast<uint8_t>(count)})) ++count;
  return count;
}

}  // namespace dygraph
