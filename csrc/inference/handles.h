// Handles of the C interface: numbers that look like pointers. One that was closed, or that never
// was one, is told apart from those that are open.
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
