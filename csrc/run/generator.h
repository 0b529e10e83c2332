// The library's random numbers outside programs: stream = (seed, number of the random call).
#pragma once

#include <cstdint>

#include "platform/place.h"

namespace dygraph {

void SeedGenerator(uint64_t seed);
struct GeneratorState {
  uint64_t seed, calls;
};
GeneratorState GetGeneratorState();
void SetGeneratorState(GeneratorState state);

// What the next random call on a place draws from; the `count` - 1 calls behind it from the streams
// that follow. Work that is being recorded (RecordedDraws) leaves the generator alone.
struct RandomDraw {
  uint64_t seed, stream;
};
RandomDraw NextDraws(Place place, uint64_t count = 1);

}  // namespace dygraph
