// Functions of the host language that operators call. An operator's attribute holds a function's
// handle, which is valid only in the process that made it: most of its bits are random, so that a
// file cannot name a function of the process that reads it.
#pragma once

#include <functional>

#include "op/attribute.h"
#include "op/contexts.h"

namespace dygraph {

// Reads the inputs of a call and fills its outputs.
using HostFunction = std::function<void(KernelContext&)>;

// Never 0. The function is kept for good, since programs refer to it.
int64_t AddHostFunction(HostFunction function);
// PreconditionNotMet for a handle that this process did not make.
const HostFunction& GetHostFunction(int64_t handle);
// Of attributes that hold a handle, 0 (none yet) or -1 (none).
AttrCheck IsHostFunction();

}  // namespace dygraph
