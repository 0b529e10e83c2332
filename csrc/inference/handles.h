// Handles of the C interface: numbers that look like pointers. A lookup recognises handles
// that are closed and pointers that never were handles.
#pragma once

#include <cstdint>
#include <memory>

namespace dygraph::inference {

enum class Kind : uint8_t { kOptions, kPredictor, kContext };

// Never null. ResourceExhausted where a million are open.
void* OpenHandle(Kind kind, std::shared_ptr<void> object);
// Null for what is closed, of another kind or no handle. The object stays while it is held.
std::shared_ptr<void> FindHandle(Kind kind, const void* handle);
std::shared_ptr<void> CloseHandle(Kind kind, const void* handle);

}  // namespace dygraph::inference
