#include "kernels/loops.h"
#include "op/open_attr.h"
#include "operators/clear.h"

namespace dygraph {
namespace {

constexpr int kOut = 0;

struct EyeAttrs {
  DType dtype = DType::kFloat32;
  int64_t num_rows = 0;
  int64_t num_columns = -1;
};

void InferShape(InferContext& ctx) {
  const EyeAttrs& a = ctx.attrs<EyeAttrs>();
  const bool open_rows = !ctx.runtime() && IsOpen(a.num_rows),
             open_columns = !ctx.runtime() && IsOpen(a.num_columns);
  ENFORCE((open_rows || a.num_rows >= 0) && (open_columns || a.num_columns >= -1), InvalidArgument,
          "num_rows must be at least 0 and num_columns at least -1, got ", a.num_rows, " and ",
          a.num_columns);
  const int64_t rows = open_rows ? -1 : a.num_rows;
  const int64_t as_rows = open_columns ? -1 : rows;
  ctx.SetOutput(kOut, {rows, a.num_columns < 0 ? as_rows : a.num_columns}, a.dtype);
}

void DefineEye(OpDef& op) {
  op.Comment("Out = 1 on the main diagonal, 0 elsewhere.")
      .Output(kOut, "Out", "[num_rows, num_columns]")
      .Attr(&EyeAttrs::dtype, "dtype", "element type of Out")
      .Attr(&EyeAttrs::num_rows, "num_rows", "how many rows")
      .Attr(&EyeAttrs::num_columns, "num_columns", "how many columns; -1: as many as rows")
      .Shape(InferShape)
      .KernelDType([](const Call& call) { return static_cast<const EyeAttrs*>(call.attrs)->dtype; })
      .NoGrad();
}

template <class T>
struct EyeKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOut);
    T* to = out.mutable_data<T>();
    Clear(&out);
    int64_t columns = out.dim(1), n = std::min(out.dim(0), columns);
    kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) { to[i * (columns + 1)] = T(1); });
  }
};

REGISTER_OPERATOR(eye, DefineEye);
REGISTER_OPEN_ATTRS(eye, "num_rows", "num_columns");
REGISTER_KERNELS(eye, EyeKernel, AllTypes);

}  // namespace
}  // namespace dygraph
