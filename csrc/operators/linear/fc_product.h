// The product of fc and what follows it. W may be kept in panels beside a call that is repeated.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>

#include "kernels/matmul.h"
#include "kernels/packed_matrix.h"
#include "kernels/parallel.h"
#include "op/kept_form.h"
#include "tensor/tensor.h"

namespace dygraph::fc {

struct Sizes {
  int64_t m, n, k;
};

// As elementwise_add and relu do it: a NaN passes, no zero is negative after relu.
template <class T>
struct Ending {
  const T* bias;  // [n], or null
  bool relu;
};

// W in panels, in its place.
struct PackedW : KeptForm::Form {
  explicit PackedW(const Tensor& w)
      : Form(Bytes(w), Library::kPlain),
        matrix(w.dim(0), w.dim(1)),
        dims_(w.dims()),
        room_(Storage::Make(CPUPlace(), matrix.bytes())) {
    matrix.Pack(w.data<float>(), static_cast<float*>(room_->data()));
  }
  PackedW(const PackedW& other, Ref<Storage> room)  // a copy in another place
      : Form(other.matrix.bytes(), Library::kPlain),
        matrix(other.matrix),
        dims_(other.dims_),
        room_(std::move(room)) {
    std::memcpy(room_->data(), other.room_->data(), matrix.bytes());
  }
  static size_t Bytes(const Tensor& w) {
    return kernels::PackedMatrix(w.dim(0), w.dim(1)).bytes();
  }
  const float* data() const { return static_cast<const float*>(room_->data()); }
  bool restores() const override { return true; }
  Tensor Restore() const override {
    Tensor plain(dims_, DType::kFloat32);
    matrix.Unpack(data(), plain.mutable_data<float>());
    return plain;
  }
  std::shared_ptr<const Form> MovedInto(Tensor* w) const override {
    const Ref<Storage>& room = w->storage();
    if (room->place() != CPUPlace() || room->bytes() != matrix.bytes()) return nullptr;
    room->set_plain_twin(Ref<Storage>());
    return std::make_shared<const PackedW>(*this, room);
  }
  // For products that sum in another order: W beside the panels, from the first of them on.
  const float* plain() const {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!plain_.has_data()) plain_ = Restore();
    return plain_.data<float>();
  }

  const kernels::PackedMatrix matrix;

 private:
  Dims dims_;
  Ref<Storage> room_;
  mutable std::mutex mutex_;
  mutable Tensor plain_;
};

// What is kept of W, and whether these rows can take it. Forms that lack their W stay.
struct Kept {
  std::shared_ptr<const PackedW> form;
  kernels::SumOrder order = kernels::SumOrder::kOther;

  Kept(KeptForm* kept, const Tensor& w, int64_t m) {
    if (!kept) return;
    form = std::dynamic_pointer_cast<const PackedW>(kept->Find(w));
    const kernels::SumOrder sums = kernels::OrderOfSums(m, w.dim(1), w.dim(0));
    if (sums == kernels::SumOrder::kOther) return;
    if ((!form || !form->matrix.fits()) && w.has_data() && KeptForm::MayKeep(w) &&
        KeptForm::HasRoom(PackedW::Bytes(w))) {
      form = std::make_shared<const PackedW>(w);
      kept->Keep(w, form);
    }
    if (form && form->matrix.fits()) order = sums;
  }
};

template <class T>
void Finish(T* y, const Ending<T>& ending, int64_t n) {
  auto positive = [](T v) { return v <= T(0) ? T(0) : v; };
  const T* b = ending.bias;
  if (b && ending.relu) {
    for (int64_t j = 0; j < n; ++j) y[j] = positive(y[j] + b[j]);
  } else if (b) {
    for (int64_t j = 0; j < n; ++j) y[j] += b[j];
  } else {
    for (int64_t j = 0; j < n; ++j) y[j] = positive(y[j]);
  }
}

// y [m, n] = ending(x [m, k] w); w may have more rows and columns than k and n.
template <class T>
void Product(const Sizes& s, const T* x, const Tensor& w, KeptForm* kept_form,
             const Ending<T>& ending, T* y) {
  const T* matrix = nullptr;
  const Kept kept(std::is_same_v<T, float> ? kept_form : nullptr, w, s.m);
  if constexpr (std::is_same_v<T, float>) {
    if (kept.order != kernels::SumOrder::kOther) {
      return kept.form->matrix.Multiply(kept.form->data(), s.m, x, kept.order,
                                        {ending.bias, ending.relu}, y);
    }
    if (!w.has_data() && kept.form) matrix = kept.form->plain();
  }
  if (!matrix) matrix = w.data<T>();
  kernels::MatMul<T>(false, false, s.m, s.n, s.k, T(1), x, s.k, matrix, w.dim(1), T(0), y, s.n);
  if (!ending.bias && !ending.relu) return;
  kernels::ParallelRows(s.m, 2 * s.n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) Finish(y + i * s.n, ending, s.n);
  });
}

}  // namespace dygraph::fc
