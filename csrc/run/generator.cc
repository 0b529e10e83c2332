#include "run/generator.h"

#include <atomic>

#include "base/enforce.h"

namespace dygraph {

namespace {
std::atomic<uint64_t> generator_seed{0};
std::atomic<uint64_t> generator_calls{0};
thread_local RecordedDraws* t_recorded = nullptr;
}  // namespace

void SeedGenerator(uint64_t seed) { SetGeneratorState({seed, 0}); }
GeneratorState GetGeneratorState() { return {generator_seed.load(), generator_calls.load()}; }
void SetGeneratorState(GeneratorState state) {
  generator_seed.store(state.seed);
  generator_calls.store(state.calls);
}

RandomSource NextDraws(Place place, uint64_t count) {
  if (__builtin_expect(place.kind == DeviceKind::kCUDA, 0) && t_recorded &&
      t_recorded->place_ == place) {
    RandomSource source = t_recorded->next_;
    t_recorded->next_.stream += count;
    return source;
  }
  return {generator_seed.load(std::memory_order_relaxed),
          generator_calls.fetch_add(count, std::memory_order_relaxed)};
}

RecordedDraws::RecordedDraws(Place place, const uint64_t* at) : place_(place) {
  ENFORCE(!t_recorded, PreconditionNotMet, "the thread must record one graph at a time");
  next_.at = at;
  t_recorded = this;
}
RecordedDraws::~RecordedDraws() { t_recorded = nullptr; }

}  // namespace dygraph
