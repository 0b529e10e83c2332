// Who holds the large blocks of a device, for the text of an error that there is no memory left.
#pragma once

#include <cstddef>
#include <string>

#include "platform/place.h"

namespace dygraph::memory {

constexpr size_t kNotedBytes = 64 << 10;  // of blocks whose holders are known

// The block, which is in use, was made by that operator at that line. The text stays.
void NoteHolder(Place place, const void* block, const std::string* text);

}  // namespace dygraph::memory
