#include "kernels/loops.h"
#include "operators/detection/boxes.h"

namespace dygraph::boxes {
namespace {

constexpr int kPriorBox = 0, kPriorBoxVar = 1, kTargetBox = 2, kBoxScore = 3, kDecodeBox = 0,
              kOutputAssignBox = 1;

struct BoxDecoderAndAssignAttrs {
  double box_clip = 4.135166556742356;  // log(1000 / 16)
};

void InferShape(InferContext& ctx) {
  const Dims &prior = ctx.dims(kPriorBox), &target = ctx.dims(kTargetBox),
             &score = ctx.dims(kBoxScore);
  CheckBoxes(prior, "PriorBox");
  if (ctx.HasInput(kPriorBoxVar)) {
    const Dims& var = ctx.dims(kPriorBoxVar);
    ENFORCE(var.HasUnknown() || Numel(var) == 4, InvalidArgument,
            "PriorBoxVar must hold 4 numbers, got shape ", var);
  }
  ENFORCE(target.rank() == 2 && score.rank() == 2, InvalidArgument,
          "TargetBox and BoxScore must have shapes [n, 4 * classes] and [n, classes], got ", target,
          " and ", score);
  for (const Dims* d : {&target, &score}) {
    ENFORCE((*d)[0] == prior[0] || !BothKnown((*d)[0], prior[0]), InvalidArgument,
            "TargetBox and BoxScore must have the rows of PriorBox ", prior, ", got ", target,
            " and ", score);
  }
  ENFORCE(MulSizes(score[1], 4) == target[1] || !BothKnown(score[1], target[1]), InvalidArgument,
          "TargetBox must have 4 numbers for each class of BoxScore ", score, ", got ", target);
  ctx.SetOutput(kDecodeBox, target);
  ctx.SetOutput(kOutputAssignBox, {prior[0], 4});
}

void DefineBoxDecoderAndAssign(OpDef& op) {
  op.Comment(
        "DecodeBox = the boxes of pixels that TargetBox stands for relative to PriorBox, one for "
        "each class, as box_coder decodes them with PriorBoxVar as variances; the logarithms of "
        "width and height are box_clip at most. OutputAssignBox = the one of the class, other than "
        "class 0, whose score is greatest; PriorBox where no score is above -1.")
      .Example(
          ">>> prior, var = to_variable([[0.0, 0.0, 1.0, 1.0]]), to_variable([0.1, 0.1, 0.2, "
          "0.2])\n"
          ">>> target = to_variable([[0.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0]])\n"
          ">>> score = to_variable([[0.5, 0.5]])\n"
          ">>> F.box_decoder_and_assign(prior, target, score, prior_box_var=var)[1].tolist()\n"
          "[[1.0, 0.0, 2.0, 1.0]]")
      .Input(kPriorBox, "PriorBox", "[n, 4]")
      .Input(kPriorBoxVar, "PriorBoxVar", "4 variances; absent: 1", kDispensable)
      .Input(kTargetBox, "TargetBox", "[n, 4 * classes]")
      .Input(kBoxScore, "BoxScore", "[n, classes]")
      .Output(kDecodeBox, "DecodeBox", "[n, 4 * classes]")
      .Output(kOutputAssignBox, "OutputAssignBox", "[n, 4]")
      .Attr(&BoxDecoderAndAssignAttrs::box_clip, "box_clip", "the greatest logarithm")
      .Shape(InferShape)
      .ShareLoD(kPriorBox)
      .NoGrad();
}

template <class T>
struct BoxDecoderAndAssignKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor* var = ctx.InOrNull(kPriorBoxVar);
    const T one[4] = {1, 1, 1, 1};
    const T* variances = var ? var->data<T>() : nullptr;
    const T most = static_cast<T>(ctx.attrs<BoxDecoderAndAssignAttrs>().box_clip);
    const Tensor& scores = ctx.In(kBoxScore);
    const int64_t n = scores.dim(0), classes = scores.dim(1);
    const T *prior = ctx.In(kPriorBox).data<T>(), *target = ctx.In(kTargetBox).data<T>(),
            *score = scores.data<T>();
    Tensor *decoded = ctx.OutOrNull(kDecodeBox), *assigned = ctx.OutOrNull(kOutputAssignBox);
    T* all = decoded ? decoded->mutable_data<T>() : nullptr;
    T* chosen = assigned ? assigned->mutable_data<T>() : nullptr;
    kernels::ForEach(
        n,
        [=] DYGRAPH_FN(int64_t i) {
          const T* v = variances ? variances : one;
          const Box<T> from = Box<T>::At(prior + i * 4);
          auto box = [&](int64_t c) {
            const T* t = target + (i * classes + c) * 4;
            return CenterSize<T>::Of(from, T(1))
                .Moved({t[0] * v[0], t[1] * v[1], t[2] * v[2], t[3] * v[3]}, most)
                .Corners(T(1));
          };
          int64_t best = 0;
          for (int64_t c = 1; c < classes; ++c) {
            if (score[i * classes + c] > (best ? score[i * classes + best] : T(-1))) best = c;
          }
          for (int64_t c = 0; all && c < classes; ++c) box(c).Write(all + (i * classes + c) * 4);
          if (chosen) (best ? box(best) : from).Write(chosen + i * 4);
        },
        classes * 40);
  }
};

REGISTER_OPERATOR(box_decoder_and_assign, DefineBoxDecoderAndAssign);
REGISTER_KERNELS(box_decoder_and_assign, BoxDecoderAndAssignKernel, float, double);

}  // namespace
}  // namespace dygraph::boxes
