// The library's random numbers outside programs: stream = (seed, number of the random call).
#pragma once

#include <cstdint>

namespace dygraph {

void SeedGenerator(uint64_t seed);
uint64_t GeneratorSeed();
uint64_t NextRandomCall(uint64_t count = 1);  // the first of `count` numbers
struct GeneratorState {
  uint64_t seed, calls;
};
GeneratorState GetGeneratorState();
void SetGeneratorState(GeneratorState state);

}  // namespace dygraph
