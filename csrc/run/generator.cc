#include "run/generator.h"

#include <atomic>

#include "platform/recorded_draws.h"

namespace dygraph {

namespace {
std::atomic<uint64_t> generator_seed{0};
std::atomic<uint64_t> generator_calls{0};
}  // namespace

void SeedGenerator(uint64_t seed) { SetGeneratorState({seed, 0}); }
GeneratorState GetGeneratorState() { return {generator_seed.load(), generator_calls.load()}; }
void SetGeneratorState(GeneratorState state) {
  generator_seed.store(state.seed);
  generator_calls.store(state.calls);
}

RandomDraw NextDraws(Place place, uint64_t count) {
  if (__builtin_expect(place.kind == DeviceKind::kCUDA, 0)) {
    if (RecordedDraws* recorded = RecordedDraws::On(place)) return {0, recorded->Give(count)};
  }
  return {generator_seed.load(std::memory_order_relaxed),
          generator_calls.fetch_add(count, std::memory_order_relaxed)};
}

}  // namespace dygraph
