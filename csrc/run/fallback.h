// Operators that a device has no kernel for: the host computes them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "op/op_info.h"

namespace dygraph {

// Counts the call, and says once for each operator that it is computed on the host
// (FLAGS_host_fallback).
void NoteFallback(const Call& call, Place place);
// Brings the outputs of such a call to its place.
void MoveOutputs(Call& call, Place place);

// What a value holds, on `place`; rank tables and the like stay on the host.
Value CopyTo(const Value& value, Place place);

// Calls that the host computed for a device since the process began, by operator.
std::vector<std::pair<std::string, int64_t>> Fallbacks();
int64_t CountFallbacks();

// Says a sentence that a user should read once; python/ sets it to one that warns.
void SetWarn(void (*warn)(const std::string& text));

}  // namespace dygraph
