// How often repeat_interleave repeats.
#pragma once

#include <vector>

#include "operators/arguments.h"

namespace dygraph::indexing {

struct RepeatInterleaveAttrs {
  int32_t repeats = 0;
  int32_t dim = 0;
};

// How often the elements of an axis come.
struct Times {
  int64_t each = 0;           // all of them, where there is no list
  std::vector<int64_t> list;  // each
  int64_t total = 0;          // elements along the axis of Out, -1 where unknown

  Times(const Call& call, int slot, int64_t n) {
    const RepeatInterleaveAttrs& a = *static_cast<const RepeatInterleaveAttrs*>(call.attrs);
    if (call.in.count(slot) == 0) {
      ENFORCE(a.repeats >= 0, InvalidArgument, "Repeats must be at least 0, got ", a.repeats);
      each = a.repeats;
      total = MulSizes(n, each);
      return;
    }
    const Tensor& given = call.in.at(slot)->tensor();
    ENFORCE(given.rank() == 1 && (given.dim(0) == n || !BothKnown(given.dim(0), n)),
            InvalidArgument, "RepeatsTensor must have one number for each of the ", n,
            " elements of the axis, got shape ", given.dims());
    total = -1;
    if (!given.has_data()) return;
    list = Integers(given, "RepeatsTensor");
    total = 0;
    for (int64_t times : list) {
      ENFORCE(times >= 0, InvalidArgument, "RepeatsTensor must hold numbers of at least 0, got ",
              times);
      ENFORCE(times <= INT64_MAX - total, OutOfRange,
              "the numbers in RepeatsTensor must add up to an int64, got ", times, " after ",
              total);
      total += times;
    }
  }
  int64_t Of(int64_t i) const { return list.empty() ? each : list[i]; }
};

}  // namespace dygraph::indexing
