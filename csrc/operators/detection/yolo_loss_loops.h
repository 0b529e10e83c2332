// The loops of yolov3_loss, image by image.
#pragma once

#include <vector>

#include "kernels/parallel.h"
#include "operators/detection/yolo_head.h"

namespace dygraph::yolo {

// What yolov3_loss computes.
template <class T>
void Losses(const KernelContext& ctx, T* objectness, int32_t* match, T* loss) {
  const Head<T> q = HeadOf<T>(ctx);
  const int64_t work = q.masks * q.cells * (40 + q.boxes * 20);
  kernels::ParallelRows(q.n, work, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      T* object = objectness + i * q.masks * q.cells;
      for (int64_t k = 0; k < q.masks * q.cells; ++k)
        object[k] = q.Objectness(i, k / q.cells, k % q.cells);
      q.MatchBoxes(i, objectness, match);
      T sum = 0;
      ForTerms(
          q, i, objectness, match,
          [&](int64_t at, T target, T weight) { sum += weight * Entropy(q.x[at], target); },
          [&](int64_t at, T target, T weight) { sum += weight * std::abs(target - q.x[at]); });
      loss[i] = sum;
    }
  });
}

// dx, of size numbers, for top [n].
template <class T>
void LossGradients(const KernelContext& ctx, const T* objectness, const int32_t* match,
                   const T* top, T* dx, int64_t size) {
  const Head<T> q = HeadOf<T>(ctx);
  std::fill_n(dx, size, T(0));
  kernels::ParallelRows(q.n, q.masks * q.cells * 20, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      ForTerms(
          q, i, objectness, match,
          [&](int64_t at, T target, T weight) {
            dx[at] += top[i] * weight * (kernels::Sigmoid(q.x[at]) - target);
          },
          [&](int64_t at, T target, T weight) {
            dx[at] += top[i] * weight * SignOf(q.x[at] - target);
          });
    }
  });
}

}  // namespace dygraph::yolo
