// Where the rows of each step lie in a packed batch (kernels/packed_rows.h).
#pragma once

#include <cstdint>
#include <vector>

namespace dygraph::kernels {

struct Steps {
  std::vector<int64_t> begin{0};  // packed row each step begins at, then the number of rows
  int64_t batch = 0;              // sequences, also those without rows
  int64_t count() const { return static_cast<int64_t>(begin.size()) - 1; }
  int64_t rows() const { return begin.back(); }
  int64_t alive(int64_t step) const { return begin[step + 1] - begin[step]; }
  bool full() const { return rows() == count() * batch; }  // each sequence has every step
};

// x of the step before, or the first state.
template <class V>
const V* Before(const Steps& steps, const V* first, const V* x, int64_t width, int64_t step) {
  return step == 0 ? first : x + steps.begin[step - 1] * width;
}

}  // namespace dygraph::kernels
