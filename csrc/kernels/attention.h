// Attention of every head: softmax(scale Q K^T + mask) V, its gradient, and the gradient of that.
// Scores live for some rows at a time and are made again for the backward passes: of the weights
// only the logarithm of each row's total is kept.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/dims.h"

namespace dygraph::kernels {

// The matrices of all heads. Heads lie side by side in a row, or in matrices of their own.
template <class T>
struct Heads {
  T* data = nullptr;
  int64_t side_by_side = 1, matrix = 0, head = 0, row = 0;  // strides in elements
  // The same from a row on.
  Heads From(int64_t first) const {
    return {data ? data + first * row : data, side_by_side, matrix, head, row};
  }
  T* at(int64_t l) const { return data + l / side_by_side * matrix + l % side_by_side * head; }
};

// What is added to the scores of head l: element (i, j) lies at offset[l] + i * row + j * column.
// A key that may not be seen counts as -inf; a query without a key gives zeros.
template <class T>
struct AttentionMask {
  const T* added = nullptr;    // at most kHidden: not seen
  const bool* seen = nullptr;  // in place of `added`
  std::vector<int64_t> offset;
  int64_t row = 0, column = 0;
  bool causal = false;  // query i sees keys 0 to i
  // Heads count through `dims`, `apart` elements of the mask for a step along each axis.
  void SetHeads(const Dims& dims, const Dims& apart) {
    offset.resize(static_cast<size_t>(Numel(dims)));
    for (size_t l = 0; l < offset.size(); ++l) {
      int64_t rest = static_cast<int64_t>(l);
      for (int i = dims.rank() - 1; i >= 0; --i) {
        offset[l] += rest % dims[i] * apart[i];
        rest /= dims[i];
      }
    }
  }
  bool any() const { return added || seen; }
};
constexpr double kHidden = -1e30;

template <class T>
struct Attention {
  int64_t heads, queries, keys, width, value_width;
  T scale;
  Heads<const T> q, k, v;
  const AttentionMask<T>* mask;
  // Weights are dropped where 32 bits of the generator lie below `limit`; others are divided.
  double dropout = 0;
  uint64_t seed = 0, stream = 0;
  int64_t drawn_before = 0;  // weights of other sequences that the same generator drew for
  void Drew(const int64_t* numbers) {
    seed = static_cast<uint64_t>(numbers[0]);
    stream = static_cast<uint64_t>(numbers[1]);
  }

  // log_total [heads, queries]
  void Forward(Heads<T> out, T* log_total) const;

  struct Gradients {
    Heads<T> q, k, v;   // null data: not wanted
    T* mask = nullptr;  // where the mask lies, filled with zeros; null: not wanted
  };
  void Backward(const T* log_total, Heads<const T> d_out, const Gradients& to) const;

  // The derivatives of Backward's results and of Forward's (`out`) along a direction of q, k, v and
  // mask; null data: zeros.
  struct Direction {
    Heads<const T> q, k, v;
    const T* mask = nullptr;
  };
  void BackwardAlong(const T* log_total, Heads<const T> d_out, const Direction& along,
                     const Gradients& to, Heads<T> out) const;

  // What dropout multiplies the weights of some queries with.
  void DropFactors(int64_t l, int64_t first, int64_t rows, T* to) const;

 private:
  int64_t BlockRows() const;
  void Scores(bool shared_out, int64_t l, int64_t first, int64_t rows, T* to) const;
  void Weights(bool shared_out, int64_t l, int64_t first, int64_t rows, const T* log_total,
               T* to) const;
  void AddToMask(int64_t l, int64_t first, int64_t rows, const T* d_scores, T* to) const;
};

}  // namespace dygraph::kernels
