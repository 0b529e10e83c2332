// What has to wait until a device has done its queued work: memory that another library takes back,
// pinned memory that a copy still reads.
#pragma once

#include <functional>

#include "platform/place.h"

namespace dygraph {

// Runs `f` behind the work that is queued on the place now. The host does not wait: whether the work
// is done is asked at once, and again in each later call of these functions. Never throws; `f` must
// not either.
void AfterQueuedWork(Place place, std::function<void()> f) noexcept;
// Runs what is due.
void RunDue() noexcept;

// Memory that another library has used comes back: what we queue later waits for what is queued on
// the default stream and, with it, on all streams that are not "non-blocking". `drop` releases it.
void AfterOthersWork(Place place, std::function<void()> drop) noexcept;

}  // namespace dygraph
