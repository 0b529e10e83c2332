// operators/detection/yolo_loss_loops.h on the device: a thread for each cell, and one for the true
// boxes of each image, which takes them in order.
#pragma once

#include "cuda/errors_cuda.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "kernels/table.h"
#include "operators/detection/yolo_head.h"

namespace dygraph::yolo {

// The head of a call with its tables; what is wrong with its boxes is reported.
template <class T>
class DeviceHead {
 public:
  explicit DeviceHead(const KernelContext& ctx)
      : anchors_(ctx.attrs<Yolov3LossAttrs>().anchors),
        mask_(ctx.attrs<Yolov3LossAttrs>().anchor_mask),
        head_(ctx, anchors_.data(), mask_.data()) {
    head_.label.CheckAll(head_.classes);
    Check(head_);
  }
  const Head<T>& head() const { return head_; }
  static void Check(const Head<T>& head) {
    const Head<T> q = head;
    const cuda::ValueReport infinite("GTBox must hold finite numbers, got %");
    const cuda::ValueReport outside(
        "GTBox must have its middles in [0, 1), parts of the image, got %");
    kernels::ForEach(q.n * q.boxes, [=] DYGRAPH_FN(int64_t t) {
      const T* b = q.box + t * 4;
      for (int i = 0; i < 4; ++i) {
        if (!std::isfinite(b[i])) infinite(static_cast<double>(b[i]));
      }
      for (int i = 0; i < 2 && q.IsBox(t); ++i) {
        if (!(b[i] >= T(0) && b[i] < T(1))) outside(static_cast<double>(b[i]));
      }
    });
  }

 private:
  kernels::Table<int32_t> anchors_, mask_;
  Head<T> head_;
};

// Number j of what makes terms of the loss of image i: the true boxes, then the cells.
template <class T, class E, class D>
DYGRAPH_INLINE void TermsAt(const Head<T>& q, int64_t i, int64_t j, const T* objectness,
                            const int32_t* match, const E& entropy, const D& distance) {
  if (j >= q.boxes) {
    const int64_t cell = j - q.boxes, m = cell / q.cells, k = cell % q.cells;
    q.CellTerm(i, m, k, objectness[i * q.masks * q.cells + cell], entropy);
    return;
  }
  const int64_t t = i * q.boxes + j, m = match[t];
  if (m >= 0 && m < q.masks && q.IsInside(t)) q.BoxTerms(i, t, m, entropy, distance);
}

// What yolov3_loss computes.
template <class T>
void Losses(const KernelContext& ctx, T* objectness, int32_t* match, T* loss) {
  const DeviceHead<T> device(ctx);
  const Head<T> q = device.head();
  kernels::ForEach(q.n * q.masks * q.cells, [=] DYGRAPH_FN(int64_t at) {
    objectness[at] = q.Objectness(at / q.cells / q.masks, at / q.cells % q.masks, at % q.cells);
  });
  kernels::ForEach(q.n, [=] DYGRAPH_FN(int64_t i) { q.MatchBoxes(i, objectness, match); });
  const int64_t terms = q.boxes + q.masks * q.cells;
  kernels::ForEachRow(q.n, terms, [=] DYGRAPH_FN(int64_t i, kernels::Team team) {
    const T sum = team.Sum<T>(terms, [=](int64_t j) {
      T part = 0;
      TermsAt(
          q, i, j, objectness, match,
          [&](int64_t at, T target, T weight) { part += weight * Entropy(q.x[at], target); },
          [&](int64_t at, T target, T weight) { part += weight * std::abs(target - q.x[at]); });
      return part;
    });
    team.Once([=] { loss[i] = sum; });
  });
}

// dx, of size numbers, for top [n].
template <class T>
void LossGradients(const KernelContext& ctx, const T* objectness, const int32_t* match,
                   const T* top, T* dx, int64_t size) {
  const DeviceHead<T> device(ctx);
  const Head<T> q = device.head();
  const int64_t terms = q.masks * q.cells;
  const cuda::IndexGuard position({"yolov3_loss_grad", "GTMatchMask"}, q.masks);
  kernels::Fill(dx, size, T(0));
  // The boxes of an image may share a cell.
  kernels::ForEach(q.n, [=] DYGRAPH_FN(int64_t i) {
    for (int64_t t = 0; t < q.boxes; ++t) {
      if (match[i * q.boxes + t] >= q.masks) position(match[i * q.boxes + t]);
      TermsAt(
          q, i, t, objectness, match,
          [&](int64_t at, T target, T weight) {
            dx[at] += top[i] * weight * (kernels::Sigmoid(q.x[at]) - target);
          },
          [&](int64_t at, T target, T weight) {
            dx[at] += top[i] * weight * SignOf(q.x[at] - target);
          });
    }
  });
  kernels::ForEach(q.n * terms, [=] DYGRAPH_FN(int64_t cell) {
    const int64_t i = cell / terms, m = cell % terms / q.cells;
    q.CellTerm(i, m, cell % q.cells, objectness[cell], [&](int64_t at, T target, T weight) {
      dx[at] += top[i] * weight * (kernels::Sigmoid(q.x[at]) - target);
    });
  });
}

}  // namespace dygraph::yolo
