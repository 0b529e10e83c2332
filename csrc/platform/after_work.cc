#include "platform/after_work.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "platform/accelerator.h"

namespace dygraph {

namespace {

struct Pending {
  Place place;
  std::unique_ptr<DeviceEvent> behind;  // none: work is being recorded, and an event would be too
  std::function<void()> f;
};

struct AllPending {
  std::mutex mutex;
  std::vector<Pending> list;
};

AllPending& All() {
  static AllPending* all = new AllPending;  // storage ends on late threads too
  return *all;
}

// A device that reports an error does no more work.
bool IsDone(Pending* pending) noexcept {
  try {
    Accelerator& device = GetAccelerator(pending->place);
    if (device.Capturing()) return false;
    if (!pending->behind) pending->behind = device.Record();
    return pending->behind->Done();
  } catch (const std::exception&) {
    return true;
  }
}

}  // namespace

void RunDue() noexcept {
  std::vector<Pending> due;
  {
    std::lock_guard<std::mutex> lock(All().mutex);
    std::vector<Pending>& list = All().list;
    auto first =
        std::stable_partition(list.begin(), list.end(), [](Pending& p) { return !IsDone(&p); });
    std::move(first, list.end(), std::back_inserter(due));
    list.erase(first, list.end());
  }
  for (Pending& p : due) p.f();
}

void AfterQueuedWork(Place place, std::function<void()> f) noexcept {
  RunDue();
  Pending pending{place, nullptr, std::move(f)};
  if (IsDone(&pending)) return pending.f();
  std::lock_guard<std::mutex> lock(All().mutex);
  All().list.push_back(std::move(pending));
}

void AfterOthersWork(Place place, std::function<void()> drop) noexcept {
  try {
    Accelerator& device = GetAccelerator(place);
    if (device.Capturing()) return AfterQueuedWork(place, std::move(drop));
    device.WaitFor(DefaultStream());
  } catch (const std::exception&) {
    // The device reports an error and does no more work.
  }
  drop();
}

}  // namespace dygraph
