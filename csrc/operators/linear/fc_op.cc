#include <mutex>

#include "kernels/matmul.h"
#include "kernels/packed_matrix.h"
#include "kernels/parallel.h"
#include "op/kept_form.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kInput = 0, kW = 1, kBias = 2, kOut = 0;
constexpr int64_t kPadding = 4;  // rows and columns that padding_weights adds

struct FcAttrs {
  int32_t in_num_col_dims = 1;
  std::string activation_type;
  bool padding_weights = false;
};

void InferShape(InferContext& ctx) {
  const FcAttrs& a = ctx.attrs<FcAttrs>();
  const Dims &x = ctx.dims(kInput), &w = ctx.dims(kW);
  ENFORCE(a.in_num_col_dims < x.rank(), InvalidArgument,
          "Input must have more axes than in_num_col_dims, got Input ", x, " and ",
          a.in_num_col_dims);
  ENFORCE(w.rank() == 2, InvalidArgument, "W must be a matrix, got shape ", w);
  int64_t width = 1, pad = a.padding_weights ? kPadding : 0;
  for (int i = a.in_num_col_dims; i < x.rank(); ++i) width = MulSizes(width, x[i]);
  ENFORCE(w.HasUnknown() || (w[0] >= pad && w[1] >= pad), InvalidArgument,
          "W must have the four rows and columns of padding_weights, got shape ", w);
  ENFORCE(width == w[0] - pad || !BothKnown(width, w[0]), InvalidArgument, "the width of Input ", x,
          " flattened at ", a.in_num_col_dims, " must be the height of W ", w, ", got ", width);
  int64_t n = w[1] < 0 ? -1 : w[1] - pad;
  if (ctx.HasInput(kBias)) {
    const Dims& b = ctx.dims(kBias);
    ENFORCE(b.HasUnknown() || n < 0 || (!b.empty() && b.back() == n && Numel(b) == n),
            InvalidArgument, "Bias must have ", n, " elements in its last axis, got shape ", b);
  }
  Dims out(x.begin(), x.begin() + a.in_num_col_dims);
  out.push_back(n);
  ctx.SetOutput(kOut, out);
}

void DefineFc(OpDef& op) {
  op.Comment(
        "Out = activation(Input W + Bias), Input flattened to a matrix at in_num_col_dims. Made by "
        "programs for inference: no gradient passes. Layers use mul and elementwise_add.")
      .Example(
          ">>> x, w = to_variable([[1.0, 2.0]]), to_variable([[1.0, -1.0], [1.0, -1.0]])\n"
          ">>> F.fc(x, w, bias=to_variable([0.5, 0.5]), activation_type=\"relu\").tolist()\n"
          "[[3.5, 0.0]]")
      .Input(kInput, "Input", "more than in_num_col_dims axes")
      .Input(kW, "W", "[width of Input, n]", kWeight)
      .Input(kBias, "Bias", "[n] or [1, n]", kDispensable)
      .Output(kOut, "Out", "the first in_num_col_dims axes of Input, then n")
      .Attr(&FcAttrs::in_num_col_dims, "in_num_col_dims", "axes of Input that make rows",
            AtLeast(1))
      .Attr(&FcAttrs::activation_type, "activation_type", "relu, or empty", OneOf({"", "relu"}))
      .Attr(&FcAttrs::padding_weights, "padding_weights",
            "W has four rows and four columns more, which are not read")
      .Shape(InferShape)
      .ShareLoD(kInput)
      .NoGrad();
}

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
struct FcKernel {
  static void Compute(KernelContext& ctx) {
    const FcAttrs& a = ctx.attrs<FcAttrs>();
    const Tensor &x = ctx.In(kInput), &w = ctx.In(kW), *bias = ctx.InOrNull(kBias);
    Tensor& out = ctx.Out(kOut);
    if (out.numel() == 0) return;
    int64_t n = out.dims().back(), m = out.numel() / n;
    int64_t k = Numel(x.dims(), a.in_num_col_dims, x.rank());
    T* y = out.mutable_data<T>();
    const T* b = bias ? bias->data<T>() : nullptr;
    bool relu = a.activation_type == "relu";
    const T* matrix = nullptr;
    const Kept kept(std::is_same_v<T, float> && !a.padding_weights ? ctx.call().kept : nullptr, w,
                    m);
    if constexpr (std::is_same_v<T, float>) {
      if (kept.order != kernels::SumOrder::kOther) {
        return kept.form->matrix.Multiply(kept.form->data(), m, x.data<T>(), kept.order, {b, relu},
                                          y);
      }
      if (!w.has_data() && kept.form) matrix = kept.form->plain();
    }
    if (!matrix) matrix = w.data<T>();
    kernels::MatMul<T>(false, false, m, n, k, T(1), x.data<T>(), k, matrix, w.dim(1), T(0), y, n);
    if (!b && !relu) return;
    kernels::ParallelRows(m, 2 * n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Finish(y + i * n, b, relu, n);
    });
  }

 private:
  // As elementwise_add and relu do it: a NaN passes, no zero is negative after relu.
  static void Finish(T* y, const T* b, bool relu, int64_t n) {
    auto positive = [](T v) { return v <= T(0) ? T(0) : v; };
    if (b && relu) {
      for (int64_t j = 0; j < n; ++j) y[j] = positive(y[j] + b[j]);
    } else if (b) {
      for (int64_t j = 0; j < n; ++j) y[j] += b[j];
    } else {
      for (int64_t j = 0; j < n; ++j) y[j] = positive(y[j]);
    }
  }
};

REGISTER_OPERATOR(fc, DefineFc);
REGISTER_CPU_KERNEL(fc, FcKernel, float, double);

}  // namespace
}  // namespace dygraph
