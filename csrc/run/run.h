// One call, from its checks to the end of its kernel, on values without variables: eager calls and
// programs both end here.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "op/op_registry.h"
#include "platform/device_context.h"

namespace dygraph {

// `call.out` holds fresh values; one that already shares the storage of an input (an in-place pair)
// keeps it.
void Run(Call& call);

// What a call came to. The same call on values of the same form then needs its kernel alone, on
// outputs that are there.
struct SettledCall {
  const Kernel* kernel = nullptr;  // nullptr: the call must be run anew each time
  int64_t elements = 0;            // of inputs and outputs
  bool transforms = false;         // inputs must be brought into the order that the kernel takes
};
// As Run(). Settled is a call the sizes of whose outputs follow from those of its inputs.
void RunNoting(Call& call, SettledCall* settled);
// Random operators have their streams. Elements of `call.in` may stand for copies afterwards.
void RunSettled(Call& call, const SettledCall& settled, DeviceContext& device);
// The same on a thread that does not have the interpreter's lock.
void RunSettledUnlocked(Call& call, const SettledCall& settled, DeviceContext& device);

// Which kernel would run for these inputs, and every candidate with the reason it was passed over.
struct KernelChoice {
  const Kernel* chosen = nullptr;
  std::vector<std::pair<const Kernel*, std::string>> candidates;
};
KernelChoice ExplainKernel(const Call& call);

}  // namespace dygraph
