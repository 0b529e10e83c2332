// Checks of a call before it runs, the same for eager calls, running programs and described ones.
#pragma once

#include "op/op_info.h"

namespace dygraph {

// Required slots are filled, and variables hold something. `runtime`: false where a program is
// described.
void CheckPresent(const Call& call, bool runtime);
// The element type that chooses the kernel, of a call whose inputs are present.
DType KernelDType(const Call& call);
// Variables hold what the slots take, and types agree.
void CheckInputs(const Call& call, DType dtype);
// The device of the first input that lies on one, the host where all inputs lie there, the call's
// place where it has none. Inputs that the host reads (kOnHost) do not count.
Place PlaceOf(const Call& call);
// "float32, float64 only"
std::string KnownTypes(const OpInfo& op, DeviceKind device);

// The outputs' shapes and types, as far as they are known before anything runs (unknown sizes are
// -1); nothing is computed.
void InferOutputs(Call& call);

// The exception in flight, with the operator's name in front. Inside catch (...) alone.
[[noreturn]] void RethrowFor(const OpInfo& op);

}  // namespace dygraph
