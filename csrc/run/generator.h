// The library's random numbers outside programs: stream = (seed, number of the random call).
#pragma once

#include <cstdint>

#include "platform/place.h"
#include "platform/random_source.h"

namespace dygraph {

void SeedGenerator(uint64_t seed);
struct GeneratorState {
  uint64_t seed, calls;
};
GeneratorState GetGeneratorState();
void SetGeneratorState(GeneratorState state);

// What the next `count` random calls on a place draw from: this and the streams that follow.
RandomSource NextDraws(Place place, uint64_t count = 1);

// While it lives, the thread records work of a device: random calls there leave the generator alone
// and draw from what stands at `at` when the work runs.
class RecordedDraws {
 public:
  RecordedDraws(Place place, const uint64_t* at);
  ~RecordedDraws();
  RecordedDraws(const RecordedDraws&) = delete;
  RecordedDraws& operator=(const RecordedDraws&) = delete;

  uint64_t count() const { return next_.stream; }  // of the streams in use

 private:
  friend RandomSource NextDraws(Place place, uint64_t count);
  Place place_;
  RandomSource next_;
};

}  // namespace dygraph
