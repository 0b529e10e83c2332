// One call, from its checks to the end of its kernel, on values without variables: eager calls and
// programs both end here.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "op/op_registry.h"

namespace dygraph {

// `call.out` holds fresh values; one that already shares the storage of an input (an in-place pair)
// keeps it.
void Run(Call& call);

// Which kernel would run for these inputs, and every candidate with the reason it was passed over.
struct KernelChoice {
  const Kernel* chosen = nullptr;
  std::vector<std::pair<const Kernel*, std::string>> candidates;
};
KernelChoice ExplainKernel(const Call& call);

}  // namespace dygraph
