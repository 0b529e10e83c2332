#include "run/generator.h"

#include <atomic>

namespace dygraph {

namespace {
std::atomic<uint64_t> generator_seed{0};
std::atomic<uint64_t> generator_calls{0};
}  // namespace

void SeedGenerator(uint64_t seed) { SetGeneratorState({seed, 0}); }
uint64_t GeneratorSeed() { return generator_seed.load(std::memory_order_relaxed); }
uint64_t NextRandomCall(uint64_t count) {
  return generator_calls.fetch_add(count, std::memory_order_relaxed);
}
GeneratorState GetGeneratorState() { return {generator_seed.load(), generator_calls.load()}; }
void SetGeneratorState(GeneratorState state) {
  generator_seed.store(state.seed);
  generator_calls.store(state.calls);
}

}  // namespace dygraph
