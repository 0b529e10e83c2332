#include "platform/recorded_draws.h"

#include "base/enforce.h"

namespace dygraph {

namespace {
thread_local RecordedDraws* t_recorded = nullptr;
}  // namespace

RecordedDraws::RecordedDraws(Place place, const uint64_t* at) : place_(place), at_(at) {
  ENFORCE(!t_recorded, PreconditionNotMet, "a thread must record one graph at a time");
  t_recorded = this;
}

RecordedDraws::~RecordedDraws() { t_recorded = nullptr; }

RecordedDraws* RecordedDraws::On(Place place) {
  return t_recorded && t_recorded->place_ == place ? t_recorded : nullptr;
}

}  // namespace dygraph
